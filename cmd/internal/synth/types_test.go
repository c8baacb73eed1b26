package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"jns/kernels/tile"
)

// Blocks are random, so that all of a type's codes occur, and their numbers are of the size asked for.
func TestBlocksOfEveryTypeAreRandomAndUsable(t *testing.T) {
	const blocks, deviation = 200, 0.05
	require.Greater(t, len(tile.Codecs()), 25)
	for _, c := range tile.Codecs() {
		m := &model{name: "x", codec: c}
		w := m.typed(tensor{name: "w"}, blocks*c.Elems, deviation)
		require.Len(t, w.data, blocks*c.Bytes)
		require.Equal(t, w, m.typed(tensor{name: "w"}, blocks*c.Elems, deviation), "the same for ever")
		seen := map[string]bool{}
		for at := 0; at < len(w.data); at += c.Bytes {
			b := w.data[at : at+c.Bytes]
			seen[string(b)] = true
			if c.Float() {
				var v [1]float32
				c.Floats(v[:], b)
				require.Less(t, v[0]*v[0], float32(25*deviation*deviation), c.Name)
				continue
			}
			require.True(t, within(rms(c, b), deviation), c.Name)
		}
		require.Greater(t, len(seen), blocks*3/4, c.Name)
	}
}
