package engine

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler"
)

// longRun gives the logits of some positions of a prompt over several pages, and of tokens after it in the session and in a fork of it.
func longRun(t *testing.T, path string, o Options) ([]float32, Receipt, int) {
	e, err := Open(path, o)
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	s := e.NewSession()
	defer s.Close()
	var out []float32
	each := func(_ int, l []float32) error { out = append(out, l...); return nil }
	prompt := make([]int32, 150)
	for i := range prompt {
		prompt[i] = int32(i * 37 % e.Vocab())
	}
	require.NoError(t, s.Eval(context.Background(), prompt, func(i int) bool { return i%29 == 0 || i > 146 }, each))
	f := s.Fork()
	defer f.Close()
	require.NoError(t, f.Eval(context.Background(), []int32{9, 8, 7}, nil, each))
	for i := range 3 {
		require.NoError(t, s.Eval(context.Background(), []int32{int32(i)}, nil, each))
	}
	return out, e.Receipt(), s.cache.Bytes()
}

func TestKeysAndValuesInEightBitsAreOneDefinitionAndTheReceiptSaysSo(t *testing.T) {
	for _, name := range steadyModels {
		path := filepath.Join(t.TempDir(), "m.jns")
		_, err := compiler.Compile(context.Background(), compiler.Options{Source: "../../testdata/models/tiny/" + name + ".gguf", Output: path})
		require.NoError(t, err)
		f16, rec, full := longRun(t, path, Options{Context: 256})
		require.Equal(t, KVF16, rec.KV)
		var want []float32
		for _, set := range KernelSets() {
			for _, o := range []Options{{Threads: 1}, {Threads: 2, Batch: 7}, {Threads: 2, Batch: 64}} {
				if set == "scalar" && o.Batch != 64 {
					continue
				}
				o.Context, o.KV, o.Kernels = 256, KVQ8, set
				got, rec, size := longRun(t, path, o)
				require.Equal(t, KVQ8, rec.KV)
				require.Less(t, float64(size), 0.6*float64(full))
				if want == nil {
					want = got
				}
				require.Equal(t, len(want), len(got))
				for i := range want {
					require.Equal(t, math.Float32bits(want[i]), math.Float32bits(got[i]), "%s, %d threads, batch %d, number %d", set, o.Threads, o.Batch, i)
				}
			}
		}
		var diff, sum float64
		for i := range f16 {
			d := float64(f16[i] - want[i])
			diff, sum = diff+d*d, sum+float64(f16[i])*float64(f16[i])
		}
		require.Positive(t, diff)
		t.Logf("%s: eight bits move the logits by %.4f of their size", name, math.Sqrt(diff/sum))
		require.Less(t, math.Sqrt(diff/sum), 0.1) // a mixture may choose other experts
	}
	_, err := Options{KV: "q4_0"}.resolve(512)
	require.ErrorIs(t, err, ErrOption)
}
