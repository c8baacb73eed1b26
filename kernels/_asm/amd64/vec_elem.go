package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"jns/kernels/arg"
	"jns/kernels/scalar"
)

var (
	_ = emit(source{name: "vec_avx512vnni", args: "VecArgs", gen: func(c *build.Context) { vecFile(newVM(c, true)) }})
	_ = emit(source{name: "vec_avx2", args: "VecArgs", gen: func(c *build.Context) { vecFile(newVM(c, false)) }})
)

func vecFile(v *vm) {
	v.addScaled()
	v.scale()
	v.binary("Vec_mul", "is scalar.Mul: Dst = A·B.", func(d, a, b reg.Register) { v.mul(d, a, b) })
	v.scaleMul()
	v.subScale()
	v.softCap()
	for _, a := range sigmoids {
		v.sigmoidMul(a.name, a.w)
	}
	for _, a := range activations {
		v.actMul(a.name, a.body)
	}
	v.ropeNeox()
	v.sumSq()
	v.sum()
	v.sumSqDev()
	v.maxAbs()
	v.find()
	v.expSum()
	if v.wide {
		v.quantizeQuads(false)
		v.quantizeQuads(true)
	} else {
		// The AVX-512 set uses these functions too.
		v.quantize()
		v.quantizeFine()
		v.ropePairs()
		v.storeK()
		v.storeV()
		v.fetch()
	}
}

func (v *vm) addScaled() {
	a := v.begin("Vec_addscaled", "is scalar.AddScaled: Dst = B·F + A.")
	v.bcast(v.r(0), mem(a, vaF))
	dst, x, y, n := v.field(a, vaDst), v.field(a, vaA), v.field(a, vaB), v.field(a, vaN)
	v.each(n, []reg.GPVirtual{dst, x, y}, func(s step) {
		p := 1 + 2*s.part
		s.load(v.r(p), y)
		s.load(v.r(p+1), x)
		v.mul(v.r(p), v.r(p), v.r(0))
		v.add(v.r(p), v.r(p), v.r(p+1))
		s.store(dst, v.r(p))
	})
	v.end()
}

func (v *vm) scale() {
	a := v.begin("Vec_scale", "is scalar.Scale: Dst = A·F.")
	v.bcast(v.r(0), mem(a, vaF))
	dst, x, n := v.field(a, vaDst), v.field(a, vaA), v.field(a, vaN)
	v.each(n, []reg.GPVirtual{dst, x}, func(s step) {
		p := v.r(1 + s.part)
		s.load(p, x)
		v.mul(p, p, v.r(0))
		s.store(dst, p)
	})
	v.end()
}

func (v *vm) binary(name, doc string, op func(d, a, b reg.Register)) {
	a := v.begin(name, doc)
	dst, x, y, n := v.field(a, vaDst), v.field(a, vaA), v.field(a, vaB), v.field(a, vaN)
	v.each(n, []reg.GPVirtual{dst, x, y}, func(s step) {
		p := 2 * s.part
		s.load(v.r(p), x)
		s.load(v.r(p+1), y)
		op(v.r(p), v.r(p), v.r(p+1))
		s.store(dst, v.r(p))
	})
	v.end()
}

func (v *vm) scaleMul() {
	a := v.begin("Vec_scalemul", "gives Dst = (A·F)·B.")
	v.bcast(v.r(0), mem(a, vaF))
	dst, x, y, n := v.field(a, vaDst), v.field(a, vaA), v.field(a, vaB), v.field(a, vaN)
	v.each(n, []reg.GPVirtual{dst, x, y}, func(s step) {
		p := 1 + 2*s.part
		s.load(v.r(p), x)
		s.load(v.r(p+1), y)
		v.mul(v.r(p), v.r(p), v.r(0))
		v.mul(v.r(p), v.r(p), v.r(p+1))
		s.store(dst, v.r(p))
	})
	v.end()
}

func (v *vm) subScale() {
	a := v.begin("Vec_subscale", "gives Dst = (A − G)·F.")
	v.bcast(v.r(0), mem(a, vaF))
	v.bcast(v.r(1), mem(a, vaG))
	dst, x, n := v.field(a, vaDst), v.field(a, vaA), v.field(a, vaN)
	v.each(n, []reg.GPVirtual{dst, x}, func(s step) {
		p := v.r(2 + s.part)
		s.load(p, x)
		v.sub(p, p, v.r(1))
		v.mul(p, p, v.r(0))
		s.store(dst, p)
	})
	v.end()
}

func (v *vm) softCap() {
	a := v.begin("Vec_softcap", "is scalar.SoftCap: Dst = F·tanh(A·G), G = 1/F.")
	v.bcast(v.r(0), mem(a, vaF))
	v.bcast(v.r(1), mem(a, vaG))
	dst, x, n := v.field(a, vaDst), v.field(a, vaA), v.field(a, vaN)
	v.each(n, []reg.GPVirtual{dst, x}, func(s step) {
		s.load(v.r(2), x)
		v.mul(v.r(2), v.r(2), v.r(1))
		v.tanh(2, 3)
		v.mul(v.r(2), v.r(2), v.r(0))
		s.store(dst, v.r(2))
	})
	v.end()
}

// sigmoids are the activations x / (1 + e^w); w leaves x and may use t.
var sigmoids = []struct {
	name string
	w    func(v *vm, w, x, t reg.Register)
}{
	{"silu", func(v *vm, w, x, t reg.Register) { v.xor(w, x, v.splat(1<<31)) }},
	{"gelu", func(v *vm, w, x, t reg.Register) {
		v.mul(w, x, x)
		v.load(t, v.splatf(1))
		v.fma(t, w, v.splatf(scalar.GELUCubic))
		v.mul(w, x, v.splatf(scalar.GELUScale))
		v.mul(w, w, t)
	}},
	{"geluquick", func(v *vm, w, x, t reg.Register) { v.mul(w, x, v.splatf(scalar.GELUQuick)) }},
}

func (v *vm) sigmoidMul(name string, w func(v *vm, w, x, t reg.Register)) {
	a := v.begin("Vec_"+name, "is scalar.ActMul: Dst = act(A)·B, without the product when B is nil.")
	dst, x, y, n := v.field(a, vaDst), v.field(a, vaA), v.field(a, vaB), v.field(a, vaN)
	has := v.GP64()
	v.MOVQ(y, has)
	v.eachMany(n, []reg.GPVirtual{dst, x, y}, v.side(), func(s []step) {
		regs := v.trios(0, len(s))
		for i, r := range regs {
			s[i].load(r.n, x)
			w(v, r.x, r.n, r.p)
		}
		v.exps1(regs)
		for i, r := range regs {
			s[i].load(r.n, x)
		}
		for _, r := range regs {
			v.div(r.x, r.n, r.x)
		}
		skip := v.label("bare")
		v.TESTQ(has, has)
		v.JZ(operand.LabelRef(skip))
		for i, r := range regs {
			s[i].load(r.n, y)
			v.mul(r.x, r.x, r.n)
		}
		v.Label(skip)
		for i, r := range regs {
			s[i].store(dst, r.x)
		}
	})
	v.end()
}

// activations work on r(0) in place, with r(1) … r(6) free.
var activations = []struct {
	name string
	body func(v *vm)
}{
	{"geluerf", func(v *vm) {
		v.phi(0, 1)
		v.mul(v.r(0), v.r(0), v.r(1))
	}},
	{"relu", func(v *vm) { v.relu() }},
	{"relu2", func(v *vm) {
		v.relu()
		v.mul(v.r(0), v.r(0), v.r(0))
	}},
}

// relu: max gives its second operand, +0, for a NaN and for −0.
func (v *vm) relu() {
	v.zero(1)
	v.max(v.r(0), v.r(0), v.r(1))
}

func (v *vm) actMul(name string, body func(v *vm)) {
	a := v.begin("Vec_"+name, "is scalar.ActMul: Dst = act(A)·B, without the product when B is nil.")
	dst, x, y, n := v.field(a, vaDst), v.field(a, vaA), v.field(a, vaB), v.field(a, vaN)
	has := v.GP64()
	v.MOVQ(y, has)
	v.each(n, []reg.GPVirtual{dst, x, y}, func(s step) {
		s.load(v.r(0), x)
		body(v)
		skip := v.label("bare")
		v.TESTQ(has, has)
		v.JZ(operand.LabelRef(skip))
		s.load(v.r(1), y)
		v.mul(v.r(0), v.r(0), v.r(1))
		v.Label(skip)
		s.store(dst, v.r(0))
	})
	v.end()
}

func (v *vm) ropeNeox() {
	a := v.begin("Vec_ropeneox", "is scalar.Rope with neox on Dst (first N) and C (second N elements), A cosines, B sines.")
	x, y, cos, sin, n := v.field(a, vaDst), v.field(a, vaC), v.field(a, vaA), v.field(a, vaB), v.field(a, vaN)
	v.each(n, []reg.GPVirtual{x, y, cos, sin}, func(s step) {
		p := 6 * s.part
		av, bv, c, si, t, u := v.r(p), v.r(p+1), v.r(p+2), v.r(p+3), v.r(p+4), v.r(p+5)
		s.load(av, x)
		s.load(bv, y)
		s.load(c, cos)
		s.load(si, sin)
		v.mul(t, av, c)
		v.mul(u, bv, si)
		v.sub(t, t, u)
		v.mul(bv, bv, c)
		v.mul(av, av, si)
		v.add(bv, bv, av)
		s.store(x, t)
		s.store(y, bv)
	})
	v.end()
}

func (v *vm) ropePairs() {
	a := v.begin("Vec_ropepairs", "is scalar.Rope without neox on Dst, N a multiple of 4 pairs, A cosines, B sines.")
	x, cos, sin, n := v.field(a, vaDst), v.field(a, vaA), v.field(a, vaB), v.field(a, vaN)
	v.VMOVUPS(v.table("pairs", 8, func(i int) uint32 { return uint32(i / 2) }), ys[5])
	v.VMOVUPS(v.table("evens", 8, func(i int) uint32 { return uint32(1-i&1) << 31 }), ys[6])
	loop := v.label("loop")
	v.Label(loop)
	v.VMOVUPS(mem(cos, 0), xs[0])
	v.VMOVUPS(mem(sin, 0), xs[1])
	v.VPERMPS(ys[0], ys[5], ys[0])
	v.VPERMPS(ys[1], ys[5], ys[1])
	v.VXORPS(ys[6], ys[1], ys[1]) // a·cos + b·(−sin), b·cos + a·sin
	v.VMOVUPS(mem(x, 0), ys[2])
	v.VPERMILPS(operand.U8(0xb1), ys[2], ys[3])
	v.VMULPS(ys[0], ys[2], ys[2])
	v.VMULPS(ys[1], ys[3], ys[3])
	v.VADDPS(ys[3], ys[2], ys[2])
	v.VMOVUPS(ys[2], mem(x, 0))
	v.ADDQ(operand.U8(16), cos)
	v.ADDQ(operand.U8(16), sin)
	v.ADDQ(operand.U8(32), x)
	v.SUBQ(operand.U8(4), n)
	v.JNZ(operand.LabelRef(loop))
	v.end()
}

func (v *vm) storeK() {
	a := v.begin("Vec_storek", "is scalar.StoreK on Dst, which points to the column, N a multiple of 8 elements of A.")
	dst, x, n := v.field(a, vaDst), v.field(a, vaA), v.field(a, vaN)
	loop := v.label("loop")
	v.Label(loop)
	v.VMOVUPS(mem(x, 0), ys[0])
	v.VCVTPS2PH(operand.U8(0), ys[0], xs[0])
	for i := range 8 {
		v.VPEXTRW(operand.U8(i), xs[0], mem(dst, i*2*arg.KVChunk))
	}
	v.ADDQ(operand.U8(32), x)
	v.ADDQ(operand.U32(8*2*arg.KVChunk), dst)
	v.SUBQ(operand.U8(8), n)
	v.JNZ(operand.LabelRef(loop))
	v.end()
}

func (v *vm) storeV() {
	a := v.begin("Vec_storev", "is scalar.StoreV on Dst, which points to the row, N a multiple of 8 elements of A.")
	dst, x, n := v.field(a, vaDst), v.field(a, vaA), v.field(a, vaN)
	loop := v.label("loop")
	v.Label(loop)
	v.VMOVUPS(mem(x, 0), ys[0])
	v.VCVTPS2PH(operand.U8(0), ys[0], mem(dst, 0))
	v.ADDQ(operand.U8(32), x)
	v.ADDQ(operand.U8(16), dst)
	v.SUBQ(operand.U8(8), n)
	v.JNZ(operand.LabelRef(loop))
	v.end()
}

// fetch asks for lines of memory, as many at a time as make no difference to a loop's cost.
func (v *vm) fetch() {
	a := v.begin("Vec_fetch", "asks for N times 256 bytes from A on to be brought into the second-level cache.")
	p, n := v.field(a, vaA), v.field(a, vaN)
	v.Label("lines")
	for i := range fetchBytes / 64 {
		v.PREFETCHT1(mem(p, i*64))
	}
	v.ADDQ(operand.U32(fetchBytes), p)
	v.DECQ(n)
	v.JNZ(operand.LabelRef("lines"))
	v.end()
}

// fetchBytes is what a turn of Vec_fetch asks for.
const fetchBytes = 256
