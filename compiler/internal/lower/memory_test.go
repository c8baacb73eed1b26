package lower

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"jns/format"
)

func TestBuffersThatAreLiveTogetherDoNotOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := &emitter{}
		for range rapid.IntRange(1, 40).Draw(t, "buffers") {
			first := rapid.IntRange(0, 30).Draw(t, "first")
			e.bufs = append(e.bufs, &buffer{
				name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), typ: rapid.SampledFrom([]format.ElemType{format.ElemF32, format.ElemQ8X}).Draw(t, "type"),
				len: uint64(32 * rapid.IntRange(1, 9).Draw(t, "len")), first: first, last: first + rapid.IntRange(0, 8).Draw(t, "life"),
			})
		}
		prog := &format.Program{}
		require.NoError(t, planMemory(e, prog))
		// The numbers of the merged buffers are found again by merging once more with the same offsets.
		offsets := make([]uint64, len(e.bufs))
		for i := range e.bufs {
			e.ops = append(e.ops, format.Op{Params: &format.QuantizeParams{In: uint32(i), Out: format.None}})
		}
		again := &format.Program{Ops: e.ops}
		require.NoError(t, planMemory(e, again))
		require.Equal(t, prog.Buffers, again.Buffers, "planning is a pure function")
		end := uint64(0)
		for i := range e.bufs {
			b := again.Buffers[again.Ops[i].Params.(*format.QuantizeParams).In]
			require.Equal(t, uint64(b.Len), e.bufs[i].len)
			require.Zero(t, b.Offset%64)
			offsets[i] = b.Offset
			end = max(end, b.Offset+bytesOf(b.Type, uint64(b.Len)))
		}
		require.Equal(t, end, again.PerRow)
		for i, a := range e.bufs {
			for j, b := range e.bufs[:i] {
				together := a.first <= b.last && b.first <= a.last
				meet := offsets[i] < offsets[j]+bytesOf(b.typ, b.len) && offsets[j] < offsets[i]+bytesOf(a.typ, a.len)
				require.False(t, together && meet, "buffers %d and %d", i, j)
			}
		}
	})
}

func TestScratchEntriesFillWholeVectors(t *testing.T) {
	require.Equal(t, uint64(48), entry(format.ElemF32, 33))
	require.Equal(t, uint64(64), entry(format.ElemQ8X, 33))
	require.Equal(t, uint64(32), entry(format.ElemQ8X, 32))
}
