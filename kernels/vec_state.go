package kernels

import (
	"sync"

	"jns/kernels/scalar"
)

// fillState makes the steps of recurrent layers of a set's own functions, lane by lane what package scalar says: rows are short enough for the first-level cache, so that several
// passes over one cost little.
func fillState(v *Vec) {
	scale, mul, addScaled, exp := v.Scale, v.Mul, v.AddScaled, v.Exp
	v.ScanStep = func(s, x, b, c []float32, decay float32, y []float32) {
		n := len(x)
		y = y[:n]
		clear(y)
		for k, bk := range b {
			row := s[k*n : k*n+n]
			scale(row, row, decay)
			addScaled(row, row, x, bk)
			addScaled(y, y, row, c[k])
		}
	}
	v.ScanChannels = func(s, a []float32, stride int, delta, x, b, c, y []float32) {
		decay := decays.Get().(*[256]float32)
		defer decays.Put(decay)
		for len(x) > len(decay) {
			n := len(decay)
			v.ScanChannels(s, a, stride, delta[:n], x[:n], b, c, y[:n])
			s, a, delta, x, y = s[n:], a[n:], delta[n:], x[n:], y[n:]
		}
		n := len(x)
		y = y[:n]
		clear(y)
		for k, bk := range b {
			row, g := s[k*stride:k*stride+n], decay[:n]
			mul(g, delta, a[k*stride:k*stride+n])
			exp(g, g)
			mul(row, row, g)
			addScaled(row, row, x, bk)
			addScaled(y, y, row, c[k])
		}
	}
	v.DeltaStep = func(s, q, k, val, decay []float32, beta float32, d, o []float32) {
		n := len(val)
		d, o = d[:n], o[:n]
		clear(d)
		g := decay[0]
		for j, kj := range k {
			row := s[j*n : j*n+n]
			if len(decay) > 1 {
				g = decay[j]
			}
			scale(row, row, g)
			addScaled(d, d, row, kj)
		}
		for i, x := range val {
			d[i] = float32((x - d[i]) * beta)
		}
		clear(o)
		for j, kj := range k {
			row := s[j*n : j*n+n]
			addScaled(row, row, d, kj)
			addScaled(o, o, row, q[j])
		}
	}
	v.WKVStep = func(s, r, decay, k, val, a, b, d, o []float32) {
		n := len(val)
		d, o = d[:n], o[:n]
		clear(d)
		for j, aj := range a {
			addScaled(d, d, s[j*n:j*n+n], aj)
		}
		clear(o)
		for j, kj := range k {
			row := s[j*n : j*n+n]
			scale(row, row, decay[j])
			addScaled(row, row, val, kj)
			addScaled(row, row, d, b[j])
			addScaled(o, o, row, r[j])
		}
	}
}

// decays are scratch of ScanChannels. On the stack they would not stay: functions that are only known when the program runs get them, and each call would allocate.
var decays = sync.Pool{New: func() any { return new([256]float32) }}

// mulAddOf makes MulAdd of a product and a sum.
func mulAddOf(v *Vec) func(dst, a, b []float32) {
	mul, addScaled := v.Mul, v.AddScaled
	return func(dst, a, b []float32) {
		var product [256]float32
		for len(dst) > 0 {
			n := min(len(dst), len(product))
			mul(product[:n], a[:n], b[:n])
			addScaled(dst[:n], dst[:n], product[:n], 1)
			dst, a, b = dst[n:], a[n:], b[n:]
		}
	}
}

// scalarExp is Exp of every element.
func scalarExp(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = scalar.Exp(v)
	}
}
