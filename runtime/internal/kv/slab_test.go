package kv

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A short session asks for little memory, a long one for whole large pages, and never for much more than it has.
func TestMemoryIsAskedForInWholeLargePagesOnceASessionIsLong(t *testing.T) {
	s := NewStore([]Shape{{KVHeads: 3, KeyDim: 64, ValDim: 64}})
	var asked []int
	total := 0
	s.SetMemory(func(n int) ([]byte, error) {
		asked = append(asked, n)
		total += n
		require.LessOrEqual(t, n, max(largePage, int(s.bytes)/2), "beside what is there")
		return make([]byte, n), nil
	})
	c := s.NewCache(1 << 20)
	for range 2000 {
		_, err := c.Extend(Chunk)
		require.NoError(t, err)
		require.LessOrEqual(t, c.Bytes(), total)
	}
	require.Equal(t, slabBytes, asked[0])
	large := asked[len(asked)-1]
	require.Zero(t, large%largePage)
	require.Greater(t, large, largePage)
	for _, n := range asked {
		require.True(t, n == slabBytes || n%largePage == 0, n)
	}
}
