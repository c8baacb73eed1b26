package scalar

import (
	"math"

	"jns/kernels/tile"
)

// Reductions run in 16 lanes: element i belongs to lane i mod 16, taken in order of i, from +0. The lanes are then added as a fixed tree,
// lane i with lane i+8, then i+4, i+2, i+1.

// Lanes are the 16 partial results of a reduction.
type Lanes [16]float32

// Sum adds the lanes up.
func (l *Lanes) Sum() float32 {
	t := *l
	for h := 8; h > 0; h /= 2 {
		for i := range h {
			t[i] += t[i+h]
		}
	}
	return t[0]
}

func sum(x []float32) float32 {
	var l Lanes
	for i, v := range x {
		l[i&15] += v
	}
	return l.Sum()
}

// RMSNorm: lanes accumulate FMA(x, x, lane); s = 1/√(sum/n + eps), every step in float32; dst = float32(x·s)·w, without w float32(x·s).
func RMSNorm(dst, x, w []float32, eps float32) {
	var l Lanes
	for i, v := range x {
		l[i&15] = tile.FMA32(v, v, l[i&15])
	}
	s := InvSqrt(l.Sum(), len(x), eps)
	for i := range dst {
		v := float32(x[i] * s)
		if w != nil {
			v = float32(v * w[i])
		}
		dst[i] = v
	}
}

// InvSqrt is 1/√(sum/n + eps). The float64 root of a float32 rounded to float32 is the float32 root.
func InvSqrt(sum float32, n int, eps float32) float32 {
	mean := float32(sum / float32(n))
	return 1 / float32(math.Sqrt(float64(mean+eps)))
}

// LayerNorm: mean = sum(x)/n; lanes accumulate FMA(d, d, lane) of d = x − mean; s as in RMSNorm; dst = float32(float32(d·s)·w) + b. w nil means 1,
// b nil leaves the addition out.
func LayerNorm(dst, x, w, b []float32, eps float32) {
	mean := sum(x) / float32(len(x))
	var l Lanes
	for i, v := range x {
		d := v - mean
		l[i&15] = tile.FMA32(d, d, l[i&15])
	}
	s := InvSqrt(l.Sum(), len(x), eps)
	for i := range dst {
		v := float32((x[i] - mean) * s)
		if w != nil {
			v = float32(v * w[i])
		}
		if b != nil {
			v += b[i]
		}
		dst[i] = v
	}
}

// Max is the largest element, NaN left out; −Inf when there is none, and +0 for −0.
func Max(x []float32) float32 {
	m := float32(math.Inf(-1))
	for _, v := range x {
		if v > m {
			m = v
		}
	}
	return m + 0
}

// Softmax: e = Exp(x − Max(x)); dst = e·(1/sum(e)). A NaN, +Inf, or nothing but −Inf makes all of dst NaN.
func Softmax(dst, x []float32) {
	m := Max(x)
	for i := range dst {
		dst[i] = Exp(x[i] - m)
	}
	Scale(dst, dst, 1/sum(dst))
}

// ArgMax gives the lowest index of the largest element, and whether all elements are finite. NaN counts as less than anything; without an
// element above −Inf the index is 0.
func ArgMax(x []float32) (int, bool) {
	best, m, finite := 0, float32(math.Inf(-1)), true
	for i, v := range x {
		if v > m {
			best, m = i, v
		}
		finite = finite && math.Float32bits(v)&0x7f800000 != 0x7f800000
	}
	return best, finite
}
