package format_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
	"jns/format/formattest"
)

// ordered builds a container whose experts lie in the order that change makes of the table's.
func ordered(t testing.TB, change func(order []uint32) []uint32, tune func(d *format.Draft)) (formattest.Memory, *format.Laid, error) {
	t.Helper()
	d := formattest.Draft(true)
	if tune != nil {
		tune(d)
	}
	for i, s := range d.Slots {
		if s.Class == format.ClassExpert {
			d.Order = append(d.Order, uint32(i))
		}
	}
	require.Len(t, d.Order, formattest.Layers*formattest.Experts)
	d.Order = change(d.Order)
	return formattest.Build(d)
}

func backwards(order []uint32) []uint32 { slices.Reverse(order); return order }

func verified(t *testing.T, m formattest.Memory) *format.Container {
	t.Helper()
	c, err := format.Verify(context.Background(), m, int64(len(m)), format.VerifyOptions{Workers: 2})
	require.NoError(t, err)
	return c
}

// The same content in another order: everything but offsets is what it was, and the version says that an older reader cannot follow.
func TestExpertsMayLieInAnOrderOfTheirOwn(t *testing.T) {
	plain, _ := formattest.Tiny(true)
	m, l, err := ordered(t, backwards, nil)
	require.NoError(t, err)
	a, b := verified(t, plain), verified(t, m)
	require.Equal(t, uint16(format.MinorFirst), a.Header.Minor)
	require.Equal(t, uint16(format.MinorOrder), b.Header.Minor)
	require.Nil(t, format.DiskOrder(a.Slots))
	require.Equal(t, l.Draft.Order, format.DiskOrder(b.Slots))
	moved := 0
	for i := range a.Slots.Len() {
		x, y := a.Slots.At(i), b.Slots.At(i)
		require.Equal(t, plain[x.Offset:x.Offset+x.Length], m[y.Offset:y.Offset+y.Length], "slot %d", i)
		if x.Offset != y.Offset {
			moved++
			require.Equal(t, format.ClassExpert, x.Class)
		}
		x.Offset, y.Offset = 0, 0
		require.Equal(t, x, y)
	}
	require.Equal(t, formattest.Layers*formattest.Experts, moved)

	var dump bytes.Buffer
	require.NoError(t, format.Dump(&dump, b, format.DumpOptions{}))
	require.Contains(t, dump.String(), "version 1.1")
	diff := format.Diff(a, b)
	require.NotEmpty(t, diff)
	for _, d := range diff {
		require.Contains(t, []string{"header", "section", "slot"}, d.Level, d.String())
	}
}

// An order that is the table's says nothing: the container is the one of version 1.0, byte for byte.
func TestTheTablesOrderIsVersion10(t *testing.T) {
	plain, _ := formattest.Tiny(true)
	m, _, err := ordered(t, func(order []uint32) []uint32 { return order }, nil)
	require.NoError(t, err)
	require.True(t, bytes.Equal(plain, m))
}

func TestAnOrderHasEveryExpertOnce(t *testing.T) {
	for _, change := range []func(order []uint32) []uint32{
		func(o []uint32) []uint32 { return o[1:] },
		func(o []uint32) []uint32 { o[0] = o[1]; return o },
		func(o []uint32) []uint32 { o[0] = 0; return o },
		func(o []uint32) []uint32 { o[0] = 1 << 31; return o },
		func(o []uint32) []uint32 { return append(o, o[0]) },
		func(o []uint32) []uint32 { return o[:0] },
	} {
		_, _, err := ordered(t, change, nil)
		require.ErrorIs(t, err, format.ErrCorrupt)
	}
}

// Slots of different lengths, whichever of them is the last.
func TestLengthsOfOrderedExpertsMayDiffer(t *testing.T) {
	d := formattest.Draft(true)
	for turn := range formattest.Layers * formattest.Experts {
		m, _, err := ordered(t, func(o []uint32) []uint32 { return append(o[turn:], o[:turn]...) }, func(d *format.Draft) {
			for i := range d.Slots {
				if s := &d.Slots[i]; s.Class == format.ClassExpert {
					s.Length += uint64(64 * s.Expert) // zero bytes that belong to no tensor
				}
			}
		})
		require.NoError(t, err)
		require.Equal(t, len(d.Slots), verified(t, m).Slots.Len())
	}
}

func TestAnOrderAndItsVersionBelongTogether(t *testing.T) {
	m, _, err := ordered(t, backwards, nil)
	require.NoError(t, err)
	for _, c := range []struct {
		m    formattest.Memory
		says string
	}{
		{rehead(func(h []byte) { h[10] = 0 })(bytes.Clone(m)), "version 1.0, but"},
		{reseal(func(m formattest.Memory, at place2) { // one expert where another is
			s := m[at(format.SectionSlots):sectionOf(m, format.SectionSlots).End()]
			i := len(s)
			for i -= format.SlotRecord; s[i+16] != byte(format.ClassExpert); i -= format.SlotRecord {
			}
			copy(s[i:i+8], s[i-format.SlotRecord:])
		})(bytes.Clone(m)), "must begin at"},
		{reseal(func(m formattest.Memory, at place2) { // an expert behind the section
			s := m[at(format.SectionSlots):]
			for i := uint64(0); ; i += format.SlotRecord {
				if s[i+16] == byte(format.ClassExpert) {
					put64(m, at(format.SectionSlots)+i, sectionOf(m, format.SectionExperts).End()+4096)
					return
				}
			}
		})(bytes.Clone(m)), "section experts"},
	} {
		_, err := format.Open(c.m, int64(len(c.m)))
		require.ErrorIs(t, err, format.ErrCorrupt)
		require.ErrorContains(t, err, c.says)
	}
}

// A damaged slot is named by its number in the table, not by its place in the file.
func TestADamagedExpertIsNamedByItsNumber(t *testing.T) {
	m, l, err := ordered(t, backwards, nil)
	require.NoError(t, err)
	for _, i := range l.Draft.Order {
		bad := bytes.Clone(m)
		bad[l.Draft.Slots[i].Offset+5] ^= 1
		_, err := format.Verify(context.Background(), formattest.Memory(bad), int64(len(bad)), format.VerifyOptions{})
		require.ErrorIs(t, err, format.ErrDigest)
		require.True(t, strings.Contains(err.Error(), fmt.Sprintf("slot %d ", i)), "%d: %v", i, err)
	}
}
