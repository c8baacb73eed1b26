package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"jns/kernels/scalar"
)

// The functions of kernels/scalar/vec_math.go on vectors, in place, with the same operations in the same order.

// trio is a value with two free registers.
type trio struct{ x, n, p reg.Register }

// exps is scalar.Exp of several vectors whose values are at most 0 or NaN. Each operation is written for all of them before the next: one alone is a chain of
// twelve operations that wait for one another. Under AVX-512 K7 is used.
func (v *vm) exps(t []trio) {
	v.expPoly(t, 1)
	for _, t := range t {
		if v.wide {
			v.VCMPPS_BCST(operand.U8(5), v.splatf(scalar.ExpMinN).Mem, t.n, reg.K7) // not less, or NaN
			v.VSCALEFPS_Z(t.n, t.p, reg.K7, t.x)
			continue
		}
		v.VCMPPS(operand.U8(5), v.splatf(scalar.ExpMinN).Mem, t.n, t.x)
		v.VCVTPS2DQ(t.n, t.n) // of a NaN 0x80000000, which the shift drops
		v.VPSLLD(operand.U8(23), t.n, t.n)
		v.VPADDD(t.n, t.p, t.p)
		v.and(t.x, t.x, t.p)
	}
}

// exps1 is 1 + scalar.Exp of several vectors. (What is far below 0 counts for nothing there and is cut off, so that no subnormal number arises.)
func (v *vm) exps1(t []trio) {
	for _, t := range t {
		// A NaN stays, being the second operand of max and min.
		v.load(t.p, v.splatf(scalar.ExpMinN/2))
		v.max(t.x, t.p, t.x)
		v.load(t.p, v.splatf(scalar.ExpMax))
		v.min(t.x, t.p, t.x)
	}
	if v.wide {
		v.expPoly(t, 1)
		for _, t := range t {
			v.VSCALEFPS(t.n, t.p, t.x)
		}
		for _, t := range t {
			v.add(t.x, t.x, v.splatf(1))
		}
		return
	}
	// The halves of all coefficients give exactly half of the polynomial, whose exponent then has room for n up to 128.
	v.expPoly(t, 0.5)
	for _, t := range t {
		v.VCVTPS2DQ(t.n, t.n)
		v.VPSLLD(operand.U8(23), t.n, t.n)
		v.VPADDD(t.n, t.p, t.x)
		v.load(t.p, v.splatf(2))
		v.horner(t.x, t.p, v.splatf(1))
	}
}

// expPoly sets n and p of e^x = p·2ⁿ, p times scale; x is used up.
func (v *vm) expPoly(t []trio, scale float32) {
	each := func(f func(x, n, p reg.Register)) {
		for _, t := range t {
			f(t.x, t.n, t.p)
		}
	}
	each(func(x, n, p reg.Register) {
		v.load(n, v.splatf(scalar.ExpLog2E))
		v.horner(n, x, v.splatf(scalar.ExpRound))
	})
	each(func(x, n, p reg.Register) { v.sub(n, n, v.splatf(scalar.ExpRound)) })
	each(func(x, n, p reg.Register) { v.fnma(x, n, v.splatf(scalar.ExpLn2Hi)) })
	each(func(x, n, p reg.Register) { v.fnma(x, n, v.splatf(scalar.ExpLn2Lo)) })
	each(func(x, n, p reg.Register) { v.load(p, v.splatf(scalar.ExpC6*scale)) })
	for _, c := range []float32{scalar.ExpC5, scalar.ExpC4, scalar.ExpC3, scalar.ExpC2, 1, 1} {
		each(func(x, n, p reg.Register) { v.horner(p, x, v.splatf(c*scale)) })
	}
}

// tanh is scalar.Tanh of r(x); r(t) to r(t+3) are free. Under AVX-512 K2 is used.
func (v *vm) tanh(x, t int) {
	y, a, n, p, big := v.r(x), v.r(t), v.r(t+1), v.r(t+2), v.r(t+3)
	v.and(a, y, v.splat(1<<31-1))
	if v.wide {
		v.VCMPPS_BCST(operand.U8(0x1d), v.splatf(scalar.TanhSmall).Mem, a, reg.K2) // ≥, false for NaN
	} else {
		v.VCMPPS(operand.U8(0x1d), v.splatf(scalar.TanhSmall).Mem, a, big)
	}
	v.add(a, a, a)
	v.exps1([]trio{{a, n, p}})
	v.load(p, v.splatf(2))
	v.div(a, p, a)
	v.load(p, v.splatf(1))
	v.sub(a, p, a)
	v.and(n, y, v.splat(1<<31))
	v.or(a, a, n)

	v.mul(n, y, y)
	v.poly(p, n, scalar.TanhC4, scalar.TanhC3, scalar.TanhC2, scalar.TanhC1, scalar.TanhC0)
	v.mul(n, n, y)
	v.horner(p, n, y)
	if v.wide {
		v.VBLENDMPS(a, p, reg.K2, y)
	} else {
		v.VBLENDVPS(big, a, p, y)
	}
}

// phi is scalar.Phi of r(x) into r(t), leaving r(x); r(t+1) to r(t+4) are free. Under AVX-512 K2 is used.
func (v *vm) phi(x, t int) {
	y, q, n, p, z := v.r(x), v.r(t), v.r(t+1), v.r(t+2), v.r(t+3)
	one := v.r(t + 4)
	v.load(one, v.splatf(1))
	v.and(z, y, v.splat(1<<31-1))
	v.VMOVAPS(one, n)
	v.fma(n, z, v.splatf(scalar.PhiK))
	v.div(n, one, n)
	v.poly(p, n, scalar.PhiC8, scalar.PhiC7, scalar.PhiC6, scalar.PhiC5, scalar.PhiC4, scalar.PhiC3, scalar.PhiC2, scalar.PhiC1, scalar.PhiC0)
	v.mul(q, p, n)
	v.mul(n, z, v.splatf(-0.5))
	v.mul(z, n, z)
	v.exps([]trio{{z, n, p}})
	v.mul(q, q, z)
	v.sub(one, one, q)
	v.zero(t + 1)
	if v.wide {
		v.VCMPPS(operand.U8(0x19), n, y, reg.K2) // not ≥: negative or NaN
		v.VBLENDMPS(q, one, reg.K2, q)
	} else {
		v.VCMPPS(operand.U8(0x19), n, y, n)
		v.VBLENDVPS(n, q, one, q)
	}
}
