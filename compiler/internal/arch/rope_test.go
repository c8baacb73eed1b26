package arch

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// intPow is x^n exactly enough: integer powers by multiplication at a precision far beyond the comparison's needs.
func intPow(x float64, n int) *big.Float {
	p := new(big.Float).SetPrec(2000).SetInt64(1)
	f := new(big.Float).SetPrec(2000).SetFloat64(x)
	for range n {
		p.Mul(p, f)
	}
	return p
}

// f is the float64 nearest to base^(−2i/n) exactly if (f−½ulp)^n ≤ base^(−2i) ≤ (f+½ulp)^n, which needs integer powers only.
func requireNearestRoot(t require.TestingT, f, base float64, i, n int) {
	half := func(to float64) *big.Float {
		a := new(big.Float).SetPrec(2000).SetFloat64(f)
		a.Add(a, new(big.Float).SetFloat64(math.Nextafter(f, to)))
		return a.Quo(a, big.NewFloat(2))
	}
	power := func(x *big.Float) *big.Float {
		p := new(big.Float).SetPrec(2000).SetInt64(1)
		for range n {
			p.Mul(p, x)
		}
		return p.Mul(p, intPow(base, 2*i))
	}
	one := big.NewFloat(1)
	require.LessOrEqual(t, power(half(0)).Cmp(one), 0, "base %v i %d n %d: %v is too large", base, i, n, f)
	require.GreaterOrEqual(t, power(half(math.Inf(1))).Cmp(one), 0, "base %v i %d n %d: %v is too small", base, i, n, f)
}

func TestFrequenciesAreTheNearestFloat64(t *testing.T) {
	for _, base := range []float64{10000, 100000, 500000, 1e6, 1e7} {
		for _, n := range []int{32, 64, 128, 256} {
			table := Rotation{Dims: uint32(n), Base: base, Factor: 1, Magnitude: 1}.Table()
			require.Len(t, table.Freqs, n/2)
			require.Equal(t, 1.0, table.Freqs[0])
			for i := 1; i < n/2; i += 1 + n/32 {
				requireNearestRoot(t, table.Freqs[i], base, i, n)
			}
		}
	}
}

func TestFrequenciesOfAnyBaseAreTheNearestFloat64(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.Float64Range(1.5, 1e8).Draw(t, "base")
		n := 2 * rapid.IntRange(1, 64).Draw(t, "pairs")
		i := rapid.IntRange(0, n/2-1).Draw(t, "i")
		requireNearestRoot(t, nearest(bigPow(base, int64(-2*i), int64(n))), base, i, n)
	})
}

func TestConstantsHaveTheirKnownDigits(t *testing.T) {
	require.Equal(t, "0.693147180559945309417232121458176568", ln2.Text('f', 36))
	require.Equal(t, "3.141592653589793238462643383279502884", bigPi().Text('f', 36))
	require.Equal(t, "2.718281828459045235360287471352662498", bigExp(newBig(1)).Text('f', 36))
	require.Equal(t, "2.302585092994045684017991454684364208", bigLn(newBig(10)).Text('f', 36))
}

func TestSoftplusIsTheLogarithmOfOneAndThePower(t *testing.T) {
	for _, x := range []float32{-99, -20, -1, 0, 0.5, 1, 20, 99} {
		want := math.Log1p(math.Exp(float64(x)))
		require.InDelta(t, want, softplus(x), 1e-15*math.Max(1, want))
	}
	require.Equal(t, 101.0, softplus(101))
	require.Zero(t, softplus(float32(math.Inf(-1))))
	require.True(t, math.IsNaN(softplus(float32(math.NaN()))))
	require.Equal(t, math.Inf(1), softplus(float32(math.Inf(1))))
}

func TestLlama3FactorsDivideFrequencies(t *testing.T) {
	plain := Rotation{Dims: 8, Base: 500000, Factor: 1, Magnitude: 1}
	scaled := plain
	scaled.Factors = []float32{1, 2, 8, 32}
	for i, f := range scaled.Table().Freqs {
		require.Equal(t, plain.Table().Freqs[i]/float64(scaled.Factors[i]), f, "powers of two divide exactly")
	}
}

func TestLinearScalingDividesEveryFrequency(t *testing.T) {
	r := Rotation{Dims: 64, Base: 1e6, Factor: 8, Scaling: ScaleLinear, Magnitude: 1}
	plain := Rotation{Dims: 64, Base: 1e6, Factor: 1, Magnitude: 1}.Table()
	for i, f := range r.Table().Freqs {
		require.Equal(t, plain.Freqs[i]/8, f)
	}
}

// The formula of the YaRN paper in float64 of package math, which is right to a few last bits here.
func TestYaRNAgreesWithItsFormula(t *testing.T) {
	r := Rotation{Dims: 64, Base: 10000, Factor: 4, Scaling: ScaleYaRN, OrigContext: 1024, BetaFast: 32, BetaSlow: 1, Ext: 1, Magnitude: 1}
	turns := func(beta float64) float64 { return 64 * math.Log(1024/(beta*2*math.Pi)) / (2 * math.Log(10000)) }
	low, high := math.Floor(turns(32)), math.Ceil(turns(1))
	require.Greater(t, low, 0.0)
	require.Less(t, high, 31.0, "the case has all three parts: kept, mixed, stretched")
	table := r.Table()
	for i, f := range table.Freqs {
		plain := math.Pow(10000, -float64(2*i)/64)
		keep := 1 - math.Min(1, math.Max(0, (float64(i)-low)/(high-low)))
		require.InEpsilon(t, plain/4*(1-keep)+plain*keep, f, 1e-14)
	}
	require.InEpsilon(t, 1+0.1*math.Log(4), float64(table.MScale), 1e-7)
	require.Equal(t, 1.0, table.Freqs[0], "the fastest pair is never stretched")
}

func TestYaRNWithoutStretchingIsPlain(t *testing.T) {
	r := Rotation{Dims: 64, Base: 10000, Factor: 1, Scaling: ScaleYaRN, OrigContext: 1024, BetaFast: 32, BetaSlow: 1, Ext: 1, Magnitude: 1}
	plain := Rotation{Dims: 64, Base: 10000, Factor: 1, Magnitude: 1}
	require.Equal(t, plain.Table(), r.Table())
}

func TestKnownExtrasMatchWholeNames(t *testing.T) {
	for name, want := range map[string]bool{
		"rope_freqs.weight": true, "blk.3.attn_rot_embd": true, "blk.9.nextn.eh_proj.weight": true,
		"rope_freqs.weight2": false, "output.weight": false, "": false,
	} {
		_, ok := knownExtra(name)
		require.Equal(t, want, ok, name)
	}
}
