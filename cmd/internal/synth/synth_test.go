package main

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler"
	"jns/runtime/engine"
)

// compiled writes a recipe's model and compiles it.
func compiled(t *testing.T, name string) (*model, string) { return compiledAs(t, name, false) }

func compiledAs(t *testing.T, name string, quantised bool) (*model, string) {
	m := newModel(name)
	m.quantised = quantised
	recipes[name](m)
	dir := t.TempDir()
	src, out := filepath.Join(dir, "m.gguf"), filepath.Join(dir, "m.jns")
	require.NoError(t, os.WriteFile(src, m.bytes(), 0o600))
	_, err := compiler.Compile(context.Background(), compiler.Options{Source: src, Output: out})
	require.NoError(t, err)
	return m, out
}

// logits runs tokens, in one session, and gives the logits after each.
func logits(t *testing.T, path string, o engine.Options, tokens []int32) [][]float32 {
	o.Threads = max(o.Threads, 1)
	e, err := engine.Open(path, o)
	require.NoError(t, err)
	defer e.Close()
	if e.Scores() {
		out, err := e.Rank(context.Background(), tokens)
		require.NoError(t, err)
		return [][]float32{out}
	}
	if e.Embeds() {
		out, err := e.Embed(context.Background(), tokens, false)
		require.NoError(t, err)
		return out
	}
	s := e.NewSession()
	defer s.Close()
	var out [][]float32
	err = s.Eval(context.Background(), tokens, func(int) bool { return true }, func(_ int, l []float32) error {
		out = append(out, slices.Clone(l))
		return nil
	})
	require.NoError(t, err)
	return out
}

func someTokens(n int) []int32 {
	r := rand.New(rand.NewPCG(7, 7))
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(r.IntN(128))
	}
	return out
}

// The bound is that for models whose weights are F16: keys and values are halves here and float64 there.
const bound = 0.005

// never is the logit of what is not to be written, by no model's computation.
const never = -math.MaxFloat32

func requireNear(t *testing.T, want []float64, got []float32, pos int) {
	require.Len(t, got, len(want))
	mean, square, n := 0.0, 0.0, 0.0
	for _, v := range want {
		if v != never {
			mean, n = mean+v, n+1
		}
	}
	mean /= n
	for _, v := range want {
		if v != never {
			square += (v - mean) * (v - mean) / n
		}
	}
	for i, v := range want {
		if v == never {
			require.Equal(t, float32(never), got[i], "position %d, logit %d", pos, i)
			continue
		}
		require.LessOrEqual(t, math.Abs(v-float64(got[i]))/math.Sqrt(square), bound, "position %d, logit %d: %v, must be %v", pos, i, got[i], v)
	}
}

// Windows are 16 positions wide, mistral3's first stretch of positions too: 40 positions are below, at and above.
func TestEveryArchitectureComputesWhatAnIndependentReferenceDoes(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, path := compiled(t, name)
			tokens := someTokens(40)
			ref := newReference(m, forms[name])
			for i, l := range logits(t, path, engine.Options{}, tokens) {
				requireNear(t, ref.step(int(tokens[i]), i), l, i)
			}
		})
	}
}

func TestEveryRecipeHasAReference(t *testing.T) {
	for name := range recipes {
		_, text := forms[name]
		_, scores := scorers[name]
		if _, ok := encoders[name]; !ok && !text && !scores {
			t.Errorf("recipe %s has none", name)
		}
	}
}

func TestKernelsThreadsAndBatchesChangeNoBit(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(recipes)) {
		t.Run(name, func(t *testing.T) {
			_, path := compiledAs(t, name, true)
			tokens := someTokens(12)
			want := logits(t, path, engine.Options{}, tokens)
			several := []engine.Options{{Kernels: "scalar", Batch: 5}, {Threads: 3, Batch: 1}}
			if encoders[name].all || scorers[name].all {
				several[0].Batch, several[1].Batch = 0, 0 // a text is one batch
			}
			for _, o := range several {
				require.Equal(t, want, logits(t, path, o, tokens), "%+v", o)
			}
		})
	}
}

func TestEveryModelIsVerifiedAndRestored(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(recipes)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, path := compiled(t, name)
			_, err := compiler.Verify(context.Background(), compiler.VerifyOptions{Container: path, Against: filepath.Join(filepath.Dir(path), "m.gguf")})
			require.NoError(t, err)
			out := filepath.Join(t.TempDir(), "r.gguf")
			_, err = compiler.Restore(context.Background(), compiler.RestoreOptions{Container: path, Output: out})
			require.NoError(t, err)
			got, err := os.ReadFile(out)
			require.NoError(t, err)
			require.Equal(t, m.bytes(), got)
		})
	}
}

// Positions beyond the trained context of 256 are computed like all others.
func TestPositionsBeyondTheTrainedContext(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, name := range []string{"mistral3", "glm4+sections", "hunyuan-dense", "phi3", "llama+linear", "llama+factors", "llama+yarn", "llama+none", "gemma2", "gemma3", "grok", "deepseek2+lite"} {
		m, path := compiled(t, name)
		tokens := someTokens(300)
		ref := newReference(m, forms[name])
		got := logits(t, path, engine.Options{Context: 300}, tokens)
		for i, l := range got {
			want := ref.step(int(tokens[i]), i)
			if i > 250 {
				requireNear(t, want, l, i)
			}
		}
	}
}

func TestPositionsBeyondATableAreRefused(t *testing.T) {
	_, path := compiled(t, "starcoder")
	e, err := engine.Open(path, engine.Options{Threads: 1, Context: 300})
	require.NoError(t, err)
	defer e.Close()
	s := e.NewSession()
	defer s.Close()
	require.ErrorContains(t, s.Eval(context.Background(), someTokens(257), nil, nil), "table has 256")
	require.NoError(t, s.Eval(context.Background(), someTokens(256), nil, nil))
}

// phi3's file has two sets of rotation factors; the room of a session decides, as all its positions need the same.
func TestTheRoomOfASessionChoosesAmongRotationFactors(t *testing.T) {
	m, path := compiled(t, "phi3")
	short := forms["phi3"]
	short.freqs = func(m *model, _ int) ([]float64, float64) {
		f := plainFreqs(32, 1e4)
		for i, d := range m.values("rope_factors_short.weight") {
			f[i] /= d
		}
		return f, 1.19
	}
	tokens := someTokens(40)
	for context, f := range map[int]form{64: short, 65: forms["phi3"]} {
		ref := newReference(m, f)
		for i, l := range logits(t, path, engine.Options{Context: context}, tokens) {
			requireNear(t, ref.step(int(tokens[i]), i), l, i)
		}
	}
}

// A prompt that shares its beginning with what a session has seen gets the bits of a session of its own, whether the beginning ends within a window of the
// end, where its keys and values are still there, or so far back that a window has dropped them.
func TestReusedPrefixesAndForksChangeNoBit(t *testing.T) {
	for _, name := range []string{"gemma2", "gemma3", "gemma4", "gemma3n", "starcoder"} {
		t.Run(name, func(t *testing.T) {
			_, path := compiled(t, name)
			e, err := engine.Open(path, engine.Options{Threads: 2, Batch: 32})
			require.NoError(t, err)
			defer e.Close()
			last := func(s *engine.Session, tokens []int32) (out []float32) {
				require.NoError(t, s.Eval(context.Background(), tokens, nil, func(_ int, l []float32) error {
					out = slices.Clone(l)
					return nil
				}))
				return out
			}
			seen, other := someTokens(220), someTokens(30)
			for _, shared := range []int{219, 212, 204, 200, 150, 130, 5, 0} { // the window is 16 wide
				prompt := append(slices.Clone(seen[:shared]), other...)
				prompt[shared] = seen[shared] ^ 1
				fresh := e.NewSession()
				want := last(fresh, prompt)
				fresh.Close()
				s := e.NewSession()
				last(s, seen)
				fork := s.Fork()
				left, err := s.Reuse(prompt)
				require.NoError(t, err)
				require.Equal(t, want, last(s, left), "%d tokens shared", shared)
				s.Close()
				left, err = fork.Reuse(prompt)
				require.NoError(t, err)
				require.Equal(t, want, last(fork, left), "%d tokens shared, in a fork", shared)
				fork.Close()
			}
		})
	}
}
