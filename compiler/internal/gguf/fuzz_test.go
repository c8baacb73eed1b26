package gguf_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler/internal/gguf"
	"jns/compiler/internal/gguf/gguftest"
)

// FuzzParse: no input panics, hangs, or makes the reader allocate more than a small multiple of its size; and what is
// accepted keeps the promises of File. Run it with -fuzzminimizetime=10x: the default spends a minute on each new input.
func FuzzParse(f *testing.F) {
	for _, c := range gguftest.Hostile() {
		f.Add(c.Bytes)
	}
	for seed := range uint64(8) {
		b := gguftest.Random(seed).Bytes()
		f.Add(b)
		f.Add(gguftest.Mutate(b, seed))
	}
	f.Fuzz(checkParse)
}

func TestDamagedFilesNeverPanicAndAcceptedOnesKeepTheirPromises(t *testing.T) {
	for seed := range uint64(3000) {
		checkParse(t, gguftest.Mutate(gguftest.Random(seed%50).Bytes(), seed))
	}
}

func checkParse(t *testing.T, b []byte) {
	var g *gguf.File
	var err error
	spent := allocated(func() { g, err = parse(b) })
	// 40: a key-value of 14 bytes costs its KV, its boxed value, its name, its map entry, and all of these once more when
	// slice and map grow. 512 KiB: read buffer and error texts.
	if limit := 40*uint64(len(b)) + 512<<10; spent > limit {
		t.Fatalf("%d bytes allocated for a file of %d", spent, len(b))
	}
	if err != nil {
		var place *gguf.Error
		require.ErrorAs(t, err, &place)
		_ = err.Error()
		return
	}
	require.LessOrEqual(t, g.HeaderLen, g.DataOffset)
	require.LessOrEqual(t, g.DataOffset, g.DataEnd)
	require.LessOrEqual(t, g.DataEnd, g.Size)
	require.EqualValues(t, len(b), g.Size)
	covered := map[uint64]string{}
	for _, x := range g.Tensors {
		require.NotZero(t, x.Size)
		require.GreaterOrEqual(t, x.Offset, g.DataOffset)
		require.LessOrEqual(t, x.Offset+x.Size, g.DataEnd)
		require.Zero(t, (x.Offset-g.DataOffset)%g.Alignment)
		if x.Size > 1<<16 {
			continue
		}
		for i := x.Offset; i < x.Offset+x.Size; i++ {
			if other, twice := covered[i]; twice {
				t.Fatalf("byte %d is in %q and %q", i, other, x.Name)
			}
			covered[i] = x.Name
		}
	}
	for _, kv := range g.KVs {
		readAll(t, kv.Value)
	}
}

// readAll asks an array for everything it could be taken for.
func readAll(t *testing.T, v gguf.Value) {
	a, ok := v.(gguf.Array)
	if !ok {
		return
	}
	if s, err := a.Strings(); err == nil {
		require.Len(t, s, a.Len)
	}
	if s, err := a.Int64s(); err == nil {
		require.Len(t, s, a.Len)
	}
	if s, err := a.Uint32s(); err == nil {
		require.Len(t, s, a.Len)
	}
	if s, err := a.Float32s(); err == nil {
		require.Len(t, s, a.Len)
	}
	if s, err := a.Bools(); err == nil {
		require.Len(t, s, a.Len)
	}
}
