package format_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
	"jns/format/formattest"
)

func TestForeignFilesAreNamed(t *testing.T) {
	pad := make([]byte, 8192)
	for magic, want := range map[string]string{
		"GGUF\x03\x00\x00\x00":                            "compile it first: jnsc compile x.gguf",
		"FUGG\x00\x00\x00\x03":                            "big-endian GGUF",
		"JANASLLM\x03\x00\x00\x00":                        "another public format",
		"JANASLLM\x02\x00\x00\x00":                        "another public format",
		"JNS\x02aaaaa":                                    "another public format",
		"version https://git-lfs.github.com/spec/v1\noid": "Git LFS pointer",
		"<!DOCTYPE html>":                                 "HTML page",
		"\x89jnsc\n\x1a\x00":                              "text-mode transfer",
		"\x09jnsc\r\n\x1a":                                "text-mode transfer",
		"ustar":                                           "of no kind that is known here",
	} {
		b := formattest.Memory(append([]byte(magic), pad...))
		_, err := format.Open(b, int64(len(b)))
		require.ErrorIs(t, err, format.ErrMagic, "%q", magic)
		require.ErrorContains(t, err, want)
	}
	_, err := format.Open(formattest.Memory("GGUF"), 4)
	require.ErrorIs(t, err, format.ErrMagic)
	_, err = format.Open(formattest.Memory(nil), 0)
	require.ErrorIs(t, err, format.ErrCorrupt)
}

func TestLaterVersionsAreRefusedByVersion(t *testing.T) {
	for _, v := range [][2]uint16{{1, 2}, {2, 0}, {0, 9}} {
		m, _ := formattest.Tiny(false)
		h, err := format.DecodeHeader(m)
		require.NoError(t, err)
		h.Major, h.Minor = v[0], v[1]
		b, err := format.EncodeHeader(h)
		require.NoError(t, err)
		copy(m, b)
		_, err = format.Open(m, int64(len(m)))
		require.ErrorIs(t, err, format.ErrVersion)
	}
}

func TestNumbersOnDiskNeverChange(t *testing.T) {
	require.Equal(t, "\x89jnsc\r\n\x1a", string(format.Magic[:]))
	for i, name := range []string{"source", "tokenizer", "template", "program", "names", "tensors", "slots", "provenance", "resident", "layers", "experts", "rows", "aside", "chunks"} {
		require.Equal(t, name, format.SectionKind(i+1).String())
	}
	for i, name := range []string{"pinned", "layer", "expert", "rows", "aside"} {
		require.Equal(t, name, format.Class(i+1).String())
	}
	for i, name := range []string{"rows", "norm", "quantize", "matmul", "rope", "kv_append", "attention", "activation", "element", "select", "route", "experts", "soft_cap", "slice", "temper", "conv", "scan", "delta", "head_matmul", "join", "mix", "affine", "wkv", "position", "xielu", "retain"} {
		k := format.OpKind(i + 1)
		require.Equal(t, name, k.String())
		require.Equal(t, k, format.NewParams(k).Kind())
		newest := map[format.OpKind]uint16{format.OpAttention: 3, format.OpExperts: 3, format.OpRoute: 2, format.OpDelta: 2}[k]
		require.Equal(t, max(1, newest), format.OpVersion(k))
	}
	require.Nil(t, format.NewParams(format.OpRetain+1))
	require.Equal(t, []any{1, 2, 3, 4}, []any{int(format.ElemF32), int(format.ElemQ8X), int(format.ElemRoute), int(format.ElemQ8X2)})
	require.Equal(t, []any{128, 64, 4096, 65536, 1 << 20}, []any{format.TensorRecord, format.SlotRecord, format.SlotAlign, format.SectionAlign, format.ChunkSize})
}
