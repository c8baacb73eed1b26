package main

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/runtime/engine"
)

// Recurrent states cannot go back: a session that shares only a part of a prompt starts again, one that goes on does not, and forks part.
func TestSessionsWithRecurrentStatesReuseForkAndStartAgain(t *testing.T) {
	for _, name := range []string{"mamba2", "jamba", "lfm2moe", "lfm2", "kimi-linear", "kimi-k3", "bailingmoe3", "qwen3next+old", "qwen35", "rwkv6", "rwkv7", "minimax-01"} {
		t.Run(name, func(t *testing.T) {
			_, path := compiled(t, name)
			tokens := someTokens(40)
			e, err := engine.Open(path, engine.Options{Threads: 1, Batch: 16})
			require.NoError(t, err)
			defer e.Close()
			run := func(s *engine.Session, tokens []int32) (last []float32) {
				require.NoError(t, s.Eval(context.Background(), tokens, nil, func(_ int, l []float32) error {
					last = slices.Clone(l)
					return nil
				}))
				return last
			}
			fresh := func(tokens []int32) []float32 {
				s := e.NewSession()
				defer s.Close()
				return run(s, tokens)
			}
			s := e.NewSession()
			defer s.Close()
			run(s, tokens[:20])
			f := s.Fork()
			defer f.Close()
			other := append(slices.Clone(tokens[:20]), 1, 2, 3)
			require.Equal(t, fresh(tokens), run(s, tokens[20:]))
			require.Equal(t, fresh(other), run(f, other[20:]))

			left, err := s.Reuse(append(slices.Clone(tokens), 5))
			require.NoError(t, err)
			require.Equal(t, []int32{5}, left, "a longer prompt goes on")
			require.Equal(t, fresh(append(slices.Clone(tokens), 5)), run(s, left))
			left, err = s.Reuse(other)
			require.NoError(t, err)
			require.Equal(t, other, left, "another prompt starts again")
			require.Equal(t, fresh(other), run(s, left))
			require.Error(t, s.Eval(context.Background(), []int32{9999}, nil, nil))
			left, err = s.Reuse(tokens)
			require.NoError(t, err)
			require.Equal(t, fresh(tokens), run(s, left))
		})
	}
}
