package kv

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWindowGivesWholePagesBackAndTruncateKnowsIt(t *testing.T) {
	s := NewStore([]Shape{{KVHeads: 1, KeyDim: 8, ValDim: 8, Window: 70}, {KVHeads: 2, KeyDim: 8, ValDim: 8}})
	c := s.NewCache(1000)
	for i := 0; i < 300; i++ {
		_, err := c.Extend(1)
		require.NoError(t, err)
		c.Slide()
		for state, w := range []int{70, 0} {
			first := 0
			if w > 0 {
				first = max(0, c.Len()-w+1) // what the next query sees
			}
			for p := first; p < c.Len(); p++ {
				require.NotNil(t, c.Page(state, p/Chunk), "state %d position %d of %d", state, p, c.Len())
			}
		}
	}
	require.Nil(t, c.Page(0, 0))
	require.ErrorIs(t, c.Truncate(100), ErrGone)
	require.NoError(t, c.Truncate(290))
	require.Equal(t, 290, c.Len())
	_, err := c.Extend(1000)
	require.ErrorIs(t, err, ErrFull)
}

func TestForkSharesPagesUntilWritten(t *testing.T) {
	s := NewStore([]Shape{{KVHeads: 1, KeyDim: 8, ValDim: 8}})
	a := s.NewCache(1000)
	_, err := a.Extend(100)
	require.NoError(t, err)
	a.pages[0][1].mem[5] = 42
	b := a.Fork()
	require.Same(t, a.Page(0, 1), b.Page(0, 1))
	_, err = b.Extend(1)
	require.NoError(t, err)
	require.NotSame(t, a.Page(0, 1), b.Page(0, 1))
	require.Same(t, a.Page(0, 0), b.Page(0, 0))
	require.Equal(t, uint16(42), b.Page(0, 1).mem[5])
	a.Close()
	require.NotNil(t, b.Page(0, 0))
	b.Close()
	require.Len(t, s.free[0], 3)
}
