package engine_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler"
	"jns/runtime/engine"
)

// ended is a context that is cancelled between the check before a batch and the batch itself.
type ended struct {
	context.Context
	asked int
}

func (e *ended) Err() error {
	if e.asked++; e.asked == 1 {
		return nil
	}
	return e.Context.Err()
}

// TestALongBatchEndsBetweenTwoSteps: a cancelled context ends it, and the session is what it was before.
func TestALongBatchEndsBetweenTwoSteps(t *testing.T) {
	out := filepath.Join(t.TempDir(), "tiny.jns")
	_, err := compiler.Compile(context.Background(), compiler.Options{Source: "../../testdata/models/tiny/jns-tiny.gguf", Output: out})
	require.NoError(t, err)
	for _, threads := range []int{1, 3} {
		e, err := engine.Open(out, engine.Options{Threads: threads, Context: 256})
		require.NoError(t, err)
		defer e.Close()
		last := func(s *engine.Session, tokens []int32) (logits []float32) {
			require.NoError(t, s.Eval(context.Background(), tokens, nil, func(_ int, l []float32) error { logits = slices.Clone(l); return nil }))
			return logits
		}
		fresh, s := e.NewSession(), e.NewSession()
		defer fresh.Close()
		defer s.Close()
		first, more := []int32{1, 2, 3}, make([]int32, 100)
		last(s, first)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		require.ErrorIs(t, s.Eval(&ended{Context: ctx}, more, nil, nil), context.Canceled)
		require.Equal(t, first, s.Tokens())
		want := last(fresh, append(slices.Clone(first), more...))
		require.Equal(t, want, last(s, more))
	}
}
