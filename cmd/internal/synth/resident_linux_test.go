package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler"
	"jns/runtime/engine"
)

// The table of per-layer embeddings of gemma4 is read row by row: after tokens from all over it have been computed, none of it is among the process's pages.
func TestPerLayerEmbeddingsAreNotResident(t *testing.T) {
	m := newModel("gemma4")
	m.vocab = 131072
	recipes["gemma4"](m)
	table := uint64(2 * 32 * m.layers * m.vocab) // halves
	dir := t.TempDir()
	src, path := filepath.Join(dir, "m.gguf"), filepath.Join(dir, "m.jns")
	require.NoError(t, os.WriteFile(src, m.bytes(), 0o600))
	_, err := compiler.Compile(context.Background(), compiler.Options{Source: src, Output: path})
	require.NoError(t, err)
	e, err := engine.Open(path, engine.Options{Threads: 2, Context: 256})
	require.NoError(t, err)
	defer e.Close()
	s := e.NewSession()
	defer s.Close()
	var tokens []int32
	for i := range 200 {
		tokens = append(tokens, int32(i*7919%int(m.vocab)))
	}
	require.NoError(t, s.Eval(context.Background(), tokens, nil, func(int, []float32) error { return nil }))

	rows := uint64(0)
	for _, s := range e.Container().TOC.Sections {
		if s.Kind.String() == "rows" {
			rows = s.Length
		}
	}
	require.GreaterOrEqual(t, rows, table)
	b, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(b), path)
	require.True(t, found)
	_, after, _ = strings.Cut(after, "Rss:")
	kb, err := strconv.ParseUint(strings.Fields(after)[0], 10, 64)
	require.NoError(t, err)
	rest := e.Container().Header.Length - rows
	t.Logf("%d KiB of %d are resident; the table has %d, all the rest %d", kb, e.Container().Header.Length>>10, table>>10, rest>>10)
	const border = 2 << 20 // what lies beside the table may share a large page with it, at either end
	require.Greater(t, table, uint64(8*border))
	require.LessOrEqual(t, kb<<10, rest+2*border, "the table is not among the process's pages")
	require.Greater(t, kb<<10, uint64(1<<20), "it did run from the mapping")
}
