package format_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
	"jns/format/formattest"
)

func verify(m formattest.Memory) error {
	_, err := format.Verify(context.Background(), m, int64(len(m)), format.VerifyOptions{Workers: 1})
	return err
}

// placeIn gives a function that says in which section an offset lies, as errors name it; padding belongs to what comes before.
func placeIn(l *format.Laid) func(off uint64) string {
	return func(off uint64) string {
		name := "toc"
		if off < format.HeaderSize {
			name = "header"
		}
		for _, s := range l.Sections {
			if s.Offset <= off {
				name = s.Kind.String()
			}
		}
		return name
	}
}

func TestVerifyNoticesEveryFlippedByte(t *testing.T) {
	m, l := formattest.Tiny(true)
	where := placeIn(l)
	flip := func(off uint64) {
		m[off] ^= 0x10
		err := verify(m)
		m[off] ^= 0x10
		require.Error(t, err, "offset %d", off)
		if off >= 8 {
			require.ErrorIs(t, err, format.ErrCorrupt, "offset %d", off)
		}
		var e *format.Error
		require.ErrorAs(t, err, &e)
		require.LessOrEqual(t, e.Offset, int64(off), "offset %d: %v", off, err)
		require.Equal(t, where(off), e.Section, "offset %d: %v", off, err)
	}
	for off := uint64(0); off < format.HeaderSize; off += 3 {
		flip(off)
	}
	for off := uint64(format.HeaderSize); off < 8192; off += 5 {
		flip(off)
	}
	step := uint64(1511)
	if testing.Short() {
		step = 15101
	}
	for off := uint64(8192); off < l.Length; off += step {
		flip(off)
	}
	for _, s := range l.Sections {
		flip(s.Offset)
		flip(s.Offset - 1)
		flip(s.End() - 1)
		if s.End() < l.Length {
			flip(s.End())
		}
	}
}

func TestEveryTruncationIsRefusedByOpen(t *testing.T) {
	m, l := formattest.Tiny(false)
	for n := 0; n < len(m); n = n + 1 + n/17 {
		_, err := format.Open(m[:n], int64(n))
		require.ErrorIs(t, err, format.ErrCorrupt, "%d bytes", n)
	}
	_, err := format.Open(m[:l.Length-1], int64(l.Length-1))
	require.ErrorContains(t, err, "cut short")
	// A reader that ends before the size it was said to have.
	_, err = format.Open(m[:l.Length/2], int64(l.Length))
	require.ErrorIs(t, err, format.ErrCorrupt)
	longer := append(bytes.Clone(m), 0)
	_, err = format.Open(formattest.Memory(longer), int64(len(longer)))
	require.ErrorContains(t, err, "1 bytes follow the end")
}

func TestVerifyNamesTheSlotWhenAWriterLied(t *testing.T) {
	m, l := formattest.Tiny(true)
	slot := l.Draft.Slots[3]
	m[slot.Offset+5] ^= 1
	require.NoError(t, formattest.Reseal(m)) // chunks are right again, the slot's digest is not
	err := verify(m)
	require.ErrorIs(t, err, format.ErrDigest)
	require.ErrorContains(t, err, "slot 3")
	require.ErrorContains(t, err, "layers at offset")
}

func TestVerifyRefusesBytesInPaddingThatDigestsCover(t *testing.T) {
	for _, where := range []string{"after a small section", "after a slot", "between tensors"} {
		m, l := formattest.Tiny(true)
		switch where {
		case "after a small section":
			m[l.Sections[0].End()] = 1
		case "after a slot":
			m[l.Draft.Slots[0].Offset+l.Draft.Slots[0].Length] = 1
		default:
			// Tensors of the tiny model fill their slots; one shorter by a row leaves bytes that belong to nobody.
			d := formattest.Draft(true)
			for i := range d.Tensors {
				if tensor := &d.Tensors[i]; tensor.Name == "output.weight" {
					d.Slots[tensor.FirstSlot].Length += 128
				}
			}
			var err error
			m, l, err = formattest.Build(d)
			require.NoError(t, err)
			require.NoError(t, verify(m))
			for _, s := range l.Sections {
				if s.Kind == format.SectionLayers {
					m[s.End()-1] = 1 // the output matrix has the last slot of its section
				}
			}
			// Seal over the changed byte: every digest is right.
			_, err = format.Seal(context.Background(), m, l, format.SealOptions{})
			require.NoError(t, err)
		}
		require.NoError(t, formattest.Reseal(m))
		err := verify(m)
		require.ErrorIs(t, err, format.ErrCorrupt, where)
		require.NotErrorIs(t, err, format.ErrDigest, where)
	}
}

func TestSealIsIndependentOfWorkers(t *testing.T) {
	d := formattest.Draft(true)
	one, l, err := formattest.Build(d)
	require.NoError(t, err)
	many := bytes.Clone(one)
	_, err = format.Seal(context.Background(), formattest.Memory(many), l, format.SealOptions{Workers: 7})
	require.NoError(t, err)
	require.True(t, bytes.Equal(one, many))
}

// failing reads one byte less than it should from some offset on.
type failing struct {
	formattest.Memory
	from int64
}

func (f failing) Bytes(off, n int64) []byte { return nil }

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.from {
		return 0, errors.New("disk failed")
	}
	return f.Memory.ReadAt(p, off)
}

func TestReadErrorsAreNotTakenForCorruption(t *testing.T) {
	m, l := formattest.Tiny(false)
	for from := uint64(1); from < l.Length; from += 50021 {
		_, err := format.Verify(context.Background(), failing{m, int64(from)}, int64(len(m)), format.VerifyOptions{})
		require.ErrorContains(t, err, "disk failed")
		require.NotErrorIs(t, err, format.ErrCorrupt)
	}
}

// hollow is a file that goes on in zeros behind what is at hand.
type hollow struct {
	head []byte
	size int64
}

func (h hollow) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if off < int64(len(h.head)) {
		copy(p, h.head[off:])
	}
	if left := h.size - off; left < int64(len(p)) {
		return int(max(left, 0)), io.EOF
	}
	return len(p), nil
}

// TestTheListOfChunksIsAsLongAsTheFileNeeds: a hollow file, which costs nobody anything, must not make a reader hold a list of its length in memory.
func TestTheListOfChunksIsAsLongAsTheFileNeeds(t *testing.T) {
	m, _ := formattest.Tiny(false)
	h, err := format.DecodeHeader(m)
	require.NoError(t, err)
	toc, err := format.DecodeTOC(m[h.TOCOffset : h.TOCOffset+h.TOCLength])
	require.NoError(t, err)
	chunks := &toc.Sections[len(toc.Sections)-1]
	for _, length := range []uint64{chunks.Length + 32, chunks.Length - 1, 1 << 45, 1 << 46} {
		chunks.Length = length
		b, err := format.EncodeTOC(toc)
		require.NoError(t, err)
		h.TOCLength, h.TOCDigest, h.Length = uint64(len(b)), sha256.Sum256(b), chunks.End()
		head, err := format.EncodeHeader(h)
		require.NoError(t, err)
		whole := bytes.Clone(m)
		copy(whole, head)
		copy(whole[h.TOCOffset:], b)
		f := hollow{whole, int64(h.Length)}
		_, err = format.Verify(context.Background(), f, f.size, format.VerifyOptions{Workers: 1})
		require.ErrorIs(t, err, format.ErrCorrupt)
		_, err = format.Open(f, f.size)
		require.ErrorIs(t, err, format.ErrCorrupt)
		if h.Length <= format.MaxFile {
			require.ErrorContains(t, err, "chunks")
		} else {
			require.ErrorContains(t, err, "bytes, at most")
		}
	}
}
