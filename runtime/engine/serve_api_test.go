package engine_test

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"jns/compiler"
	"jns/runtime/engine"
)

// TestAnswerIsGenerateWithMoreToTell: parts of a prompt, reuse and probabilities change no token, and the probabilities are those of the logits.
func TestAnswerIsGenerateWithMoreToTell(t *testing.T) {
	out := filepath.Join(t.TempDir(), "tiny.jns")
	_, err := compiler.Compile(context.Background(), compiler.Options{Source: "../../testdata/models/tiny/jns-tiny.gguf", Output: out})
	require.NoError(t, err)
	e, err := engine.Open(out, engine.Options{Threads: 1, Context: 256})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	used := e.NewSession()
	defer used.Close()
	rapid.Check(t, func(t *rapid.T) {
		prompt := rapid.SliceOfN(rapid.Int32Range(0, int32(e.Vocab())-1), 1, 40).Draw(t, "prompt")
		if seen := used.Tokens(); rapid.Bool().Draw(t, "goes on") && len(seen) > 0 && len(seen) < 100 {
			prompt = append(slices.Clone(seen), prompt...)
		}
		p := engine.DefaultSampling()
		p.Seed = rapid.Uint64().Draw(t, "seed")
		fresh := e.NewSession()
		defer fresh.Close()
		want, err := fresh.Generate(context.Background(), engine.Request{Prompt: prompt, MaxTokens: 5, Sample: p, Stop: []string{"the"}})
		require.NoError(t, err)
		var text strings.Builder
		var first engine.Step
		res, err := used.Answer(context.Background(), engine.Answering{Prompt: prompt, MaxTokens: 5, Sample: p, Stop: []string{"the"}, Logprobs: 3,
			Chunk: func() int { return rapid.IntRange(1, 9).Draw(t, "chunk") },
			Step: func(s engine.Step) error {
				if text.Len() == 0 && first.Top == nil {
					first = s
				}
				text.WriteString(s.Text)
				return nil
			}})
		require.NoError(t, err)
		require.True(t, slices.Equal(want.Tokens, res.Tokens))
		require.Equal(t, want.Text, text.String())
		require.Equal(t, want.Finish, res.Finish)
		if len(res.Tokens) == 0 {
			return
		}
		check := e.NewSession()
		defer check.Close()
		require.NoError(t, check.Eval(context.Background(), prompt, nil, func(_ int, l []float32) error {
			z := engine.LogSumExp(l)
			require.Equal(t, float64(l[first.ID])-z, first.Logprob)
			order := make([]int, len(l))
			for i := range order {
				order[i] = i
			}
			slices.SortStableFunc(order, func(a, b int) int { return int(math.Copysign(1, float64(l[b]-l[a]))) * boolInt(l[a] != l[b]) })
			for i, x := range first.Top {
				require.EqualValues(t, order[i], x.ID)
			}
			return nil
		}))
	})
	_, err = used.Answer(context.Background(), engine.Answering{Prompt: make([]int32, 257), Step: func(engine.Step) error { return nil }})
	require.ErrorIs(t, err, engine.ErrContextFull)
	_, err = used.Answer(context.Background(), engine.Answering{Prompt: []int32{int32(e.Vocab())}, Step: func(engine.Step) error { return nil }})
	require.ErrorIs(t, err, engine.ErrOption)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
