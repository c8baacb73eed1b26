package kv

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecurrentStatesStartAtZeroAndCannotGoBack(t *testing.T) {
	shapes := []Shape{{Recurrent: 5}, {KVHeads: 1, KeyDim: 8, ValDim: 8}}
	s := NewStore(shapes)
	c := s.NewCache(1000)
	grow := func(n int) []float32 {
		_, err := c.Extend(n)
		require.NoError(t, err)
		return c.Page(0, 0).Numbers(&shapes[0])
	}
	x := grow(100)
	require.Equal(t, make([]float32, 5), x)
	x[4] = 7
	require.Equal(t, float32(7), grow(100)[4])
	require.ErrorIs(t, c.Truncate(150), ErrGone)
	require.Equal(t, 200, c.Len())
	require.NoError(t, c.Truncate(200))
	require.Equal(t, float32(7), grow(1)[4])
	require.NoError(t, c.Truncate(0))
	require.Equal(t, make([]float32, 5), grow(1), "a page that comes again is zero")
	require.Equal(t, 20+shapes[1].PageBytes(), c.Bytes())
	c.Close()
	require.Zero(t, c.Bytes())
}

func TestForksOfRecurrentStatesPartWhenOneGoesOn(t *testing.T) {
	shapes := []Shape{{Recurrent: 3}}
	s := NewStore(shapes)
	a := s.NewCache(10)
	_, err := a.Extend(2)
	require.NoError(t, err)
	a.Page(0, 0).Numbers(&shapes[0])[1] = 5
	b := a.Fork()
	require.Same(t, a.Page(0, 0), b.Page(0, 0))
	_, err = b.Extend(1)
	require.NoError(t, err)
	b.Page(0, 0).Numbers(&shapes[0])[1]++
	require.Equal(t, float32(5), a.Page(0, 0).Numbers(&shapes[0])[1])
	require.Equal(t, float32(6), b.Page(0, 0).Numbers(&shapes[0])[1])
	c := a.Fork()
	require.NoError(t, a.Truncate(0))
	require.Equal(t, float32(5), c.Page(0, 0).Numbers(&shapes[0])[1])
}

func TestARecurrentStateThatDoesNotFitChangesNothing(t *testing.T) {
	s := NewStore([]Shape{{Recurrent: 16}})
	s.SetLimit(100)
	a := s.NewCache(10)
	_, err := a.Extend(3)
	require.NoError(t, err)
	b := a.Fork()
	_, err = b.Extend(1)
	require.ErrorIs(t, err, ErrMemory)
	require.Equal(t, 3, b.Len())
	require.Same(t, a.Page(0, 0), b.Page(0, 0))
	c := s.NewCache(10)
	_, err = c.Extend(1)
	require.ErrorIs(t, err, ErrMemory)
	require.Zero(t, c.Len())
}

func TestMarksAreNoNearerThanABatchIsLong(t *testing.T) {
	for batch, every := range map[int]int{1: 512, 512: 512, 2048: 2048} {
		s := NewStore([]Shape{{Recurrent: 3}})
		s.SetBatch(batch)
		c := s.NewCache(1 << 14)
		require.Equal(t, every, c.UntilMark(), batch)
		_, err := c.Extend(every - 100)
		require.NoError(t, err)
		require.Equal(t, 100, c.UntilMark())
		require.False(t, c.Due())
		_, err = c.Extend(100)
		require.NoError(t, err)
		require.True(t, c.Due())
		c.Close()
	}
	s := NewStore([]Shape{{KVHeads: 1, KeyDim: 8, ValDim: 8}}) // forgets nothing
	c := s.NewCache(1 << 14)
	require.Greater(t, c.UntilMark(), 1<<20)
	require.False(t, c.Due())
}
