package engine

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/runtime/internal/store"
)

// A prompt that is cancelled while its experts, or its matrices, are read ends with its step and not with its batch; the same engine gives the right bits afterwards.
func TestAPromptIsCancelledBetweenReads(t *testing.T) {
	for _, m := range streamModels[:2] {
		path := compiled(t, m)
		smallBase(t)
		o := Options{Context: 64, Batch: 32, Threads: 2}
		want, _ := evaluated(t, path, o)
		o.Memory, _ = granted(t, path, o)
		for _, io := range []string{"uring", "pread", "mmap"} {
			t.Run(m+" "+io, func(t *testing.T) {
				nothingLeft(t)
				o := o
				o.IO = io
				e, err := Open(path, o)
				require.NoError(t, err)
				prompt := make([]int32, 30) // one batch
				for i := range prompt {
					prompt[i] = int32(i * 37 % e.Vocab())
				}
				stopped := 0
				for at := int64(1); at < 40; at += 3 {
					ctx, cancel := context.WithCancel(t.Context())
					var reads atomic.Int64
					e.stream.backend.Inject(store.Fault{Reorder: at%2 == 0, Result: func(_, bytes int) int {
						if reads.Add(1) == at {
							cancel()
						}
						return bytes
					}})
					s := e.NewSession()
					if err := s.Eval(ctx, prompt, nil, nil); err != nil {
						require.ErrorIs(t, err, context.Canceled)
						require.Empty(t, s.Tokens(), "what a batch has stored is of no use")
						stopped++
					}
					s.Close()
					cancel()
					e.stream.backend.Inject(store.Fault{})
					got, err := evaluate(e)
					require.NoError(t, err)
					require.True(t, equal(want, got), "after read %d", at)
				}
				require.Greater(t, stopped, 2)
				require.NoError(t, e.Close())
			})
		}
	}
}
