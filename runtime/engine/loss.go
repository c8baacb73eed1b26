package engine

import "math"

// Loss compares predictions in float64. It uses exp and log of its own, so that a perplexity too is the same number on every platform.

// LogSumExp is log Σ exp(l[i]); l must be finite and not empty.
func LogSumExp(l []float32) float64 {
	top := float64(l[0])
	for _, v := range l {
		top = max(top, float64(v))
	}
	sum := 0.0
	for _, v := range l {
		sum += exp64(float64(v) - top)
	}
	return top + log64(sum)
}

// Divergence is the Kullback-Leibler divergence, in nats, of softmax(l) from softmax(ref).
func Divergence(ref, l []float32) float64 {
	zr, z := LogSumExp(ref), LogSumExp(l)
	kl := 0.0
	for i, v := range ref {
		p := float64(v) - zr
		kl += float64(exp64(p) * (p - (float64(l[i]) - z)))
	}
	return kl
}

// Exp is exp64 for reports.
func Exp(x float64) float64 { return exp64(x) }

// exp64: x = n·ln 2 + r, |r| ≤ ln 2 / 2, Taylor series of e^r to degree 17 (remainder below 2^-60), times 2^n. ln 2 is parted so that n·hi is exact.
func exp64(x float64) float64 {
	const (
		hi = 0x1.62e42feep-1
		lo = 0x1.a39ef35793c76p-33
	)
	if x < -745 {
		return 0
	}
	if x > 709 {
		return math.Inf(1)
	}
	n := math.RoundToEven(x / math.Ln2)
	r := float64(x - float64(n*hi))
	r = float64(r - float64(n*lo))
	sum := 1.0
	for k := 17; k >= 1; k-- {
		sum = float64(float64(sum*r)/float64(k)) + 1
	}
	return math.Ldexp(sum, int(n))
}

// log64: x = m·2^e with m in [√½, √2), log m = 2·atanh(t), t = (m−1)/(m+1), |t| < 0.172: odd series to t^23.
func log64(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = m*2, e-1
	}
	t := (m - 1) / (m + 1)
	t2 := float64(t * t)
	sum := 0.0
	for k := 23; k >= 1; k -= 2 {
		sum = float64(sum*t2) + 1/float64(k)
	}
	return float64(2*float64(t*sum)) + float64(float64(e)*math.Ln2)
}
