package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	jnscli "jns/cmd/internal/cli"
	"jns/runtime/engine"
)

// A file cut short while it is in use makes the next access to its pages fault. Whatever is being done then has to end with an error, not with the process.
func TestAContainerCutShortWhileInUseIsAnErrorWithFileAndOffset(t *testing.T) {
	files, err := compiled()
	require.NoError(t, err)
	ctx := context.Background()
	greedy := engine.Greedy()
	user := []engine.Message{{Role: "user", Content: "Hello"}}
	cases := []struct {
		name  string
		fault bool // it cannot do without the file
		do    func(e *engine.Engine, s *engine.Session, cut func()) error
	}{
		{"eval", true, func(_ *engine.Engine, s *engine.Session, cut func()) error {
			cut()
			return s.Eval(ctx, []int32{0, 1, 2}, nil, func(int, []float32) error { return nil })
		}},
		{"end of text and piece", true, func(_ *engine.Engine, s *engine.Session, cut func()) error {
			_, err := s.Generate(ctx, engine.Request{Prompt: []int32{1, 2}, MaxTokens: 3, Sample: greedy, Token: func(int32) error { cut(); return nil }})
			return err
		}},
		{"end of text alone", true, func(_ *engine.Engine, s *engine.Session, cut func()) error {
			_, err := s.Answer(ctx, engine.Answering{Prompt: []int32{1, 2}, MaxTokens: 3, Sample: greedy, Step: func(engine.Step) error { cut(); return nil }})
			return err
		}},
		{"tokenize", true, func(e *engine.Engine, _ *engine.Session, cut func()) error {
			cut()
			_, err := e.Tokenize("Hello", true, true)
			return err
		}},
		{"detokenize", true, func(e *engine.Engine, _ *engine.Session, cut func()) error {
			cut()
			_, err := e.Detokenize([]int32{3, 4})
			return err
		}},
		{"piece", true, func(e *engine.Engine, _ *engine.Session, cut func()) error {
			cut()
			_, err := e.Piece(3)
			return err
		}},
		{"template", false, func(e *engine.Engine, _ *engine.Session, cut func()) error {
			cut()
			require.True(t, e.HasTemplate())
			_, err := e.Template()
			return err
		}},
		{"chat", true, func(e *engine.Engine, _ *engine.Session, cut func()) error {
			cut()
			_, err := e.ChatTokens(user, engine.ChatOptions{Generate: true})
			return err
		}},
		{"chat of a server", true, func(e *engine.Engine, _ *engine.Session, cut func()) error {
			cut()
			e.TemplateMentions("tools")
			_, err := e.ChatPrompt(engine.Conversation{Messages: json.RawMessage(`[{"role":"user","content":"x"}]`)})
			return err
		}},
		{"receipt", false, func(e *engine.Engine, _ *engine.Session, cut func()) error {
			cut()
			e.Receipt()
			return nil
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "m.jns")
			require.NoError(t, os.WriteFile(name, files[0], 0o600))
			e, err := engine.Open(name, engine.Options{Threads: 2, Batch: 8, Context: 100})
			require.NoError(t, err)
			defer e.Close()
			s := e.NewSession()
			defer s.Close()
			err = c.do(e, s, func() { require.NoError(t, os.Truncate(name, 4096)) })
			if !c.fault {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, engine.ErrFault)
			require.Equal(t, jnscli.ExitCorrupt, classes.Code(err))
			require.ErrorContains(t, err, name+" at offset ")
		})
	}
}
