package pack

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBlocksKeepBytes writes a file in pieces of all sizes, by several goroutines, in any order: zeros that begin a block must not come after what belongs there.
func TestBlocksKeepBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 8 {
		size := blockBytes*3 + r.IntN(blockBytes)
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(r.Uint32()) | 1
		}
		type piece struct{ from, to int }
		var pieces []piece
		for at := 0; at < size; {
			n := min(1+r.IntN([]int{100, 70_000, blockBytes, 3 * blockBytes}[r.IntN(4)]), size-at)
			if r.IntN(5) == 0 { // a gap, as between slots
				clear(want[at : at+n])
			} else {
				pieces = append(pieces, piece{at, at + n})
			}
			at += n
		}
		r.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		f, err := os.Create(filepath.Join(t.TempDir(), "f"))
		require.NoError(t, err)
		require.NoError(t, f.Truncate(int64(size)))
		out := &blocks{out: f, size: int64(size), whole: make([]atomic.Bool, 4)}
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := w; i < len(pieces); i += 4 {
					p := pieces[i]
					n, err := out.WriteAt(want[p.from:p.to], int64(p.from))
					if n != p.to-p.from || err != nil {
						t.Errorf("round %d: %d bytes at %d: %d written, %v", round, p.to-p.from, p.from, n, err)
					}
				}
			})
		}
		wg.Wait()
		got, err := os.ReadFile(f.Name())
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "round %d", round)
		require.NoError(t, f.Close())
	}
}

type refuses struct{ after int }

var errFull = errors.New("full")

func (r *refuses) WriteAt(p []byte, _ int64) (int, error) {
	if r.after--; r.after < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// TestBlocksPassErrorsOn: of the zeros, and of the piece.
func TestBlocksPassErrorsOn(t *testing.T) {
	for after := range 2 {
		b := &blocks{out: &refuses{after}, size: blockBytes, whole: make([]atomic.Bool, 1)}
		_, err := b.WriteAt(make([]byte, 10), 5)
		require.ErrorIs(t, err, errFull)
	}
}
