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

	r := &sourceReader{prefix{[]byte("head"), at + n + 100}, context.Background(), c, nil, []aside{{at, n, last}}}
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

// TestASourceIsReadFromItsPieces: from any offset, what lies in gaps with and without data, in parts of tensors that were set aside, and zeros elsewhere.
func TestASourceIsReadFromItsPieces(t *testing.T) {
	d := formattest.Draft(false)
	slot := uint32(len(d.Slots))
	for i := range uint32(3) { // two rows of 8 bytes in each of three slots, but one in the last
		d.Slots = append(d.Slots, format.Slot{Class: format.ClassAside, Length: 16 - 8*uint64(i/2), Layer: format.None, Expert: format.None})
	}
	d.Tensors = append(d.Tensors, format.Tensor{
		Name: "cut", Index: uint32(len(d.Tensors)), Reason: format.ReasonNotUsed, Rows: 5, Cols: 2, Count: 1, Class: format.ClassAside,
		FirstSlot: slot, Slots: 3, RowsPerSlot: 2, TileRowBytes: 8, TileRows: 1,
	})
	m, _, err := formattest.Build(d)
	require.NoError(t, err)
	c, err := format.Open(m, int64(len(m)))
	require.NoError(t, err)
	cut := c.Tensors.At(c.Tensors.Len() - 1)
	want := make([]byte, 300)
	copy(want, "head")
	for p := range uint32(3) {
		s := c.Slots.At(int(slot + p))
		copy(want[100+16*p:], m[s.Offset:s.Offset+s.Length])
	}
	gaps := []format.Gap{{Offset: 4, Length: 6}, {Offset: 20, Length: 3, Data: []byte("one")}, {Offset: 23, Length: 3, Data: []byte("two")}, {Offset: 150, Length: 40, Data: bytes.Repeat([]byte("x"), 40)}}
	for _, g := range gaps {
		copy(want[g.Offset:], g.Data)
	}
	r := &sourceReader{prefix{[]byte("head"), 300}, context.Background(), c, gaps, []aside{{100, 40, cut}}}
	for off := range 300 {
		for n := 1; off+n <= 300; n++ {
			b := bytes.Repeat([]byte{9}, n)
			_, err := r.ReadAt(b, int64(off))
			require.NoError(t, err)
			require.Equal(t, want[off:off+n], b, "%d bytes at %d", n, off)
		}
	}
}
