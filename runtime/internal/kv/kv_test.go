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

func TestPagesBeyondTheLimitAreRefusedAndNothingIsLost(t *testing.T) {
	shapes := []Shape{{KVHeads: 1, KeyDim: 8, ValDim: 8}, {KVHeads: 2, KeyDim: 8, ValDim: 8}}
	s := NewStore(shapes)
	page := shapes[0].PageBytes() + shapes[1].PageBytes()
	s.SetLimit(uint64(3*page + shapes[0].PageBytes()))
	a := s.NewCache(10000)
	_, err := a.Extend(Chunk + 3)
	require.NoError(t, err)
	b := a.Fork()
	_, err = b.Extend(1) // a page of its own
	require.NoError(t, err)
	_, err = a.Extend(Chunk) // the first state's page fits, the second's does not
	require.ErrorIs(t, err, ErrMemory)
	require.Equal(t, Chunk+3, a.Len())
	require.Equal(t, 2*page, a.Bytes())
	b.Close()
	first, err := a.Extend(Chunk)
	require.NoError(t, err, "what was given back is used again")
	require.Equal(t, Chunk+3, first)

	s = NewStore([]Shape{{KVHeads: 4096, KeyDim: 4096, ValDim: 4096}})
	s.SetLimit(1 << 20)
	_, err = s.NewCache(1).Extend(1)
	require.ErrorIs(t, err, ErrMemory)
}
