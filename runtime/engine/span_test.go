package engine

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler"
)

// deepRun gives the logits of tokens far behind the start of a session: one by one, several at once, and of two sessions that are decoded together.
func deepRun(t *testing.T, path string, o Options, depth int) []float32 {
	e, err := Open(path, o)
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	var out []float32
	each := func(_ int, l []float32) error { out = append(out, l...); return nil }
	ids := make([]int32, depth)
	for i := range ids {
		ids[i] = int32(i * 37 % e.Vocab())
	}
	s := e.NewSession()
	defer s.Close()
	for n := range depth / 300 { // the second and later parts find pages that others have filled
		require.NoError(t, s.Eval(context.Background(), ids[n*300:(n+1)*300], func(int) bool { return false }, each))
	}
	for i := range 3 {
		require.NoError(t, s.Eval(context.Background(), ids[i:i+1], nil, each))
	}
	for n := 2; n <= 16; n += 7 {
		require.NoError(t, s.Eval(context.Background(), ids[:n], nil, each))
	}
	return out
}

// Attention over few rows parts the pages of a head among workers: how many there are must not change a bit, whatever they find done when they take a span.
func TestPagesPartedAmongWorkersGiveTheSameBits(t *testing.T) {
	for _, name := range steadyModels {
		path := filepath.Join(t.TempDir(), "m.jns")
		_, err := compiler.Compile(context.Background(), compiler.Options{Source: "../../testdata/models/tiny/" + name + ".gguf", Output: path})
		require.NoError(t, err)
		for _, kv := range []string{KVF16, KVQ8} {
			const depth = 1500
			o := Options{Threads: 1, Context: depth + 64, KV: kv}
			want := deepRun(t, path, o, depth)
			for _, o.Threads = range []int{2, 3, 5} {
				got := deepRun(t, path, o, depth)
				require.Equal(t, len(want), len(got))
				for i := range want {
					require.Equal(t, math.Float32bits(want[i]), math.Float32bits(got[i]), "%s, %s, %d threads, number %d", name, kv, o.Threads, i)
				}
			}
		}
	}
}

// Where few rows' logits are wanted, the last layer leaves out what only the others need: what is wanted must not change a bit.
func TestRowsThatNobodyWantsChangeNoBit(t *testing.T) {
	for _, name := range steadyModels {
		path := filepath.Join(t.TempDir(), "m.jns")
		_, err := compiler.Compile(context.Background(), compiler.Options{Source: "../../testdata/models/tiny/" + name + ".gguf", Output: path})
		require.NoError(t, err)
		for threads := 1; threads <= 3; threads++ {
			e, err := Open(path, Options{Threads: threads, Context: 512})
			require.NoError(t, err)
			ids := make([]int32, 300)
			for i := range ids {
				ids[i] = int32(i * 37 % e.Vocab())
			}
			logits := func(wanted func(i int) bool) map[int][]float32 {
				s, out := e.NewSession(), map[int][]float32{}
				defer s.Close()
				require.NoError(t, s.Eval(context.Background(), ids, wanted, func(i int, l []float32) error {
					out[i] = append([]float32(nil), l...)
					return nil
				}))
				return out
			}
			all := logits(func(int) bool { return true })
			for _, some := range []func(i int) bool{
				func(i int) bool { return i == len(ids)-1 },
				func(i int) bool { return i == 0 || i == 77 || i == 200 },
				func(i int) bool { return i%3 == 0 },
			} {
				for i, row := range logits(some) {
					for j := range row {
						require.Equal(t, math.Float32bits(all[i][j]), math.Float32bits(row[j]), "%s, %d threads, row %d, logit %d", name, threads, i, j)
					}
				}
			}
			require.NoError(t, e.Close())
		}
	}
}
