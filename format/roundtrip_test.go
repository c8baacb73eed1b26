package format_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
	"jns/format/formattest"
)

func TestSealedContainerOpensAndVerifies(t *testing.T) {
	for _, moe := range []bool{false, true} {
		m, l := formattest.Tiny(moe)
		c, err := format.Open(m, int64(len(m)))
		require.NoError(t, err)
		require.Equal(t, l.Draft.Tensors[3], c.Tensors.At(3))
		require.Equal(t, l.Draft.Slots[2], c.Slots.At(2))
		require.Equal(t, len(l.Draft.Tensors), c.Tensors.Len())
		require.Equal(t, l.Draft.Program.Ops, c.Program.Ops)
		require.Equal(t, string(l.Draft.Template), c.Template())
		require.Equal(t, l.Draft.Model, c.TOC.Model)
		fs, err := c.SourceFiles()
		require.NoError(t, err)
		require.Equal(t, l.Draft.SourceFiles, fs)
		_, err = format.Verify(context.Background(), m, int64(len(m)), format.VerifyOptions{Workers: 2})
		require.NoError(t, err)
	}
}

func TestZerosOfASourceFileAreBounded(t *testing.T) {
	f := format.SourceFile{Length: 1 << 40, Gaps: []format.Gap{{Length: format.MaxZeros}}}
	b, err := format.EncodeSource([]format.SourceFile{f})
	require.NoError(t, err)
	_, err = format.DecodeSource(b)
	require.NoError(t, err)
	f.Gaps = append(f.Gaps, format.Gap{Offset: format.MaxZeros, Length: 1})
	_, err = format.EncodeSource([]format.SourceFile{f})
	require.ErrorContains(t, err, "zeros")
}
