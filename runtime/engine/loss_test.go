package engine

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestExpAndLogAgreeWithTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-700, 700).Draw(t, "x")
		require.InEpsilon(t, math.Exp(x), exp64(x), 1e-14)
		y := math.Exp(x)
		if got := log64(y); math.Abs(x) > 1e-3 {
			require.InEpsilon(t, math.Log(y), got, 1e-13)
		}
	})
	require.Zero(t, exp64(-1e6))
	require.InDelta(t, math.Log(3), LogSumExp([]float32{0, 0, 0}), 1e-14)
	require.InDelta(t, 0, Divergence([]float32{1, 2, 3}, []float32{2, 3, 4}), 1e-14)
}
