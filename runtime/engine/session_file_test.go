package engine

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/blake3"

	"jns/compiler"
)

var fuzzed struct {
	sync.Once
	e     *Engine
	files [][]byte
	err   error
}

// FuzzLoadSession: any bytes, with their digest put right, give an error or a session that is saved as those bytes and can be gone on with.
//
// What is fuzzed is how the file begins and ends, and how many zeros are between the two: the states of the smallest model have 128 KiB, most of which are numbers like any others, and a
// fuzzer's time to minimise an input grows with the square of its length. Package kv fuzzes states.
func FuzzLoadSession(f *testing.F) {
	fuzzed.Do(func() {
		out := filepath.Join(f.TempDir(), "tiny.jns")
		if _, fuzzed.err = compiler.Compile(context.Background(), compiler.Options{Source: "../../testdata/models/tiny/jns-tiny.gguf", Output: out}); fuzzed.err != nil {
			return
		}
		if fuzzed.e, fuzzed.err = Open(out, Options{Threads: 1, Context: 128}); fuzzed.err != nil {
			return
		}
		for _, n := range []int{0, 3} {
			var b bytes.Buffer
			s := fuzzed.e.NewSession()
			if n > 0 {
				_, fuzzed.err = s.Generate(context.Background(), Request{Prompt: []int32{1, 5, 9}, MaxTokens: n, Sample: Greedy(), IgnoreEOS: true})
			}
			fuzzed.err = errors.Join(fuzzed.err, s.Save(&b, Saved{Seed: 3, Note: []byte("note")}))
			s.Close()
			fuzzed.files = append(fuzzed.files, b.Bytes())
		}
	})
	require.NoError(f, fuzzed.err)
	e := fuzzed.e
	for _, b := range fuzzed.files {
		b = b[:len(b)-32]
		head, tail := min(len(b), 130), 12 // all before the states; the list of marks, with one
		if head+tail > len(b) {
			head, tail = len(b), 0
		}
		f.Add(slices.Concat(b[:head], b[len(b)-tail:]), head, uint32(len(b)-head-tail))
	}
	f.Fuzz(func(t *testing.T, b []byte, at int, zeros uint32) {
		if zeros > 1<<19 {
			return
		}
		at = min(max(at, 0), len(b))
		b = slices.Concat(b[:at], make([]byte, zeros), b[at:])
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
