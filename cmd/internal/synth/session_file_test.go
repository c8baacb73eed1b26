package main

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/runtime/engine"
)

// keepers are models of every kind of state: all positions, windows, convolutions, scans of both forms, delta rules, RWKV's, and experts beside them.
var keepers = []string{"llama+linear", "gemma2", "bailingmoe2", "deepseek2", "mamba2", "mamba+normed", "jamba", "lfm2moe", "kimi-linear", "qwen3next+old", "rwkv7", "granitehybrid",
	"gemma3", "lfm2", "qwen35", "rwkv6", "minimax-01", "kimi-k3"}

// walk is a run whose logits are recorded.
type walk struct {
	tokens []int32
	logits [][]float32
}

func (w *walk) generate(t *testing.T, s *engine.Session, prompt []int32, n int) {
	p := engine.DefaultSampling()
	p.Seed, p.Temperature, p.TopK, p.RepeatPenalty, p.PenaltyWindow = 7, 2, 0, 1.3, 16
	r, err := s.Generate(context.Background(), engine.Request{Prompt: prompt, MaxTokens: n, Sample: p, IgnoreEOS: true, Logits: func(l []float32) { w.logits = append(w.logits, slices.Clone(l)) }})
	require.NoError(t, err)
	w.tokens = append(w.tokens, r.Tokens...)
}

// TestASessionGoesOnAsIfTheProcessHadNotEnded: what is generated after saving and loading, by another engine with other threads and batches, is what would have been generated.
func TestASessionGoesOnAsIfTheProcessHadNotEnded(t *testing.T) {
	for _, name := range keepers {
		for _, form := range []string{engine.KVF16, engine.KVQ8} {
			t.Run(name+"/"+form, func(t *testing.T) {
				_, path := compiled(t, name)
				open := func(threads, batch int) *engine.Engine {
					e, err := engine.Open(path, engine.Options{Threads: threads, Batch: batch, KV: form, Context: 1024})
					require.NoError(t, err)
					t.Cleanup(func() { e.Close() })
					return e
				}
				prompt := someTokens(100)
				a := open(2, 64)
				whole := a.NewSession()
				defer whole.Close()
				var want, got walk
				want.generate(t, whole, prompt, 60)

				first := a.NewSession()
				got.generate(t, first, prompt, 40)
				var file bytes.Buffer
				require.NoError(t, first.Save(&file, engine.Saved{Seed: 7, Note: []byte("a note")}))
				first.Close()
				b := open(1, 13)
				s, x, err := b.LoadSession(bytes.NewReader(file.Bytes()))
				require.NoError(t, err)
				defer s.Close()
				require.Equal(t, engine.Saved{Seed: 7, Note: []byte("a note")}, x)
				var again bytes.Buffer
				require.NoError(t, s.Save(&again, x))
				require.True(t, bytes.Equal(file.Bytes(), again.Bytes()), "what is loaded is saved as it was")
				require.Len(t, s.Tokens(), 139)
				require.Equal(t, got.tokens[39:], s.Pending())
				got.generate(t, s, s.Pending(), 20)
				require.Equal(t, want, got)
			})
		}
	}
}

// TestAnEditedPromptIsComputedFromTheLastMark: a prompt that differs somewhere is computed from the difference on, or from the last mark before it where something was forgotten; the
// results are those of a new session, also after saving and loading.
func TestAnEditedPromptIsComputedFromTheLastMark(t *testing.T) {
	for name, forgets := range map[string]bool{"llama+linear": false, "gemma2": true, "mamba2": true, "lfm2moe": true, "qwen3next+old": true,
		"gemma3": true, "lfm2": true, "qwen35": true, "rwkv6": true, "rwkv7": true, "minimax-01": true} {
		t.Run(name, func(t *testing.T) {
			_, path := compiled(t, name)
			e, err := engine.Open(path, engine.Options{Threads: 2, Context: 2048})
			require.NoError(t, err)
			defer e.Close()
			run := func(s *engine.Session, tokens []int32) (last []float32) {
				require.NoError(t, s.Eval(context.Background(), tokens, nil, func(_ int, l []float32) error {
					last = slices.Clone(l)
					return nil
				}))
				return last
			}
			tokens := someTokens(1060)
			all, back := e.NewSession(), 0
			run(all, tokens)
			for _, edit := range []int{1050, 512, 500, 100} {
				prompt := slices.Clone(tokens[:min(edit+10, 1060)])
				prompt[edit] = (prompt[edit] + 1) % 100
				fresh := e.NewSession()
				want := run(fresh, prompt)
				fresh.Close()

				var file bytes.Buffer
				require.NoError(t, all.Save(&file, engine.Saved{}))
				loaded, _, err := e.LoadSession(&file)
				require.NoError(t, err)
				for _, s := range []*engine.Session{all.Fork(), loaded} {
					left, err := s.Reuse(prompt)
					require.NoError(t, err)
					kept := len(prompt) - len(left)
					if kept != edit { // a window may reach back to the edit itself
						require.Equal(t, edit/512*512, kept)
						back++
					}
					require.Equal(t, want, run(s, left), "edited at %d", edit)
					s.Close()
				}
			}
			all.Close()
			require.Equal(t, forgets, back > 0)
		})
	}
}

// TestFilesOfOtherSessionsAreRefused: another model, another form of keys and values, a shorter context, damage.
func TestFilesOfOtherSessionsAreRefused(t *testing.T) {
	_, path := compiled(t, "lfm2moe")
	_, other := compiled(t, "mamba2")
	open := func(path string, o engine.Options) *engine.Engine {
		o.Threads = 1
		e, err := engine.Open(path, o)
		require.NoError(t, err)
		t.Cleanup(func() { e.Close() })
		return e
	}
	e := open(path, engine.Options{Context: 256})
	s := e.NewSession()
	defer s.Close()
	var w walk
	w.generate(t, s, someTokens(100), 3)
	var b bytes.Buffer
	require.NoError(t, s.Save(&b, engine.Saved{}))
	file := b.Bytes()
	load := func(e *engine.Engine, b []byte) error {
		s, _, err := e.LoadSession(bytes.NewReader(b))
		if err == nil {
			s.Close()
		}
		return err
	}
	require.NoError(t, load(e, file))
	err := load(open(other, engine.Options{}), file)
	require.ErrorIs(t, err, engine.ErrSessionModel)
	require.Contains(t, err.Error(), e.Root()[:16])
	require.ErrorIs(t, load(open(path, engine.Options{KV: engine.KVQ8}), file), engine.ErrOption)
	require.ErrorIs(t, load(open(path, engine.Options{Context: 50}), file), engine.ErrOption)
	require.ErrorIs(t, load(e, []byte("GGUF and more of another file, as long as a head of a session, which is eighty bytes long")), engine.ErrSessionFile)
	later := bytes.Clone(file)
	later[8] = 2
	require.ErrorIs(t, load(e, later), engine.ErrSessionVersion)
	for _, n := range []int{0, 7, 79, 200, len(file) / 2, len(file) - 33, len(file) - 1} {
		require.ErrorIs(t, load(e, file[:n]), engine.ErrSessionFile, "cut at %d", n)
	}
	require.ErrorIs(t, load(e, append(bytes.Clone(file), 0)), engine.ErrSessionFile)
	for at := 12; at < len(file); at += 1 + len(file)/31 {
		x := bytes.Clone(file)
		x[at] ^= 1
		require.Error(t, load(e, x), "byte %d", at)
	}
	require.NoError(t, load(e, file))
}
