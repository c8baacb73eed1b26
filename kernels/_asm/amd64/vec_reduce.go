package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// acc is the accumulator of a part: r(0), and r(1) under AVX2.
func (s step) acc() reg.VecPhysical { return s.v.r(s.part) }

func (v *vm) zeroAcc() {
	for p := range v.parts() {
		v.zero(p)
	}
}

// result stores lane 0 of the tree to R and ends the function.
func (v *vm) result(a reg.Register, t int) {
	v.sum16(0, t)
	v.VMOVSS(xs[0], mem(a, vaR))
	v.end()
}

func (v *vm) sumSq() {
	a := v.begin("Vec_sumsq", "gives R = ΣA² in lanes, with FMA.")
	x, n := v.field(a, vaA), v.field(a, vaN)
	v.zeroAcc()
	v.each(n, []reg.GPVirtual{x}, func(s step) {
		t := v.r(2 + s.part)
		s.load(t, x)
		v.fma(s.acc(), t, t)
	})
	v.result(a, 2)
}

func (v *vm) sum() {
	a := v.begin("Vec_sum", "gives R = ΣA in lanes.")
	x, n := v.field(a, vaA), v.field(a, vaN)
	v.zeroAcc()
	v.each(n, []reg.GPVirtual{x}, func(s step) {
		t := v.r(2 + s.part)
		s.load(t, x)
		v.add(s.acc(), s.acc(), t)
	})
	v.result(a, 2)
}

func (v *vm) sumSqDev() {
	a := v.begin("Vec_sumsqdev", "gives R = Σ(A − F)² in lanes, with FMA.")
	v.bcast(v.r(4), mem(a, vaF))
	x, n := v.field(a, vaA), v.field(a, vaN)
	v.zeroAcc()
	v.each(n, []reg.GPVirtual{x}, func(s step) {
		t := v.r(2 + s.part)
		s.load(t, x)
		v.sub(t, t, v.r(4))
		s.clear(t)
		v.fma(s.acc(), t, t)
	})
	v.result(a, 2)
}

// maxAbs: r(0), r(1) hold the parts' maxima, r(2), r(3) their largest magnitudes as bits.
func (v *vm) maxAbs() {
	a := v.begin("Vec_maxabs", "gives R = the largest of A without NaN, never −0, and U = the largest magnitude as bits.")
	x, n := v.field(a, vaA), v.field(a, vaN)
	minusInf := v.splatf(float32(math.Inf(-1)))
	for p := range v.parts() {
		v.load(v.r(p), minusInf)
		v.zero(2 + p)
	}
	v.load(v.r(6), minusInf)
	v.each(n, []reg.GPVirtual{x}, func(s step) {
		t, u := v.r(4), v.r(5)
		s.load(t, x)
		v.and(u, t, v.splat(1<<31-1))
		v.VPMAXUD(u, v.r(2+s.part), v.r(2+s.part))
		s.fill(t, v.r(6))
		v.max(s.acc(), t, s.acc())
	})
	v.max16(0, 4)
	v.maxu16(2, 4)
	v.VXORPS(xs[4], xs[4], xs[4])
	v.VADDPS(xs[4], xs[0], xs[0])
	v.VMOVSS(xs[0], mem(a, vaR))
	v.VMOVD(xs[2], mem(a, vaU))
	v.end()
}

// find compares whole steps; the caller looks at what is left after the last.
func (v *vm) find() {
	a := v.begin("Vec_find", "gives J = the lowest index of an element of A equal to F, N, a multiple of 16, if there is none.")
	x, n, i, m := v.field(a, vaA), v.field(a, vaN), v.GP64(), v.GP64()
	v.bcast(v.r(0), mem(a, vaF))
	loop, found, done := v.label("loop"), v.label("found"), v.label("done")
	v.XORQ(i, i)
	v.Label(loop)
	v.CMPQ(i, n)
	v.JGE(operand.LabelRef(done))
	at := operand.Mem{Base: x, Index: i, Scale: 4}
	if v.wide {
		v.VCMPPS(operand.U8(0), at, zs[0], reg.K1)
		v.KMOVW(reg.K1, m.As32())
	} else {
		hi := v.GP64()
		v.VCMPPS(operand.U8(0), at, ys[0], ys[1])
		v.VCMPPS(operand.U8(0), at.Offset(32), ys[0], ys[2])
		v.VMOVMSKPS(ys[1], m.As32())
		v.VMOVMSKPS(ys[2], hi.As32())
		v.SHLL(operand.U8(8), hi.As32())
		v.ORL(hi.As32(), m.As32())
	}
	v.TESTL(m.As32(), m.As32())
	v.JNZ(operand.LabelRef(found))
	v.ADDQ(operand.U8(16), i)
	v.JMP(operand.LabelRef(loop))
	v.Label(found)
	v.BSFL(m.As32(), m.As32())
	v.ADDQ(m, i)
	v.Label(done)
	v.MOVQ(i, mem(a, vaJ))
	v.end()
}

func (v *vm) expSum() {
	a := v.begin("Vec_expsum", "gives Dst = e^(A − F) and R = its sum in lanes.")
	top := v.r(2)
	v.bcast(top, mem(a, vaF))
	dst, x, n := v.field(a, vaDst), v.field(a, vaA), v.field(a, vaN)
	v.zeroAcc()
	// The largest element is F: none of the differences is above 0.
	v.eachMany(n, []reg.GPVirtual{dst, x}, v.side(), func(s []step) {
		regs := v.trios(3, len(s))
		for i, r := range regs {
			s[i].load(r.x, x)
			v.sub(r.x, r.x, top)
		}
		v.exps(regs)
		for i, r := range regs {
			s[i].clear(r.x)
			s[i].store(dst, r.x)
			v.add(s[i].acc(), s[i].acc(), r.x)
		}
	})
	v.result(a, 3)
}
