package main

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler"
	"jns/format"
	"jns/format/formattest"
	"jns/runtime/engine"
)

// compiled gives the bytes of an embedded model's container.
var compiled = sync.OnceValues(func() ([2][]byte, error) {
	var out [2][]byte
	dir, err := os.MkdirTemp("", "jns")
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(dir)
	for i, name := range []string{"jns-tiny", "jns-tiny-moe"} {
		o := compiler.Options{Source: filepath.Join("..", "..", "testdata", "models", "tiny", name+".gguf"), Output: filepath.Join(dir, name+".jns")}
		if _, err := compiler.Compile(context.Background(), o); err != nil {
			return out, err
		}
		if out[i], err = os.ReadFile(o.Output); err != nil {
			return out, err
		}
	}
	return out, nil
})

// try opens a container and computes a few tokens. Any answer is right except a fault, a panic or a hang.
func try(t *testing.T, file []byte) (ran bool) {
	name := filepath.Join(t.TempDir(), "m.jns")
	require.NoError(t, os.WriteFile(name, file, 0o600))
	e, err := engine.Open(name, engine.Options{Threads: 2, Batch: 4, Context: 200})
	if err != nil {
		require.NotErrorIs(t, err, engine.ErrFault)
		return false
	}
	defer e.Close()
	s := e.NewSession()
	defer s.Close()
	err = s.Eval(context.Background(), []int32{0, 1, 2, 3, 4, 5}, func(i int) bool { return i%2 == 1 }, func(int, []float32) error { return nil })
	require.NotErrorIs(t, err, engine.ErrFault)
	require.NotErrorIs(t, err, engine.ErrPanic)
	if e.HasVocab() {
		ids, err := e.Tokenize("Once upon a time, été 123", true, true)
		if err == nil {
			_, err = e.Detokenize(ids)
		}
		require.NotErrorIs(t, err, engine.ErrFault)
	}
	return err == nil
}

// FuzzMutant changes the program and the tables of a small container of float32 matrices, with all digests computed anew.
func FuzzMutant(f *testing.F) {
	for i := range 64 {
		f.Add(i%2 == 1, binary.LittleEndian.AppendUint64(nil, uint64(i)*0x9e3779b97f4a7c15))
	}
	f.Fuzz(func(t *testing.T, moe bool, data []byte) {
		m, ok := formattest.Mutant(moe, data)
		if !ok {
			t.Skip()
		}
		try(t, m)
	})
}

// FuzzTables changes bytes of the small sections of the compiled embedded models, whose matrices are tiles that assembly reads, with all digests computed anew.
func FuzzTables(f *testing.F) {
	for i := range 64 {
		f.Add(i%2 == 1, uint8(i), uint32(i)*2654435761, uint8(1<<(i%8)))
	}
	f.Fuzz(func(t *testing.T, moe bool, section uint8, at uint32, flip uint8) {
		files, err := compiled()
		require.NoError(t, err)
		src := files[0]
		if moe {
			src = files[1]
		}
		m := formattest.Memory(append([]byte(nil), src...))
		c, err := format.Open(m, int64(len(m)))
		require.NoError(t, err)
		kinds := []format.SectionKind{format.SectionTokenizer, format.SectionTemplate, format.SectionProgram, format.SectionNames,
			format.SectionTensors, format.SectionSlots}
		s, ok := c.Section(kinds[int(section)%len(kinds)])
		if !ok || s.Length == 0 {
			t.Skip()
		}
		m[s.Offset+uint64(at)%s.Length] ^= flip | 1
		if err := formattest.Reseal(m); err != nil {
			t.Skip()
		}
		try(t, m)
	})
}

// FuzzProgram changes the programs of the compiled embedded models at the level of operations.
func FuzzProgram(f *testing.F) {
	for i := range 64 {
		f.Add(i%2 == 1, uint32(i)*2654435761, uint64(i)*0x9e3779b97f4a7c15)
	}
	f.Fuzz(func(t *testing.T, moe bool, which uint32, value uint64) {
		files, err := compiled()
		require.NoError(t, err)
		src := files[0]
		if moe {
			src = files[1]
		}
		m := formattest.Memory(append([]byte(nil), src...))
		c, err := format.Open(m, int64(len(m)))
		require.NoError(t, err)
		p := c.Program
		formattest.MutateProgram(p, which, value)
		b, err := format.EncodeProgram(p)
		s, _ := c.Section(format.SectionProgram)
		if err != nil || uint64(len(b)) != s.Length {
			t.Skip()
		}
		copy(m[s.Offset:], b)
		if err := formattest.Reseal(m); err != nil {
			t.Skip()
		}
		try(t, m)
	})
}

func TestUnchangedContainersRun(t *testing.T) {
	files, err := compiled()
	require.NoError(t, err)
	for _, f := range files {
		require.True(t, try(t, f))
	}
	for _, moe := range []bool{false, true} {
		m, _ := formattest.Tiny(moe)
		require.True(t, try(t, m))
	}
}

func TestTruncatedContainersAreRefusedBeforeTheyRun(t *testing.T) {
	files, err := compiled()
	require.NoError(t, err)
	f := files[0]
	for _, n := range []int{0, 1, 8, 100, 4095, 4096, 70000, len(f) / 2, len(f) - 1} {
		name := filepath.Join(t.TempDir(), "m.jns")
		require.NoError(t, os.WriteFile(name, f[:n], 0o600))
		_, err := engine.Open(name, engine.Options{})
		require.Error(t, err)
		require.True(t, errors.Is(err, format.ErrCorrupt) || errors.Is(err, format.ErrMagic), "%d bytes: %v", n, err)
	}
}
