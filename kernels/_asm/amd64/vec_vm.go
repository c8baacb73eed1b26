package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vm writes the vector operations of package kernels/scalar. Its vectors are physical registers, named by number; work is cut into steps of 16
// elements, which are one register (AVX-512) or two (AVX2), called the parts of a step. Registers from maskReg on hold masks under AVX2.
type vm struct {
	*build.Context
	wide   bool // AVX-512
	suffix string
	splats map[uint32]operand.Mem
	tables map[string]operand.Mem
	labels int
}

var (
	zs = []reg.VecPhysical{reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13,
		reg.Z14, reg.Z15, reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28,
		reg.Z29, reg.Z30, reg.Z31}
	ys = []reg.VecPhysical{reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13,
		reg.Y14, reg.Y15}
	xs = []reg.VecPhysical{reg.X0, reg.X1, reg.X2, reg.X3, reg.X4, reg.X5, reg.X6, reg.X7, reg.X8, reg.X9, reg.X10, reg.X11, reg.X12, reg.X13,
		reg.X14, reg.X15}
)

// Offsets in amd64.VecArgs.
const (
	vaDst = 8 * iota
	vaA
	vaB
	vaC
	vaN
	vaF // F, G
	vaR // R, U
	vaJ
	vaG = vaF + 4
	vaU = vaR + 4
)

func newVM(c *build.Context, wide bool) *vm {
	v := &vm{Context: c, wide: wide, suffix: "_avx2", splats: map[uint32]operand.Mem{}, tables: map[string]operand.Mem{}}
	if wide {
		v.suffix = "_avx512vnni"
	}
	return v
}

func (v *vm) parts() int {
	if v.wide {
		return 1
	}
	return 2
}

// partBytes is the size of a part in memory as float32.
func (v *vm) partBytes() int { return 64 / v.parts() }

func (v *vm) r(i int) reg.VecPhysical {
	if v.wide {
		return zs[i]
	}
	return ys[i]
}

// begin starts a function of one argument block and gives the register that points to it.
func (v *vm) begin(name, doc string) reg.GPVirtual {
	v.Function(name + v.suffix)
	v.Attributes(attr.NOSPLIT)
	v.Doc(name + v.suffix + " " + doc)
	v.SignatureExpr("func(a *byte)")
	return v.Load(v.Param("a"), v.GP64()).(reg.GPVirtual)
}

func (v *vm) end() {
	v.VZEROUPPER()
	v.RET()
}

func (v *vm) field(a reg.Register, off int) reg.GPVirtual {
	r := v.GP64()
	v.MOVQ(mem(a, off), r)
	return r
}

func (v *vm) label(s string) string {
	v.labels++
	return fmt.Sprintf("%s%d", s, v.labels)
}

// constant is an operand of equal dwords. In memory it is one dword under AVX-512, which instructions broadcast (64 bytes are not sure to lie in one
// cache line, data being aligned to 32), and a whole vector under AVX2.
type constant struct{ operand.Mem }

// splat is a constant of equal dwords, splatf of equal floats.
func (v *vm) splat(b uint32) constant {
	m, ok := v.splats[b]
	if !ok {
		m = v.StaticGlobal(fmt.Sprintf("vec%s_%08x", v.suffix, b))
		v.DataAttributes(attr.RODATA | attr.NOPTR)
		n := 8
		if v.wide {
			n = 1
		}
		for i := range n {
			v.AddDatum(i*4, operand.U32(b))
		}
		v.splats[b] = m
	}
	return constant{m}
}

func (v *vm) splatf(f float32) constant { return v.splat(math.Float32bits(f)) }

// table is a constant table of dwords.
func (v *vm) table(name string, n int, at func(i int) uint32) operand.Mem {
	m, ok := v.tables[name]
	if !ok {
		m = v.StaticGlobal("vec" + v.suffix + "_" + name)
		v.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range n {
			v.AddDatum(i*4, operand.U32(at(i)))
		}
		v.tables[name] = m
	}
	return m
}

// Arithmetic in the usual order, destination first; b (and c of horner) may be memory or a constant.

// op writes an instruction whose first source may be a constant, in the form that takes it.
func (v *vm) op(plain, broadcast func(ops ...operand.Op), b, a, d operand.Op) {
	if c, ok := b.(constant); ok {
		if v.wide {
			broadcast(c.Mem, a, d)
			return
		}
		b = c.Mem
	}
	plain(b, a, d)
}

func (v *vm) add(d, a, b operand.Op) { v.op(v.VADDPS, v.VADDPS_BCST, b, a, d) }
func (v *vm) sub(d, a, b operand.Op) { v.op(v.VSUBPS, v.VSUBPS_BCST, b, a, d) }
func (v *vm) mul(d, a, b operand.Op) { v.op(v.VMULPS, v.VMULPS_BCST, b, a, d) }
func (v *vm) div(d, a, b operand.Op) { v.op(v.VDIVPS, v.VDIVPS_BCST, b, a, d) }
func (v *vm) and(d, a, b operand.Op) { v.op(v.VANDPS, v.VANDPS_BCST, b, a, d) }
func (v *vm) or(d, a, b operand.Op)  { v.op(v.VORPS, v.VORPS_BCST, b, a, d) }
func (v *vm) xor(d, a, b operand.Op) { v.op(v.VXORPS, v.VXORPS_BCST, b, a, d) }

// max gives b where one of the two is a NaN; so does min.
func (v *vm) max(d, a, b operand.Op) { v.op(v.VMAXPS, v.VMAXPS_BCST, b, a, d) }
func (v *vm) min(d, a, b operand.Op) { v.op(v.VMINPS, v.VMINPS_BCST, b, a, d) }

// fma: d = a·b + d, fnma: d = −a·b + d, horner: d = d·x + c.
func (v *vm) fma(d, a, b operand.Op)    { v.op(v.VFMADD231PS, v.VFMADD231PS_BCST, b, a, d) }
func (v *vm) fnma(d, a, b operand.Op)   { v.op(v.VFNMADD231PS, v.VFNMADD231PS_BCST, b, a, d) }
func (v *vm) horner(d, x, c operand.Op) { v.op(v.VFMADD213PS, v.VFMADD213PS_BCST, c, x, d) }

func (v *vm) load(d operand.Op, m operand.Op) {
	if c, ok := m.(constant); ok {
		if v.wide {
			v.VBROADCASTSS(c.Mem, d)
			return
		}
		m = c.Mem
	}
	v.VMOVUPS(m, d)
}

func (v *vm) store(m operand.Op, s operand.Op) { v.VMOVUPS(s, m) }
func (v *vm) bcast(d operand.Op, m operand.Op) { v.VBROADCASTSS(m, d) }

// zero clears register i; the shorter form of the low part clears the rest.
func (v *vm) zero(i int) {
	if v.wide {
		v.VPXORD(zs[i], zs[i], zs[i])
	} else {
		v.VXORPS(ys[i], ys[i], ys[i])
	}
}

// poly sets p to Horner's scheme with FMA in x over the coefficients, highest first.
func (v *vm) poly(p, x operand.Op, c ...float32) {
	v.load(p, v.splatf(c[0]))
	for _, k := range c[1:] {
		v.horner(p, x, v.splatf(k))
	}
}

// step is one part of a step of 16 elements.
type step struct {
	v      *vm
	part   int
	masked bool
	ahead  int // whole steps before this one
}

func (v *vm) mask(part int) reg.VecPhysical { return ys[15-part] }

func (s step) at(p reg.Register) operand.Mem { return mem(p, 64*s.ahead+s.part*s.v.partBytes()) }

// load reads the part, zeros where masked out; store writes it.
func (s step) load(d, p reg.Register) {
	switch {
	case !s.masked:
		s.v.load(d, s.at(p))
	case s.v.wide:
		s.v.VMOVUPS_Z(s.at(p), reg.K1, d)
	default:
		s.v.VMASKMOVPS(s.at(p), s.v.mask(s.part), d)
	}
}

func (s step) store(p, d reg.Register) {
	switch {
	case !s.masked:
		s.v.store(s.at(p), d)
	case s.v.wide:
		s.v.VMOVUPS(d, reg.K1, s.at(p))
	default:
		s.v.VMASKMOVPS(d, s.v.mask(s.part), s.at(p))
	}
}

// clear zeroes the lanes of d that are masked out.
func (s step) clear(d reg.Register) {
	switch {
	case !s.masked:
	case s.v.wide:
		s.v.VMOVAPS_Z(d, reg.K1, d)
	default:
		s.v.and(d, d, s.v.mask(s.part))
	}
}

// fill puts other into the lanes of d that are masked out.
func (s step) fill(d, other reg.Register) {
	switch {
	case !s.masked:
	case s.v.wide:
		s.v.VBLENDMPS(d, other, reg.K1, d)
	default:
		s.v.VBLENDVPS(s.v.mask(s.part), d, other, d)
	}
}

// each runs body over n elements (n ≥ 0 is used up), 16 at a time, the last step masked; the pointers advance.
func (v *vm) each(n reg.GPVirtual, ptrs []reg.GPVirtual, body func(s step)) {
	loop, tail, done := v.label("loop"), v.label("tail"), v.label("done")
	v.SUBQ(operand.U8(16), n)
	v.JL(operand.LabelRef(tail))
	v.Label(loop)
	for p := range v.parts() {
		body(step{v, p, false, 0})
	}
	for _, p := range ptrs {
		v.ADDQ(operand.U8(64), p)
	}
	v.SUBQ(operand.U8(16), n)
	v.JGE(operand.LabelRef(loop))
	v.Label(tail)
	v.ADDQ(operand.U8(16), n)
	v.JZ(operand.LabelRef(done))
	v.setMask(n)
	for p := range v.parts() {
		body(step{v, p, true, 0})
	}
	v.Label(done)
}

// eachMany is each for a body that works on several parts side by side: of many steps at a time, then of single ones, then of the masked one.
func (v *vm) eachMany(n reg.GPVirtual, ptrs []reg.GPVirtual, many int, body func(s []step)) {
	parts := func(steps int, masked bool) (s []step) {
		for i := range steps {
			for p := range v.parts() {
				s = append(s, step{v, p, masked, i})
			}
		}
		return s
	}
	loop, after := v.label("many"), v.label("few")
	v.SUBQ(operand.I32(16*many), n)
	v.JL(operand.LabelRef(after))
	v.Label(loop)
	body(parts(many, false))
	for _, p := range ptrs {
		v.ADDQ(operand.I32(64*many), p)
	}
	v.SUBQ(operand.I32(16*many), n)
	v.JGE(operand.LabelRef(loop))
	v.Label(after)
	v.ADDQ(operand.I32(16*many), n)

	single, tail, done := v.label("loop"), v.label("tail"), v.label("done")
	v.SUBQ(operand.U8(16), n)
	v.JL(operand.LabelRef(tail))
	v.Label(single)
	body(parts(1, false))
	for _, p := range ptrs {
		v.ADDQ(operand.U8(64), p)
	}
	v.SUBQ(operand.U8(16), n)
	v.JGE(operand.LabelRef(single))
	v.Label(tail)
	v.ADDQ(operand.U8(16), n)
	v.JZ(operand.LabelRef(done))
	v.setMask(n)
	body(parts(1, true))
	v.Label(done)
}

// side is how many steps eachMany does best at a time, three registers a part: as many as hide the latency of an operation.
func (v *vm) side() int {
	if v.wide {
		return 4
	}
	return 2
}

// trios numbers three registers a part, from r(first) on.
func (v *vm) trios(first, n int) []trio {
	t := make([]trio, n)
	for i := range t {
		t[i] = trio{v.r(first + i), v.r(first + n + i), v.r(first + 2*n + i)}
	}
	return t
}

// setMask makes the mask of the first n lanes, 0 < n < 16.
func (v *vm) setMask(n reg.GPVirtual) {
	t := v.GP64()
	if v.wide {
		v.XORL(t.As32(), t.As32())
		v.BTSL(n.As32(), t.As32())
		v.DECL(t.As32())
		v.KMOVW(t.As32(), reg.K1)
		return
	}
	v.LEAQ(v.table("lanes", 32, func(i int) uint32 { return uint32(int32(i-16) >> 31) }), t)
	v.NEGQ(n)
	v.VMOVUPS(operand.Mem{Base: t, Disp: 64, Index: n, Scale: 4}, v.mask(0))
	v.VMOVUPS(operand.Mem{Base: t, Disp: 96, Index: n, Scale: 4}, v.mask(1))
	v.NEGQ(n)
}

// sum16 adds the 16 lanes in register acc (and acc+1 under AVX2) as the tree of scalar.Lanes into lane 0 of X(acc); t is free.
func (v *vm) sum16(acc, t int) {
	if v.wide {
		v.VEXTRACTF64X4(operand.U8(1), zs[acc], ys[t])
		v.VADDPS(ys[t], ys[acc], ys[acc])
	} else {
		v.VADDPS(ys[acc+1], ys[acc], ys[acc])
	}
	v.VEXTRACTF128(operand.U8(1), ys[acc], xs[t])
	v.VADDPS(xs[t], xs[acc], xs[acc])
	v.VPERMILPS(operand.U8(0x0e), xs[acc], xs[t])
	v.VADDPS(xs[t], xs[acc], xs[acc])
	v.VPERMILPS(operand.U8(0x01), xs[acc], xs[t])
	v.VADDPS(xs[t], xs[acc], xs[acc])
}

// max16 is sum16 with the maximum; no lane is a NaN.
func (v *vm) max16(acc, t int) {
	if v.wide {
		v.VEXTRACTF64X4(operand.U8(1), zs[acc], ys[t])
		v.VMAXPS(ys[t], ys[acc], ys[acc])
	} else {
		v.VMAXPS(ys[acc+1], ys[acc], ys[acc])
	}
	v.VEXTRACTF128(operand.U8(1), ys[acc], xs[t])
	v.VMAXPS(xs[t], xs[acc], xs[acc])
	v.VPERMILPS(operand.U8(0x0e), xs[acc], xs[t])
	v.VMAXPS(xs[t], xs[acc], xs[acc])
	v.VPERMILPS(operand.U8(0x01), xs[acc], xs[t])
	v.VMAXPS(xs[t], xs[acc], xs[acc])
}

// maxu16 reduces 16 unsigned dwords likewise; it uses t.
func (v *vm) maxu16(acc, t int) {
	if v.wide {
		v.VEXTRACTI64X4(operand.U8(1), zs[acc], ys[t])
		v.VPMAXUD(ys[t], ys[acc], ys[acc])
	} else {
		v.VPMAXUD(ys[acc+1], ys[acc], ys[acc])
	}
	v.VEXTRACTI128(operand.U8(1), ys[acc], xs[t])
	v.VPMAXUD(xs[t], xs[acc], xs[acc])
	v.VPSHUFD(operand.U8(0x0e), xs[acc], xs[t])
	v.VPMAXUD(xs[t], xs[acc], xs[acc])
	v.VPSHUFD(operand.U8(0x01), xs[acc], xs[t])
	v.VPMAXUD(xs[t], xs[acc], xs[acc])
}
