package scalar

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"jns/kernels/arg"
)

// attention computes softmax(Scale·qK)·V over positions [lo, hi) of all pages in float64, from K and V as they are stored.
func attention(q []float32, k, v [][]float32, lo, hi int, scale, cap float64) []float64 {
	s := make([]float64, len(k))
	m := math.Inf(-1)
	for p := lo; p < hi; p++ {
		for d := range q {
			s[p] += float64(q[d]) * float64(k[p][d])
		}
		s[p] *= scale
		if cap != 0 {
			s[p] = cap * math.Tanh(s[p]/cap)
		}
		m = max(m, s[p])
	}
	o, l := make([]float64, len(v[0])), 0.0
	for p := lo; p < hi; p++ {
		e := math.Exp(s[p] - m)
		l += e
		for c := range o {
			o[c] += e * float64(v[p][c])
		}
	}
	for c := range o {
		o[c] /= l
	}
	return o
}

func TestAttendOverPagesIsAttention(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const pages = 3
		d, dv := rapid.IntRange(1, 40).Draw(t, "d"), rapid.IntRange(1, 40).Draw(t, "dv")
		lo := rapid.IntRange(0, pages*64-1).Draw(t, "lo")
		hi := rapid.IntRange(lo+1, pages*64).Draw(t, "hi")
		cap := rapid.SampledFrom([]float32{0, 2}).Draw(t, "cap")
		num := func(n int) []float32 { // small eighths are exact halves
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(rapid.IntRange(-16, 16).Draw(t, "x")) / 8
			}
			return x
		}
		base := num(97)
		vec := func(n, seed int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = base[(i*31+seed*17+i*seed)%97]
			}
			return x
		}
		q := vec(d, 5)
		k, v := make([][]float32, pages*64), make([][]float32, pages*64)
		kp, vp := make([]uint16, pages*64*d), make([]uint16, pages*64*dv)
		for i := range kp {
			kp[i] = 0x7e00 // NaN wherever nothing is stored
		}
		for i := range vp {
			vp[i] = 0x7e00
		}
		for p := range k {
			k[p], v[p] = vec(d, p+1), vec(dv, p+1000)
			if p >= lo && p < hi {
				StoreK(unsafe.Pointer(&kp[p/64*64*d]), k[p], p%64)
				StoreV(unsafe.Pointer(&vp[p/64*64*dv]), v[p], p%64)
			}
		}
		var m, l [1]float32
		o := make([]float32, dv)
		NewState(m[:], l[:], o)
		for pg := range pages {
			a := arg.AttendArgs{Q: unsafe.Pointer(&q[0]), K: unsafe.Pointer(&kp[pg*64*d]), V: unsafe.Pointer(&vp[pg*64*dv]), D: d, DV: dv, N: 1,
				Scale: 0.25, Cap: cap, M: unsafe.Pointer(&m), L: unsafe.Pointer(&l), O: unsafe.Pointer(&o[0])}
			a.Lo[0], a.Hi[0] = int32(min(max(lo-pg*64, 0), 64)), int32(min(max(hi-pg*64, 0), 64))
			Attend(&a)
		}
		Finish(o, o, l[0])
		for c, want := range attention(q, k, v, lo, hi, 0.25, float64(cap)) {
			require.InDelta(t, want, o[c], 2e-5)
		}
	})
}
