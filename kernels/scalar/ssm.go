package scalar

import "jns/kernels/tile"

// This file defines the arithmetic of recurrent layers. Every step works on one position; lanes run along channels or values and never meet, and a sum
// over states or keys is one chain per lane, in order from +0, products rounded before they are added. So batches may be cut anywhere, and lanes anywhere.

// Sigmoid is 1/(1 + e^(−x)).
func Sigmoid(x float32) float32 { return 1 / (1 + Exp(-x)) }

// Coefficients of 2·artanh(s) = s·(2 + u·(c1 + c2·u + …)), u = s², for s ≤ 1/3: the series, 2/(2k+1).
const (
	ArtanhC1 float32 = 2.0 / 3
	ArtanhC2 float32 = 2.0 / 5
	ArtanhC3 float32 = 2.0 / 7
	ArtanhC4 float32 = 2.0 / 9
	ArtanhC5 float32 = 2.0 / 11
	ArtanhC6 float32 = 2.0 / 13
	ArtanhC7 float32 = 2.0 / 15
)

// log1p is ln(1 + t) for 0 ≤ t ≤ 1, as 2·artanh(t/(t + 2)).
func log1p(t float32) float32 {
	s := t / (t + 2)
	u := float32(s * s)
	p := tile.FMA32(ArtanhC7, u, ArtanhC6)
	p = tile.FMA32(p, u, ArtanhC5)
	p = tile.FMA32(p, u, ArtanhC4)
	p = tile.FMA32(p, u, ArtanhC3)
	p = tile.FMA32(p, u, ArtanhC2)
	p = tile.FMA32(p, u, ArtanhC1)
	p = tile.FMA32(p, u, 2)
	return float32(s * p)
}

// Softplus is ln(1 + e^x) = max(x, 0) + log1p(e^(−|x|)).
func Softplus(x float32) float32 {
	if x > 0 {
		return x + log1p(Exp(-x))
	}
	return log1p(Exp(x)) // a NaN stays one
}

// SwigluOAI is g·sigmoid(1.702·g)·(u + 1) with g = min(gate, 7), u = up cut to ±7: GELUQuickOf(g), rounded, times u + 1.
func SwigluOAI(gate, up float32) float32 {
	const limit = 7
	if gate > limit {
		gate = limit
	}
	if up > limit {
		up = limit
	}
	if up < -limit {
		up = -limit
	}
	return float32(GELUQuickOf(gate) * (up + 1))
}

// MulAdd: dst = float32(a·b) + dst.
func MulAdd(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = float32(a[i]*b[i]) + dst[i]
	}
}

// ScanStep is one position of one head of the selective scan with a decay for the whole head. s is len(b) rows of len(x) numbers, x is multiplied by the
// step δ already:
//
//	s_n = float32(s_n·decay) + float32(x·b_n); y = Σ_n float32(s_n·c_n)
func ScanStep(s, x, b, c []float32, decay float32, y []float32) {
	n := len(x)
	y = y[:n]
	clear(y)
	for k, bk := range b {
		row, ck := s[k*n:k*n+n], c[k]
		for i, v := range x {
			t := float32(row[i]*decay) + float32(v*bk)
			row[i] = t
			y[i] = float32(t*ck) + y[i]
		}
	}
}

// ScanChannels is one position of a run of channels that have a decay for each number of state. Row k of s and of a begins at k·stride and has len(x) elements; x is
// multiplied by δ already:
//
//	s_k = float32(s_k·Exp(float32(δ·a_k))) + float32(x·b_k); y = Σ_k float32(s_k·c_k)
func ScanChannels(s, a []float32, stride int, delta, x, b, c, y []float32) {
	n := len(x)
	y = y[:n]
	clear(y)
	for k, bk := range b {
		row, ak, ck := s[k*stride:k*stride+n], a[k*stride:k*stride+n], c[k]
		for i, v := range x {
			t := float32(row[i]*Exp(float32(delta[i]*ak[i]))) + float32(v*bk)
			row[i] = t
			y[i] = float32(t*ck) + y[i]
		}
	}
}

// DeltaStep is one position of one head of the gated delta rule. s is len(k) rows of len(v) numbers; decay has one element or len(k); d is scratch of len(v):
//
//	s_j = float32(s_j·decay_j); d = float32((v − Σ_j float32(s_j·k_j))·beta); s_j = float32(d·k_j) + s_j; o = Σ_j float32(s_j·q_j)
func DeltaStep(s, q, k, v, decay []float32, beta float32, d, o []float32) {
	n := len(v)
	d, o = d[:n], o[:n]
	clear(d)
	g := decay[0]
	for j, kj := range k {
		row := s[j*n : j*n+n]
		if len(decay) > 1 {
			g = decay[j]
		}
		for i := range d {
			t := float32(row[i] * g)
			row[i] = t
			d[i] = float32(t*kj) + d[i]
		}
	}
	for i, x := range v {
		d[i] = float32((x - d[i]) * beta)
	}
	clear(o)
	for j, kj := range k {
		row, qj := s[j*n:j*n+n], q[j]
		for i, x := range d {
			t := float32(x*kj) + row[i]
			row[i] = t
			o[i] = float32(t*qj) + o[i]
		}
	}
}

// Dot is Σ float32(a·b) in order from +0.
func Dot(a, b []float32) float32 {
	var sum float32
	for i, v := range a {
		sum = float32(v*b[i]) + sum
	}
	return sum
}

// WKVStep is one position of one head of RWKV's seventh state update. s is len(k) rows of len(v) numbers, decay has len(k) elements; d is scratch of len(v):
//
//	d = Σ_j float32(a_j·s_j); s_j = (float32(s_j·decay_j) + float32(v·k_j)) + float32(d·b_j); o = Σ_j float32(s_j·r_j)
func WKVStep(s, r, decay, k, v, a, b, d, o []float32) {
	n := len(v)
	d, o = d[:n], o[:n]
	clear(d)
	for j, aj := range a {
		row := s[j*n : j*n+n]
		for i, x := range row {
			d[i] = float32(x*aj) + d[i]
		}
	}
	clear(o)
	for j, kj := range k {
		row, g, bj, rj := s[j*n:j*n+n], decay[j], b[j], r[j]
		for i, x := range v {
			t := float32(row[i]*g) + float32(x*kj)
			t += float32(d[i] * bj)
			row[i] = t
			o[i] = float32(t*rj) + o[i]
		}
	}
}
