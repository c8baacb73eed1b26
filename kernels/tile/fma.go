package tile

import "math"

// FMA32 is the IEEE fused multiply-add a·b + c, rounded once to the nearest float32, ties to even: what VFMADD and FMLA compute. The
// only freedom is the payload of a NaN.
//
// The product of two float32 is exact in float64. Rounding the float64 sum s to float32 gives the right answer unless s lies on the
// midpoint of two float32, where the bits lost in s should have decided, or is below the normal range, where midpoints lie elsewhere;
// only those go the slow way.
func FMA32(a, b, c float32) float32 {
	s := float64(a)*float64(b) + float64(c) // fused or not: the product is exact
	if rare(s) {
		return fmaRare(a, b, c, s)
	}
	return float32(s)
}

// fmaRare rounds a·b + c to float64 to odd – inexact results get their last bit set – after which rounding to float32 is as if the exact sum
// had been rounded.
//
//go:noinline
func fmaRare(a, b, c float32, s float64) float32 {
	if s == 0 || math.IsNaN(s) {
		return float32(s) // a zero sum is exact: terms are multiples of 2⁻²⁹⁸
	}
	p, z := float64(float64(a)*float64(b)), float64(c)
	// Knuth's two-sum: p + z = s + e exactly.
	t := float64(s - p)
	e := float64(p-float64(s-t)) + float64(z-t)
	if u := math.Float64bits(s); e != 0 && u&1 == 0 {
		// The exact sum lies between s and its neighbour on the side of e, which is odd.
		if (e > 0) == (s > 0) {
			u++
		} else {
			u--
		}
		s = math.Float64frombits(u)
	}
	return float32(s)
}

// FMADot runs one chain acc = FMA32(w[i], x[i], acc) over i in order; x has at least len(w) elements.
func FMADot(acc float32, w, x []float32) float32 {
	x = x[:len(w)]
	for i, a := range w {
		b := x[i]
		s := float64(a)*float64(b) + float64(acc)
		if rare(s) {
			acc = fmaRare(a, b, acc, s)
			continue
		}
		acc = float32(s)
	}
	return acc
}

// FMADot4 runs four chains of FMADot over one x side by side, which hides the latency of the additions. All of w have the length of w[0].
func FMADot4(acc *[4]float32, w *[4][]float32, x []float32) {
	w0, w1, w2, w3 := w[0], w[1][:len(w[0])], w[2][:len(w[0])], w[3][:len(w[0])]
	x = x[:len(w0)]
	a0, a1, a2, a3 := acc[0], acc[1], acc[2], acc[3]
	for i, b := range x {
		s0 := float64(w0[i])*float64(b) + float64(a0)
		s1 := float64(w1[i])*float64(b) + float64(a1)
		s2 := float64(w2[i])*float64(b) + float64(a2)
		s3 := float64(w3[i])*float64(b) + float64(a3)
		if rare(s0) || rare(s1) || rare(s2) || rare(s3) {
			a0, a1, a2, a3 = FMA32(w0[i], b, a0), FMA32(w1[i], b, a1), FMA32(w2[i], b, a2), FMA32(w3[i], b, a3)
			continue
		}
		a0, a1, a2, a3 = float32(s0), float32(s1), float32(s2), float32(s3)
	}
	*acc = [4]float32{a0, a1, a2, a3}
}

// rare tells a float64 sum that must not simply be rounded to float32: see FMA32.
func rare(s float64) bool {
	u := math.Float64bits(s)
	return u&0x1fffffff == 0x10000000 || u&0x7ff0000000000000 < 0x3810000000000000
}
