package format_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
	"jns/format/formattest"
)

// program30 is the tiny program with its operations repeated to the number that a model of thirty layers has.
func program30() *format.Program {
	p := formattest.Draft(false).Program
	ops := p.Ops
	for len(p.Ops) < 400 {
		p.Ops = append(p.Ops, ops...)
	}
	return p
}

func BenchmarkDecodeProgram(b *testing.B) {
	data, err := format.EncodeProgram(program30())
	require.NoError(b, err)
	for b.Loop() {
		if _, err := format.DecodeProgram(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	d := formattest.Draft(false)
	d.Program = program30()
	d.Tokenizer = make([]byte, 8<<20)
	m, _, err := formattest.Build(d)
	require.NoError(b, err)
	for b.Loop() {
		if _, err := format.Open(m, int64(len(m))); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	m, l, err := formattest.Build(large(256 << 20))
	require.NoError(b, err)
	b.SetBytes(int64(l.Length))
	for b.Loop() {
		if _, err := format.Verify(context.Background(), m, int64(len(m)), format.VerifyOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// large is a draft with tensors set aside, of n bytes together, in slots of a quarter of that.
func large(n uint64) *format.Draft {
	d := formattest.Draft(false)
	first := uint32(len(d.Slots))
	for range 4 {
		d.Slots = append(d.Slots, format.Slot{Class: format.ClassAside, Length: n / 4, Layer: format.None, Expert: format.None})
	}
	d.Tensors = append(d.Tensors, format.Tensor{
		Name: "large", Index: uint32(len(d.Tensors)), Reason: format.ReasonNotUsed, Rows: n >> 10, Cols: 256, Count: 1, Class: format.ClassAside,
		FirstSlot: first, Slots: 4, RowsPerSlot: n >> 12, TileRowBytes: 1 << 10, TileRows: 1,
	})
	return d
}

// Slots longer than a job, chunks that jobs share, and a chunk list of several entries.
func TestLargeContainersSealAndVerifyInParallel(t *testing.T) {
	m, l, err := formattest.Build(large(100 << 20))
	require.NoError(t, err)
	for _, workers := range []int{1, 2, 5} {
		_, err = format.Verify(context.Background(), m, int64(len(m)), format.VerifyOptions{Workers: workers})
		require.NoError(t, err)
	}
	s, _ := l.Section(format.SectionAside)
	for _, off := range []uint64{s.Offset, s.Offset + 30<<20, s.End() - 1, s.End() - 26<<20} {
		m[off] ^= 1
		_, err = format.Verify(context.Background(), m, int64(len(m)), format.VerifyOptions{})
		m[off] ^= 1
		require.ErrorIs(t, err, format.ErrDigest)
		require.ErrorContains(t, err, "aside at offset")
		var e *format.Error
		require.ErrorAs(t, err, &e)
		require.LessOrEqual(t, e.Offset, int64(off))
		require.Less(t, int64(off)-e.Offset, int64(format.ChunkSize))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = format.Verify(ctx, m, int64(len(m)), format.VerifyOptions{})
	require.ErrorIs(t, err, context.Canceled)
}
