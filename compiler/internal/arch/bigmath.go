package arch

import "math/big"

// Logarithms and powers for rotation frequencies. They are computed in integer arithmetic (math/big) far beyond float64 and
// rounded once, so the result is the float64 nearest to the true value on every platform; package math's functions differ
// between platforms by a last bit, and a container's bytes must not.

// workBits is the precision of intermediate results; float64 has 53. Error bounds of the series below are under 2⁻¹⁵⁰.
const workBits = 192

func newBig(x float64) *big.Float { return new(big.Float).SetPrec(workBits).SetFloat64(x) }

func zero() *big.Float { return new(big.Float).SetPrec(workBits) }

// negligible says that adding x to a sum of magnitude near 1 changes nothing at the working precision.
func negligible(x *big.Float) bool { return x.Sign() == 0 || x.MantExp(nil) < -workBits }

// atanhInv is atanh(1/n) = Σ 1/((2k+1)·n^(2k+1)), n ≥ 2.
func atanhInv(n float64) *big.Float { return atanh(zero().Quo(newBig(1), newBig(n))) }

// atanh is Σ t^(2k+1)/(2k+1) for |t| ≤ 1/2.
func atanh(t *big.Float) *big.Float {
	sum, square, power := zero(), zero().Mul(t, t), zero().Set(t)
	for k := 1; !negligible(power); k += 2 {
		sum.Add(sum, zero().Quo(power, newBig(float64(k))))
		power.Mul(power, square)
	}
	return sum
}

var ln2 = zero().Mul(newBig(2), atanhInv(3)) // ln 2 = 2·atanh(1/3)

// bigLn is the natural logarithm of x > 0: x = m·2^e with m in [1/2, 1), ln m = 2·atanh((m−1)/(m+1)).
func bigLn(x *big.Float) *big.Float {
	m := zero()
	e := x.MantExp(m)
	t := zero().Quo(zero().Sub(m, newBig(1)), zero().Add(m, newBig(1)))
	ln := zero().Mul(newBig(2), atanh(t))
	return ln.Add(ln, zero().Mul(ln2, newBig(float64(e))))
}

// bigExp is e^x for |x| < 2²⁰: x = k·ln 2 + r, and e^r = (e^(r/256))^256 by Taylor's series.
func bigExp(x *big.Float) *big.Float {
	q, _ := zero().Quo(x, ln2).Int64()
	r := zero().Sub(x, zero().Mul(ln2, newBig(float64(q))))
	r.SetMantExp(r, -8)
	sum, term := newBig(1), newBig(1)
	for k := 1; !negligible(term); k++ {
		term.Mul(term, r)
		term.Quo(term, newBig(float64(k)))
		sum.Add(sum, term)
	}
	for range 8 {
		sum.Mul(sum, sum)
	}
	return sum.SetMantExp(sum, int(q))
}

// bigPow is base^(num/den) for base > 0.
func bigPow(base float64, num, den int64) *big.Float {
	e := zero().Mul(bigLn(newBig(base)), newBig(float64(num)))
	return bigExp(e.Quo(e, newBig(float64(den))))
}

// bigPi is π by Machin's formula, 16·atan(1/5) − 4·atan(1/239).
func bigPi() *big.Float {
	a := zero().Mul(newBig(16), atanInv(5))
	return a.Sub(a, zero().Mul(newBig(4), atanInv(239)))
}

// atanInv is atan(1/n) = Σ (−1)^k/((2k+1)·n^(2k+1)).
func atanInv(n float64) *big.Float {
	sum, power, square := zero(), zero().Quo(newBig(1), newBig(n)), newBig(n*n)
	for k := 1; !negligible(power); k += 2 {
		term := zero().Quo(power, newBig(float64(k)))
		if k%4 == 3 {
			term.Neg(term)
		}
		sum.Add(sum, term)
		power.Quo(power, square)
	}
	return sum
}

// nearest rounds to float64.
func nearest(x *big.Float) float64 {
	f, _ := x.Float64()
	return f
}
