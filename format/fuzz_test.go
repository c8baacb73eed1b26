package format_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"jns/format"
	"jns/format/formattest"
)

func known(err error) bool {
	for _, s := range []error{format.ErrMagic, format.ErrVersion, format.ErrCorrupt, format.ErrUnsupported} {
		if errors.Is(err, s) {
			return true
		}
	}
	return false
}

// parts gives the pieces of a container that decoders take.
func parts(m formattest.Memory) (header, toc []byte, section func(k format.SectionKind) []byte) {
	c, err := format.Open(m, int64(len(m)))
	if err != nil {
		panic(err)
	}
	section = func(k format.SectionKind) []byte {
		s, _ := c.Section(k)
		return m[s.Offset:s.End()]
	}
	return m[:format.HeaderSize], m[format.HeaderSize : format.HeaderSize+c.Header.TOCLength], section
}

// seed gives a fuzz target the piece of both tiny containers, whole and cut.
func seed(f *testing.F, piece func(m formattest.Memory) []byte) {
	for _, moe := range []bool{false, true} {
		m, _ := formattest.Tiny(moe)
		b := piece(m)
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
}

func FuzzHeaderEncodesAsDecoded(f *testing.F) {
	seed(f, func(m formattest.Memory) []byte { h, _, _ := parts(m); return h })
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := format.DecodeHeader(b)
		if err != nil {
			require.True(t, known(err))
			return
		}
		again, err := format.EncodeHeader(h)
		require.NoError(t, err)
		require.Equal(t, b[:format.HeaderSize], again)
	})
}

func FuzzTOCEncodesAsDecoded(f *testing.F) {
	seed(f, func(m formattest.Memory) []byte { _, b, _ := parts(m); return b })
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := format.DecodeTOC(b)
		if err != nil {
			require.True(t, known(err))
			return
		}
		again, err := format.EncodeTOC(v)
		require.NoError(t, err)
		require.Equal(t, b, again)
	})
}

func FuzzProgramEncodesAsDecoded(f *testing.F) {
	seed(f, func(m formattest.Memory) []byte { _, _, s := parts(m); return s(format.SectionProgram) })
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := format.DecodeProgram(b)
		if err != nil {
			require.True(t, known(err))
			return
		}
		again, err := format.EncodeProgram(v)
		require.NoError(t, err)
		require.Equal(t, b, again)
	})
}

func FuzzSourceEncodesAsDecoded(f *testing.F) {
	seed(f, func(m formattest.Memory) []byte { _, _, s := parts(m); return s(format.SectionSource) })
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := format.DecodeSource(b)
		if err != nil {
			require.True(t, known(err))
			return
		}
		again, err := format.EncodeSource(v)
		require.NoError(t, err)
		require.Equal(t, b, again)
	})
}

func FuzzTablesEncodeAsDecoded(f *testing.F) {
	m, l := formattest.Tiny(true)
	_, _, s := parts(m)
	f.Add(s(format.SectionNames), s(format.SectionTensors), s(format.SectionSlots))
	other, _, err := ordered(f, backwards, nil)
	require.NoError(f, err)
	_, _, o := parts(other)
	f.Add(o(format.SectionNames), o(format.SectionTensors), o(format.SectionSlots))
	f.Fuzz(func(t *testing.T, names, tensors, slots []byte) {
		st, err := format.DecodeSlots(slots, l.Sections)
		if err != nil {
			require.True(t, known(err))
			return
		}
		list := make([]format.Slot, st.Len())
		for i := range list {
			list[i] = st.At(i)
		}
		require.Equal(t, slots, format.EncodeSlots(list))
		slices.SortFunc(list, func(a, b format.Slot) int { return cmp.Compare(a.Offset, b.Offset) })
		for i := 1; i < len(list); i++ {
			require.GreaterOrEqual(t, list[i].Offset, list[i-1].Offset+list[i-1].Length)
		}
		tt, err := format.DecodeTensors(names, tensors, st)
		if err != nil {
			require.True(t, known(err))
			return
		}
		ts := make([]format.Tensor, tt.Len())
		for i := range ts {
			ts[i] = tt.At(i)
			require.Equal(t, i, tt.Find(ts[i].Name))
			for p := range ts[i].Slots {
				require.LessOrEqual(t, ts[i].SlotOffset+ts[i].PartBytes(p), list[ts[i].FirstSlot+p].Length)
			}
		}
		n, r := format.EncodeTensors(ts)
		require.Equal(t, names, n)
		require.Equal(t, tensors, r)
	})
}

func FuzzOpen(f *testing.F) {
	m, _ := formattest.Tiny(false)
	f.Add([]byte(m[:70000]), int64(len(m)))
	f.Add([]byte("GGUF"), int64(4))
	f.Fuzz(func(t *testing.T, b []byte, size int64) {
		if _, err := format.Open(formattest.Memory(b), size); err != nil {
			require.True(t, known(err), "%v", err)
		}
	})
}

func FuzzMutantsOpenOrAreRefused(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, true)
	f.Fuzz(func(t *testing.T, data []byte, moe bool) {
		m, ok := formattest.Mutant(moe, data)
		if !ok {
			return
		}
		if _, err := format.Open(m, int64(len(m))); err != nil {
			require.True(t, known(err), "%v", err)
		}
		if _, err := format.Verify(context.Background(), m, int64(len(m)), format.VerifyOptions{Workers: 1}); err != nil {
			require.True(t, known(err), "%v", err)
		}
	})
}

func TestMutantsOpenOrAreRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, ok := formattest.Mutant(rapid.Bool().Draw(t, "moe"), rapid.SliceOfN(rapid.Byte(), 0, 64).Draw(t, "data"))
		if !ok {
			return
		}
		if _, err := format.Open(m, int64(len(m))); err != nil && !known(err) {
			t.Fatal(err)
		}
	})
}

// The program's bytes are refused when anything about them is not canonical.
func TestNonCanonicalProgramsAreRefused(t *testing.T) {
	good, err := format.EncodeProgram(formattest.Draft(false).Program)
	require.NoError(t, err)
	_, err = format.DecodeProgram(append(good, 0))
	require.ErrorIs(t, err, format.ErrCorrupt)
	longer := append([]byte{0x98, 0x0c}, good[1:]...) // array of 12 with its length in a byte of its own
	require.Equal(t, byte(0x8c), good[0])
	_, err = format.DecodeProgram(longer)
	require.ErrorIs(t, err, format.ErrCorrupt)
	indefinite := append(append([]byte{0x9f}, good[1:]...), 0xff)
	_, err = format.DecodeProgram(indefinite)
	require.ErrorIs(t, err, format.ErrCorrupt)
	_, err = format.DecodeProgram(nil)
	require.ErrorIs(t, err, format.ErrCorrupt)
}
