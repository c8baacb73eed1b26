package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"jns/kernels/scalar"
)

// The functions of kernels/scalar/vec_math.go on vectors, in place, with the same operations in the same order.

// exp is scalar.Exp of x; n and p are free registers of the same width as x.
func (v *vm) exp(x, n, p reg.Register) {
	// A NaN stays, being the second operand of max and min.
	v.load(p, v.splatf(scalar.ExpMin))
	v.max(x, p, x)
	v.load(p, v.splatf(scalar.ExpMax))
	v.min(x, p, x)
	v.mul(n, x, v.splatf(scalar.ExpLog2E))
	if v.wide {
		v.VRNDSCALEPS(operand.U8(8), n, n)
	} else {
		v.VROUNDPS(operand.U8(8), n, n)
	}
	v.fnma(x, n, v.splatf(scalar.ExpLn2Hi))
	v.fnma(x, n, v.splatf(scalar.ExpLn2Lo))
	v.poly(p, x, scalar.ExpC6, scalar.ExpC5, scalar.ExpC4, scalar.ExpC3, scalar.ExpC2, 1, 1)
	if v.wide {
		v.VSCALEFPS(n, p, x)
		return
	}
	v.VCVTPS2DQ(n, n)
	v.VPSRAD(operand.U8(1), n, x)
	v.VPSUBD(x, n, n)
	v.VPADDD(v.splat(127), x, x)
	v.VPADDD(v.splat(127), n, n)
	v.VPSLLD(operand.U8(23), x, x)
	v.VPSLLD(operand.U8(23), n, n)
	v.mul(p, p, x)
	v.mul(x, p, n)
}

// tanh is scalar.Tanh of r(x); r(t) to r(t+3) are free. Under AVX-512 K2 is used.
func (v *vm) tanh(x, t int) {
	y, a, n, p, big := v.r(x), v.r(t), v.r(t+1), v.r(t+2), v.r(t+3)
	v.and(a, y, v.splat(1<<31-1))
	if v.wide {
		v.VCMPPS(operand.U8(0x1d), v.splatf(scalar.TanhSmall), a, reg.K2) // ≥, false for NaN
	} else {
		v.VCMPPS(operand.U8(0x1d), v.splatf(scalar.TanhSmall), a, big)
	}
	v.add(a, a, a)
	v.exp(a, n, p)
	v.add(a, a, v.splatf(1))
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
	v.exp(z, n, p)
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

// sigmoidLike is x / (1 + e^w), w in r(t), into r(x); r(t+1), r(t+2) are free.
func (v *vm) sigmoidLike(x, t int) {
	v.exp(v.r(t), v.r(t+1), v.r(t+2))
	v.add(v.r(t), v.r(t), v.splatf(1))
	v.div(v.r(x), v.r(x), v.r(t))
}
