package sample

import "math"

// The functions here give the same bits on every platform: each product is rounded before it is
// added (the conversions forbid the compiler to fuse them), and only exact operations of package
// math are used.

const (
	log2e = 1.4426950408889634
	// ln 2 in two parts: the first has 21 trailing zero bits, so that n*ln2Hi is exact for |n| < 2^21.
	ln2Hi = 6.93147180369123816490e-01
	ln2Lo = 1.90821492927058770002e-10
)

// expTaylor are 1/k! from k = 13 down to 0. On |r| <= ln2/2 the series is good to the last bit.
var expTaylor = [...]float64{
	1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
	1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2, 1, 1,
}

// exp returns e^x for x <= 0, within 2 units in the last place; 0 below -700.
func exp(x float64) float64 {
	if x < -700 {
		return 0
	}
	n := math.Floor(float64(x*log2e) + 0.5)
	r := x - float64(n*ln2Hi)
	r -= float64(n * ln2Lo)
	p := expTaylor[0]
	for _, c := range expTaylor[1:] {
		p = float64(p*r) + c
	}
	return p * math.Float64frombits(uint64(1023+int(n))<<52) // exact: a power of two, no underflow here
}

// log returns the natural logarithm of a normal x > 0, within a few units in the last place.
func log(x float64) float64 {
	bits := math.Float64bits(x)
	n := float64(int(bits>>52) - 1023)
	m := math.Float64frombits(bits&(1<<52-1) | 1023<<52) // [1, 2)
	if m > math.Sqrt2 {
		m /= 2
		n++
	}
	// ln m = 2 atanh z, a series in odd powers; |z| < 0.172, so 12 terms suffice.
	z := (m - 1) / (m + 1)
	zz := z * z
	s := 0.0
	for k := 23; k >= 1; k -= 2 {
		s = float64(s*zz) + 1/float64(k)
	}
	s = float64(s * float64(2*z))
	return float64(n*ln2Hi) + (s + float64(n*ln2Lo))
}

// draw returns a number in [0, 1) with 53 random bits for one step of a seed. It is SplitMix64
// (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators") used as a counter:
// step i of a stream can be had without the steps before it.
func draw(seed, step uint64) float64 {
	const golden = 0x9E3779B97F4A7C15
	x := mix(mix(seed+golden) + (step+1)*golden)
	return float64(x>>11) * (1.0 / (1 << 53))
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
