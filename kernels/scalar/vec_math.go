package scalar

import (
	"math"

	"jns/kernels/tile"
)

// This file defines the transcendental functions. Package math's differ between platforms, so none is used; what is used of math is exact
// (RoundToEven, bit casts). Every coefficient is a minimax fit of our own, rounded to float32.

// Coefficients of exp on |r| ≤ ln2/2, e^r = 1 + r + r²·(c2 + c3·r + …); relative error 5e-9.
const (
	ExpLog2E float32 = 0x1.715476p+0
	ExpLn2Hi float32 = 0x1.62e430p-1
	ExpLn2Lo float32 = -0x1.05c610p-29
	ExpMax   float32 = 89       // e^89 overflows
	ExpRound float32 = 0x1.8p23 // a sum with it is rounded to an integer
	ExpMinN  float32 = -125     // p·2ⁿ is a normal number from here on

	ExpC2 float32 = 0x1p-1
	ExpC3 float32 = 0x1.55548ap-3
	ExpC4 float32 = 0x1.55547cp-5
	ExpC5 float32 = 0x1.123e22p-7
	ExpC6 float32 = 0x1.6d99cap-10
)

// Exp is e^x, and +0 where that is near the smallest normal number or below: with x at most ExpMax,
//
//	n = FMA(x, log2e, ExpRound) − ExpRound
//	r = FMA(n, −ln2lo, FMA(n, −ln2hi, x))
//	p = Horner with FMA over C6 … C2, 1, 1
//	e^x = p·2ⁿ, +0 when n < ExpMinN (x below about −87)
//
// A NaN gives a NaN, −Inf +0, +Inf +Inf. The error is below 0.9 units in the last place. Subnormal results would be exact to no use: where they occur,
// next to a largest score, they count for nothing, and processors take a hundred cycles and more for each.
func Exp(x float32) float32 {
	if x != x {
		return x
	}
	x = min(x, ExpMax)
	n := tile.FMA32(x, ExpLog2E, ExpRound) - ExpRound
	if n < ExpMinN {
		return 0
	}
	r := tile.FMA32(n, -ExpLn2Hi, x)
	r = tile.FMA32(n, -ExpLn2Lo, r)
	p := tile.FMA32(ExpC6, r, ExpC5)
	p = tile.FMA32(p, r, ExpC4)
	p = tile.FMA32(p, r, ExpC3)
	p = tile.FMA32(p, r, ExpC2)
	p = tile.FMA32(p, r, 1)
	p = tile.FMA32(p, r, 1)
	// Two factors, since 2ⁿ itself need not be a float32; the first product is exact.
	a := int32(n) >> 1
	b := int32(n) - a
	return float32(float32(p*pow2(a)) * pow2(b))
}

// pow2 is 2ⁿ for −126 ≤ n ≤ 127.
func pow2(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// Coefficients of tanh on |y| < TanhSmall: tanh y = y + y·u·(c0 + c1·u + …), u = y².
const (
	TanhSmall float32 = 0.625
	TanhC0    float32 = -0x1.555532p-2
	TanhC1    float32 = 0x1.11071ep-3
	TanhC2    float32 = -0x1.b83ba4p-5
	TanhC3    float32 = 0x1.52240ap-6
	TanhC4    float32 = -0x1.75dc1ap-8
)

// Tanh is a polynomial below TanhSmall in magnitude (giving +0 for −0) and ±(1 − 2/(e^(2|y|) + 1)) from there on.
func Tanh(y float32) float32 {
	a := math.Float32frombits(math.Float32bits(y) &^ (1 << 31))
	if !(a >= TanhSmall) { // NaN takes this branch
		u := float32(y * y)
		p := tile.FMA32(TanhC4, u, TanhC3)
		p = tile.FMA32(p, u, TanhC2)
		p = tile.FMA32(p, u, TanhC1)
		p = tile.FMA32(p, u, TanhC0)
		return tile.FMA32(float32(y*u), p, y)
	}
	t := 1 - float32(2/(Exp(a+a)+1))
	return math.Float32frombits(math.Float32bits(t) | math.Float32bits(y)&(1<<31))
}

// Coefficients of the upper tail of the normal distribution: with z = |x| and t = 1/(1 + PhiK·z), Φ(−z) = e^(−z²/2)·t·(c0 + c1·t + …).
const (
	PhiK  float32 = 0.35
	PhiC0 float32 = 0x1.1df1fap-3
	PhiC1 float32 = 0x1.1e6c40p-3
	PhiC2 float32 = 0x1.eb1be4p-4
	PhiC3 float32 = 0x1.aecc2ep-4
	PhiC4 float32 = -0x1.6b0212p-6
	PhiC5 float32 = 0x1.42a83cp-3
	PhiC6 float32 = -0x1.042ecep-2
	PhiC7 float32 = 0x1.250b5cp-3
	PhiC8 float32 = -0x1.da3ff0p-6
)

// Phi is the distribution function of the standard normal, (1 + erf(x/√2))/2, without cancellation for negative x.
func Phi(x float32) float32 {
	z := math.Float32frombits(math.Float32bits(x) &^ (1 << 31))
	t := 1 / tile.FMA32(z, PhiK, 1)
	p := tile.FMA32(PhiC8, t, PhiC7)
	p = tile.FMA32(p, t, PhiC6)
	p = tile.FMA32(p, t, PhiC5)
	p = tile.FMA32(p, t, PhiC4)
	p = tile.FMA32(p, t, PhiC3)
	p = tile.FMA32(p, t, PhiC2)
	p = tile.FMA32(p, t, PhiC1)
	p = tile.FMA32(p, t, PhiC0)
	q := float32(float32(p*t) * Exp(float32(float32(z*-0.5)*z)))
	if x < 0 || x != x {
		return q
	}
	return 1 - q
}

// Constants of the activations.
const (
	GELUCubic float32 = 0.044715
	GELUScale float32 = -1.5957691216057308 // −2·√(2/π)
	GELUQuick float32 = -1.702
)

// SiLU is x·sigmoid(x) = x / (1 + e^−x). (As for the other activations through a sigmoid, −Inf gives a NaN.)
func SiLU(x float32) float32 { return x / (1 + Exp(-x)) }

// GELU is the tanh form, x/2·(1 + tanh v) with v = √(2/π)·(x + 0.044715·x³). Since (1 + tanh v)/2 = 1/(1 + e^−2v) it is computed without
// cancellation as x / (1 + e^w), w = −2√(2/π)·x·FMA(0.044715, x², 1).
func GELU(x float32) float32 {
	w := float32(float32(x*GELUScale) * tile.FMA32(float32(x*x), GELUCubic, 1))
	return x / (1 + Exp(w))
}

// GELUErf is x·Φ(x).
func GELUErf(x float32) float32 { return float32(x * Phi(x)) }

// GELUQuickOf is x / (1 + e^(−1.702·x)).
func GELUQuickOf(x float32) float32 { return x / (1 + Exp(float32(x*GELUQuick))) }

// ReLU is x where x > 0, else +0; so a NaN gives +0.
func ReLU(x float32) float32 {
	if x > 0 {
		return x
	}
	return 0
}

// π/2 in three parts, of 30, 30 and 53 bits: n·part is exact for |n| < 2²³ in the first two.
const (
	halfPi1  = 0x1.921fb54p+0
	halfPi2  = 0x1.10b46118p-30
	halfPi3  = 0x1.313198a2e0370p-61
	twoByPi  = 0x1.45f306dc9c883p-1
	angleMax = 1 << 40 // past any position; larger angles and NaN give NaN
)

// sincos64 gives sin and cos of a in float64: n = RoundToEven(a·2/π), r = a − n·π/2 in three steps, Taylor polynomials of degree 15 and 16
// in r, quadrant by n mod 4. Products are rounded before they are added, everywhere. The error is below 1e-15 for angles to 10 million and
// grows slowly from there.
func sincos64(a float64) (sin, cos float64) {
	if !(a > -angleMax && a < angleMax) {
		return math.NaN(), math.NaN()
	}
	n := math.RoundToEven(float64(a * twoByPi))
	r := a - float64(n*halfPi1)
	r -= float64(n * halfPi2)
	r -= float64(n * halfPi3)
	u := float64(r * r)

	s := float64(u*(-1.0/1307674368000)) + 1.0/6227020800
	s = float64(u*s) - 1.0/39916800
	s = float64(u*s) + 1.0/362880
	s = float64(u*s) - 1.0/5040
	s = float64(u*s) + 1.0/120
	s = float64(u*s) - 1.0/6
	s = float64(float64(r*u)*s) + r

	c := float64(u*(1.0/20922789888000)) - 1.0/87178291200
	c = float64(u*c) + 1.0/479001600
	c = float64(u*c) - 1.0/3628800
	c = float64(u*c) + 1.0/40320
	c = float64(u*c) - 1.0/720
	c = float64(u*c) + 1.0/24
	c = float64(u*c) - 0.5
	c = float64(u*c) + 1

	switch int64(n) & 3 {
	case 0:
		return s, c
	case 1:
		return c, -s
	case 2:
		return -s, -c
	}
	return -c, s
}

// SinCos gives cos and sin of the angles pos·freq[i] (a float64 product, rounded once) as float32, times mscale.
func SinCos(cos, sin []float32, pos int64, freq []float64, mscale float32) {
	p := float64(pos)
	for i, f := range freq {
		s, c := sincos64(float64(p * f))
		cos[i], sin[i] = float32(float32(c)*mscale), float32(float32(s)*mscale)
	}
}
