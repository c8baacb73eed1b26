package scalar

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSoftplusAndSigmoidAreClose(t *testing.T) {
	worst := 0.0
	sweep(80, func(x float32) {
		want := math.Max(float64(x), 0) + math.Log1p(math.Exp(-math.Abs(float64(x))))
		worst = max(worst, math.Abs(float64(Softplus(x))-want)/want)
		s := 1 / (1 + math.Exp(-float64(x)))
		require.InDelta(t, s, Sigmoid(x), 3e-7)
	})
	t.Logf("worst relative %.3g", worst)
	require.Less(t, worst, 4e-7)
	require.Equal(t, float32(200), Softplus(200))
	require.True(t, math.IsNaN(float64(Softplus(float32(math.NaN())))))
	require.Zero(t, Softplus(float32(math.Inf(-1))))
}

func TestSwigluOAIClampsBothSides(t *testing.T) {
	require.Equal(t, SwigluOAI(7, 7), SwigluOAI(100, 100))
	require.Equal(t, SwigluOAI(-3, -7), SwigluOAI(-3, -100))
	require.InDelta(t, 2/(1+math.Exp(-3.404))*1.5, SwigluOAI(2, 0.5), 1e-6)
}

func numbers(r *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64())
	}
	return out
}

// The steps against sums in float64.
func TestRecurrentStepsAgreeWithFloat64(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n, p = 11, 19
	s, x, b, c := numbers(r, n*p), numbers(r, p), numbers(r, n), numbers(r, n)
	before, y := append([]float32(nil), s...), make([]float32, p)
	ScanStep(s, x, b, c, 0.5, y)
	for i := range p {
		sum := 0.0
		for k := range n {
			v := float64(before[k*p+i])*0.5 + float64(x[i])*float64(b[k])
			require.InDelta(t, v, s[k*p+i], 1e-5)
			sum += v * float64(c[k])
		}
		require.InDelta(t, sum, y[i], 1e-5)
	}

	copy(s, before)
	a, delta := numbers(r, n*p), numbers(r, p)
	ScanChannels(s, a, p, delta, x, b, c, y)
	whole := append([]float32(nil), y...)
	for i := range p {
		sum := 0.0
		for k := range n {
			v := float64(before[k*p+i])*math.Exp(float64(delta[i])*float64(a[k*p+i])) + float64(x[i])*float64(b[k])
			sum += v * float64(c[k])
		}
		require.InDelta(t, sum, y[i], 1e-4*(1+math.Abs(sum)))
	}
	copy(s, before)
	ScanChannels(s[:], a, p, delta[:7], x[:7], b, c, y[:7])
	ScanChannels(s[7:], a[7:], p, delta[7:], x[7:], b, c, y[7:])
	require.Equal(t, whole, y, "channels may be cut anywhere")

	for _, decays := range []int{1, n} {
		copy(s, before)
		q, k, v, g := numbers(r, n), numbers(r, n), numbers(r, p), make([]float32, decays)
		for i := range g {
			g[i] = r.Float32()
		}
		d, o := make([]float32, p), make([]float32, p)
		DeltaStep(s, q, k, v, g, 0.7, d, o)
		for i := range p {
			said, sum := 0.0, 0.0
			for j := range n {
				said += float64(before[j*p+i]) * float64(g[j%decays]) * float64(k[j])
			}
			for j := range n {
				w := float64(before[j*p+i])*float64(g[j%decays]) + float64(k[j])*(float64(v[i])-said)*float64(float32(0.7))
				require.InDelta(t, w, s[j*p+i], 1e-5)
				sum += w * float64(q[j])
			}
			require.InDelta(t, sum, o[i], 1e-4)
		}
	}
}
