package engine

import (
	"bytes"
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/blake3"

	"jns/compiler"
)

var fuzzed struct {
	sync.Once
	e    *Engine
	file []byte
	err  error
}

// FuzzLoadSession: any bytes, with their digest put right, give an error or a session that is saved as those bytes and can be gone on with.
func FuzzLoadSession(f *testing.F) {
	fuzzed.Do(func() {
		out := filepath.Join(f.TempDir(), "tiny.jns")
		if _, fuzzed.err = compiler.Compile(context.Background(), compiler.Options{Source: "../../testdata/models/tiny/jns-tiny.gguf", Output: out}); fuzzed.err != nil {
			return
		}
		if fuzzed.e, fuzzed.err = Open(out, Options{Threads: 1, Context: 128}); fuzzed.err != nil {
			return
		}
		s := fuzzed.e.NewSession()
		defer s.Close()
		if _, fuzzed.err = s.Generate(context.Background(), Request{Prompt: []int32{1, 5, 9}, MaxTokens: 3, Sample: Greedy()}); fuzzed.err != nil {
			return
		}
		var b bytes.Buffer
		fuzzed.err = s.Save(&b, Saved{Seed: 3, Note: []byte("note")})
		fuzzed.file = b.Bytes()
	})
	require.NoError(f, fuzzed.err)
	e := fuzzed.e
	f.Add(fuzzed.file[:len(fuzzed.file)-32])
	f.Add(fuzzed.file[:200])
	f.Fuzz(func(t *testing.T, b []byte) {
		sum := blake3.Sum256(b)
		b = append(b, sum[:]...)
		s, x, err := e.LoadSession(bytes.NewReader(b))
		if err != nil {
			return
		}
		defer s.Close()
		var again bytes.Buffer
		require.NoError(t, s.Save(&again, x))
		require.True(t, bytes.Equal(b, again.Bytes()))
		if s.Room() > 0 {
			_ = s.Eval(context.Background(), []int32{1}, nil, func(int, []float32) error { return nil }) // logits may be no numbers: then it says so
		}
	})
}
