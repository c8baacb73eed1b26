package pack

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler/internal/gguf"
)

func TestNarrowInvertsWidenForEveryHalf(t *testing.T) {
	all := make([]byte, 2<<16)
	for i := range 1 << 16 {
		binary.LittleEndian.PutUint16(all[2*i:], uint16(i))
	}
	for _, typ := range []gguf.Type{gguf.TypeF16, gguf.TypeBF16} {
		wide, err := Widen(typ, all)
		require.NoError(t, err)
		back, err := Narrow(typ, wide)
		require.NoError(t, err)
		require.Equal(t, all, back)
	}
}

func TestWidenedHalvesHaveTheSameValue(t *testing.T) {
	for h, want := range map[uint16]float64{
		0x3c00: 1, 0xc000: -2, 0x0001: 0x1p-24, 0x03ff: 1023 * 0x1p-24, 0x0400: 0x1p-14, 0x7bff: 65504, 0x7c00: math.Inf(1), 0x8000: 0,
	} {
		require.Equal(t, want, float64(math.Float32frombits(widenHalf(h))), "%04x", h)
	}
	require.True(t, math.IsNaN(float64(math.Float32frombits(widenHalf(0x7c01)))))
}

func TestNarrowRefusesWhatIsNoHalf(t *testing.T) {
	b := binary.LittleEndian.AppendUint32(nil, math.Float32bits(1.0000001))
	for _, typ := range []gguf.Type{gguf.TypeF16, gguf.TypeBF16} {
		_, err := Narrow(typ, b)
		require.Error(t, err)
	}
}

func TestVectorsOfOtherTypesAreUnsupported(t *testing.T) {
	_, err := Widen(gguf.TypeQ8_0, make([]byte, 34))
	require.ErrorIs(t, err, gguf.ErrUnsupported)
}
