package main

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/runtime/engine"
)

// Whatever a model keeps from token to token – keys and values, windows, recurrent states, short convolutions – a token takes no memory of its own.
func TestATokenTakesNoAllocation(t *testing.T) {
	for i, name := range slices.Sorted(maps.Keys(recipes)) {
		if _, embeds := encoders[name]; embeds || name == "glm-dsa+chosen" { // whose sessions end after 40 tokens
			continue
		}
		t.Run(name, func(t *testing.T) {
			_, path := compiledAs(t, name, true)
			e, err := engine.Open(path, engine.Options{Threads: 1 + i%2, KV: []string{engine.KVF16, engine.KVQ8}[i/2%2], Context: 160, Batch: 16})
			require.NoError(t, err)
			defer e.Close()
			if e.Embeds() || e.Scores() {
				t.Skip("it decodes nothing")
			}
			s := e.NewSession()
			defer s.Close()
			ctx, one := context.Background(), []int32{1}
			each := func(int, []float32) error { return nil }
			token := func() {
				one[0] = (one[0]*5 + 7) % 128
				if err := s.Eval(ctx, one, nil, each); err != nil {
					t.Fatal(err)
				}
			}
			for range 66 { // into a page's middle: a page is 64 positions, and a new one is memory
				token()
			}
			require.Zero(t, testing.AllocsPerRun(50, token))
		})
	}
}
