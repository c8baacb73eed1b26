package scalar

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"jns/kernels/arg"
)

func TestRouteChoosesTheBestInOrderAndTiesByLowestID(t *testing.T) {
	ids, w := make([]int32, 3), make([]float32, 3)
	s := NewRouteScratch(5)
	a := arg.RouteArgs{Func: arg.RouteSoftmax, Experts: 5, Top: 3, Renormalise: true, MinSum: 6.1e-5, Scale: 1}
	Route(&a, []float32{1, 3, 3, 0, 2}, ids, w, &s)
	require.Equal(t, []int32{1, 2, 4}, ids)
	require.InDelta(t, 1, w[0]+w[1]+w[2], 1e-6)
	require.Equal(t, w[0], w[1])
	a.Func = arg.RouteSoftmaxChosen
	Route(&a, []float32{1, 3, 3, 0, 2}, ids, w, &s)
	require.InDelta(t, math.Exp(-1)/(2+math.Exp(-1)), float64(w[2]), 1e-6)
	a = arg.RouteArgs{Func: arg.RouteSigmoid, Experts: 6, Top: 2, Scale: 2, Groups: 3, TopGroups: 1, Bias: []float32{0, 0, 0, 0, 1, 1}}
	s = NewRouteScratch(6)
	Route(&a, []float32{5, 5, 1, 1, 0, -1}, ids[:2], w[:2], &s)
	require.Equal(t, []int32{4, 5}, ids[:2], "the bias decides the group")
	require.Equal(t, float32(1), w[0], "but not the weight")
}

func TestRouteGivesDifferentIDsInRangeWhateverGoesIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		groups := rapid.IntRange(1, 4).Draw(t, "groups")
		n := groups * rapid.IntRange(1, 8).Draw(t, "size")
		top := rapid.IntRange(1, n).Draw(t, "top")
		a := arg.RouteArgs{Func: arg.RouteFunc(rapid.IntRange(1, 3).Draw(t, "func")), Experts: n, Top: top, Renormalise: true, Scale: 1,
			Groups: groups, TopGroups: rapid.IntRange(1, groups).Draw(t, "topGroups")}
		x := make([]float32, n)
		for i := range x {
			x[i] = rapid.SampledFrom([]float32{0, 1, -1, 100, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}).Draw(t, "x")
		}
		ids, w := make([]int32, top), make([]float32, top)
		s := NewRouteScratch(n)
		Route(&a, x, ids, w, &s)
		seen := map[int32]bool{}
		for _, id := range ids {
			require.True(t, id >= 0 && int(id) < n && !seen[id])
			seen[id] = true
		}
	})
}

func TestSinkIsOneMoreTermOfTheSoftmax(t *testing.T) {
	o := []float32{2, 4}
	l := Sink(o, 1, 2, 3) // one query with max 1, sum 2, weighted sum {2,4}
	want := 2*math.Exp(-2) + 1
	require.InDelta(t, want, float64(l), 1e-6)
	require.InDelta(t, 2*math.Exp(-2), float64(o[0]), 1e-6)
}
