package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"jns/runtime/engine"
)

// At the last of these tokens this recipe is farther from exact arithmetic than any other is. What makes it so is that keys and values are halves: a reference that rounds nothing else
// is as far away, and a tenth of that or less from what is computed. (llama.cpp in exact arithmetic is within 0.000003 of the reference that rounds nothing.)
func TestWhatHalvesOfKeysAndValuesMake(t *testing.T) {
	const name = "laguna+elements"
	m, path := compiled(t, name)
	tokens := []int32{82, 38, 101, 12, 18, 24, 93, 14, 54, 9, 22, 111, 120}
	exact, rounded := newReference(m, forms[name]), newReference(m, forms[name])
	rounded.stored = func(v float64) float64 { return fromHalf(half(float32(v))) }
	most := 0.0
	for i, got := range logits(t, path, engine.Options{}, tokens) {
		want, near := exact.step(int(tokens[i]), i), rounded.step(int(tokens[i]), i)
		ours := make([]float64, len(got))
		for j, v := range got {
			ours[j] = float64(v)
		}
		require.Less(t, distance(near, ours), bound/10, "position %d", i)
		most = max(most, distance(want, near))
	}
	require.Greater(t, most, bound)
}
