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
	if u := math.Float64bits(s); u&0x1fffffff == 0x10000000 || u&0x7ff0000000000000 < 0x3810000000000000 {
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
		if u := math.Float64bits(s); u&0x1fffffff == 0x10000000 || u&0x7ff0000000000000 < 0x3810000000000000 {
			acc = fmaRare(a, b, acc, s)
			continue
		}
		acc = float32(s)
	}
	return acc
}
