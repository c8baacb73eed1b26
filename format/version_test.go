package format_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
)

// A version adds operands behind those of the one before: an older one must not carry them, and a list of another length is refused.
func TestVersionsOfAnOperationHaveTheirOwnOperands(t *testing.T) {
	program := func(version uint16, limit float32) *format.Program {
		return &format.Program{Ops: []format.Op{{Kind: format.OpExperts, Version: version, Params: &format.ExpertsParams{Act: format.ActSiLU, Limit: limit}}}}
	}
	first, err := format.EncodeProgram(program(1, 0))
	require.NoError(t, err)
	second, err := format.EncodeProgram(program(2, 7))
	require.NoError(t, err)
	require.Greater(t, len(second), len(first))
	for _, b := range [][]byte{first, second} {
		p, err := format.DecodeProgram(b)
		require.NoError(t, err)
		again, err := format.EncodeProgram(p)
		require.NoError(t, err)
		require.Equal(t, b, again)
	}
	p, err := format.DecodeProgram(second)
	require.NoError(t, err)
	require.Equal(t, float32(7), p.Ops[0].Params.(*format.ExpertsParams).Limit)
	require.NotContains(t, format.OpText(program(1, 0), format.TensorTable{}, program(1, 0).Ops[0]), "limit")
	require.Contains(t, format.OpText(p, format.TensorTable{}, p.Ops[0]), "limit=7")

	_, err = format.EncodeProgram(program(1, 7))
	require.ErrorIs(t, err, format.ErrCorrupt)
	_, err = format.EncodeProgram(program(4, 7))
	require.ErrorIs(t, err, format.ErrCorrupt)
	// The version stands before the operands: say 1 where the operands are those of 2, and the reverse.
	for _, b := range [][]byte{first, second} {
		wrong := append([]byte(nil), b...)
		for i := range wrong {
			if c := wrong[i]; (c == 1 || c == 2) && i > 0 && wrong[i-1] == byte(format.OpExperts) {
				wrong[i] = 3 - c
			}
		}
		require.NotEqual(t, b, wrong)
		_, err := format.DecodeProgram(wrong)
		require.ErrorIs(t, err, format.ErrCorrupt)
	}
}
