package restore

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler/internal/gguf"
	"jns/format"
	"jns/format/formattest"
)

func TestAFileThatNothingStandsBehindIsNotRestored(t *testing.T) {
	header := &gguf.File{Tensors: []gguf.Tensor{{Size: 1000}, {Size: 24}}}
	f := format.SourceFile{Length: 1 << 45, Header: make([]byte, 100), Gaps: []format.Gap{{Offset: 100, Length: 28}}}
	require.ErrorIs(t, covered(&f, header), format.ErrCorrupt)
	f.Length = 100 + 28 + 1024
	require.NoError(t, covered(&f, header))
}

// TestWhatWasSetAsideReadsBackWhole: a part of any length, from any offset, and what lies beside it.
func TestWhatWasSetAsideReadsBackWhole(t *testing.T) {
	const n, at = 65<<20 + 1024, 4096 // of the tensor: its bytes and where it lies in the source
	d := formattest.Draft(false)
	d.Tensors = append(d.Tensors, format.Tensor{
		Name: "large", Index: uint32(len(d.Tensors)), Reason: format.ReasonNotUsed, Rows: n / 4, Cols: 1, Count: 1, Class: format.ClassAside,
		FirstSlot: uint32(len(d.Slots)), Slots: 1, RowsPerSlot: n / 4, TileRowBytes: 4, TileRows: 1,
	})
	d.Slots = append(d.Slots, format.Slot{Class: format.ClassAside, Length: n, Layer: format.None, Expert: format.None})
	m, _, err := formattest.Build(d)
	require.NoError(t, err)
	c, err := format.Open(m, int64(len(m)))
	require.NoError(t, err)
	last := c.Tensors.At(c.Tensors.Len() - 1)
	bytesOf := m[c.Slots.At(int(last.FirstSlot)).Offset:][:n]

	r := &sourceReader{prefix{[]byte("head"), at + n + 100}, context.Background(), c, nil, []aside{{at, last}}}
	whole := make([]byte, at+n+100)
	_, err = r.ReadAt(whole, 0)
	require.NoError(t, err)
	require.True(t, bytes.Equal(whole[at:at+n], bytesOf))
	require.Equal(t, append([]byte("head"), make([]byte, at-4)...), whole[:at])
	require.Equal(t, make([]byte, 100), whole[at+n:])
	for _, off := range []int64{at - 10, at, at + 64<<20 - 5, at + n - 7} {
		b := make([]byte, 33)
		_, err = r.ReadAt(b, off)
		require.NoError(t, err)
		require.Equal(t, whole[off:off+33], b)
	}
}
