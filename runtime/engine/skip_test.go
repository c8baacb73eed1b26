package engine

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExpertsAreLeftOutOnlyWhereAskedForAndScarce(t *testing.T) {
	path := compiled(t, streamModels[0])
	smallBase(t)
	o := Options{Context: 64, Batch: 8, Threads: 2}
	least, all := granted(t, path, o)
	exact, _ := evaluated(t, path, o)
	o.Memory = least
	_, whole := evaluated(t, path, o)
	require.Nil(t, whole.Stream.Skip)

	o.Skip = 0.9
	first, r := evaluated(t, path, o)
	require.Less(t, float64(r.Stream.Cache.Frames)/float64(r.Stream.Cache.Slots), skipShare)
	s := r.Stream.Skip
	require.Equal(t, float64(float32(0.9)), s.Below)
	require.Positive(t, s.Skipped)
	require.Less(t, s.Skipped, s.Chosen)
	require.True(t, s.Part > 0 && s.Part < 1 && s.Weight > 0 && s.Weight < 0.5, "%+v", s)
	require.InDelta(t, float64(s.Skipped)/float64(s.Chosen), s.Part, 1e-12)
	require.False(t, equal(exact, first))
	require.Less(t, r.Stream.Cache.Wanted, whole.Stream.Cache.Wanted, "what is left out is not read")
	for _, v := range first {
		require.False(t, math.IsNaN(float64(v)) || math.IsInf(float64(v), 0))
	}
	again, _ := evaluated(t, path, o)
	require.True(t, equal(first, again), "what the cache holds does not depend on time")
	o.IO, o.Threads = "pread", 1
	again, _ = evaluated(t, path, o)
	require.True(t, equal(first, again))

	o.Memory = (least + all) / 2
	got, r := evaluated(t, path, o)
	require.GreaterOrEqual(t, float64(r.Stream.Cache.Frames)/float64(r.Stream.Cache.Slots), skipShare)
	require.Zero(t, r.Stream.Skip.Below)
	require.Zero(t, r.Stream.Skip.Skipped)
	require.True(t, equal(exact, got))
	o.Memory = 0
	got, _ = evaluated(t, path, o)
	require.True(t, equal(exact, got))
	for _, bad := range []float64{-0.1, 1, math.NaN()} {
		o.Skip = bad
		_, err := Open(path, o)
		require.ErrorIs(t, err, ErrOption)
	}
}
