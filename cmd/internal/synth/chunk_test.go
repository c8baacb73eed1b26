package main

import (
	"context"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler"
	"jns/runtime/engine"
)

// chunkModel is the least that Llama 4 can be: layers of three in four rotate and see chunks of 8192 positions, so it has four; one head of eight. Scores are larger than usual,
// so that it shows what they are multiplied by.
func chunkModel() *model {
	m := newModel("llama4")
	m.size = size{layers: 4, embd: 32, heads: 1, kvHeads: 1, dim: 8, ff: 32, vocab: 128, context: 8208}
	recipes["llama4"](m)
	m.set("attention.scale", 1.0)
	return m
}

// chunkReference has seen tokens. Nobody sees what the last layer makes of them but its keys and values: only those are computed.
func chunkReference(m *model, tokens []int32) *reference {
	f := forms["llama4"]
	f.scale = 1
	f.freqs = func(m *model, l int) ([]float64, float64) {
		if l%4 == 3 {
			return nil, 1
		}
		return plainFreqs(int(m.dim), 1e4), 1
	}
	mixture := *f.mix
	mixture.mixer = func(r *reference, l, pos int, x []float64) []float64 {
		if l < 3 || pos >= len(tokens) {
			return bareNorms(r, l, pos, x)
		}
		r.keys[l], r.vals[l] = append(r.keys[l], r.mul("blk.3.attn_k", x)), append(r.vals[l], r.mul("blk.3.attn_v", x))
		return make([]float64, len(x))
	}
	f.mix = &mixture
	r := newReference(m, f)
	for i, token := range tokens {
		r.step(int(token), i)
	}
	return r
}

// goesOn gives the logits after tokens at positions from first on, computed as change makes it, and leaves r as it is.
func (r *reference) goesOn(tokens []int32, first int, change func(r *reference)) [][]float64 {
	c := *r
	c.keys, c.vals = maps.Clone(r.keys), maps.Clone(r.vals)
	for l := range c.keys { // appended to, so the rows behind are its own
		c.keys[l], c.vals[l] = slices.Clip(c.keys[l]), slices.Clip(c.vals[l])
	}
	change(&c)
	var out [][]float64
	for i, token := range tokens {
		out = append(out, c.step(int(token), first+i))
	}
	return out
}

// Llama 4's chunks end at position 8191, and from there on the queries of the layers that see everything grow.
func TestPositionsBeyondAChunk(t *testing.T) {
	t.Parallel()
	const first, n = 8188, 8201
	m, dir := chunkModel(), t.TempDir()
	src, path := filepath.Join(dir, "m.gguf"), filepath.Join(dir, "m.jns")
	require.NoError(t, os.WriteFile(src, m.bytes(), 0o600))
	_, err := compiler.Compile(context.Background(), compiler.Options{Source: src, Output: path})
	require.NoError(t, err)
	e, err := engine.Open(path, engine.Options{Threads: 2, Context: n})
	require.NoError(t, err)
	defer e.Close()
	tokens := someTokens(n)
	s := e.NewSession()
	defer s.Close()
	eval := func(s *engine.Session, tokens []int32) (out [][]float32) {
		require.NoError(t, s.Eval(context.Background(), tokens, func(int) bool { return true }, func(_ int, l []float32) error {
			out = append(out, slices.Clone(l))
			return nil
		}))
		return out
	}
	require.NoError(t, s.Eval(context.Background(), tokens[:first], nil, nil))
	single := s.Fork()
	defer single.Close()
	got := eval(s, tokens[first:])
	require.Len(t, got, n-first)
	for i := range got { // a batch across the end of the chunk, and each position for itself
		require.Equal(t, got[i:i+1], eval(single, tokens[first+i:first+i+1]), "position %d", first+i)
	}
	whole := e.NewSession()
	defer whole.Close()
	var across []float32
	require.NoError(t, whole.Eval(context.Background(), tokens, nil, func(_ int, l []float32) error {
		across = slices.Clone(l)
		return nil
	}))
	require.Equal(t, got[len(got)-1], across)

	r := chunkReference(m, tokens[:first])
	want := r.goesOn(tokens[first:], first, func(*reference) {})
	for i := range want {
		requireNear(t, want[i], got[i], first+i)
	}
	// Each mistake that could be made here shows.
	growth := r.temper
	for name, mistake := range map[string]func(r *reference){
		"no growth":               func(r *reference) { r.temper = nil },
		"growth a position later": func(r *reference) { r.temper = func(l, pos int) float64 { return growth(l, pos-1) } },
		"growth everywhere":       func(r *reference) { r.temper = func(_, pos int) float64 { return growth(3, pos) } },
		"no chunks":               func(r *reference) { r.chunk = 0 },
		"longer chunks":           func(r *reference) { r.chunk = 8193 },
		"windows": func(r *reference) {
			r.chunk = 0
			r.window = func(_ *model, l int) int { return []int{8192, 8192, 8192, 0}[l] }
		},
	} {
		most := 0.0
		for i, l := range r.goesOn(tokens[first:], first, mistake) {
			most = max(most, distance(want[i], l))
		}
		require.Greater(t, most, 2*bound, name)
	}
}

// distance is the largest difference of two rows of logits, by the deviation of the first.
func distance(want, got []float64) float64 {
	mean, square, most := 0.0, 0.0, 0.0
	for _, v := range want {
		mean += v / float64(len(want))
	}
	for i, v := range want {
		square += (v - mean) * (v - mean) / float64(len(want))
		most = max(most, math.Abs(v-got[i]))
	}
	return most / math.Sqrt(square)
}
