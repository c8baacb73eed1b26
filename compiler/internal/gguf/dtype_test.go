package gguf_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler/internal/gguf"
)

func readerAt(b []byte) io.ReaderAt { return bytes.NewReader(b) }

// Numbers, names and block sizes on disk never change; this pins them.
func TestTypeNumbersNamesAndBlocksArePinned(t *testing.T) {
	want := map[gguf.Type]string{
		0: "F32 1 4", 1: "F16 1 2", 2: "Q4_0 32 18", 3: "Q4_1 32 20", 4: "Q4_2 removed", 5: "Q4_3 removed", 6: "Q5_0 32 22", 7: "Q5_1 32 24",
		8: "Q8_0 32 34", 9: "Q8_1 32 36", 10: "Q2_K 256 84", 11: "Q3_K 256 110", 12: "Q4_K 256 144", 13: "Q5_K 256 176", 14: "Q6_K 256 210",
		15: "Q8_K 256 292", 16: "IQ2_XXS 256 66", 17: "IQ2_XS 256 74", 18: "IQ3_XXS 256 98", 19: "IQ1_S 256 50", 20: "IQ4_NL 32 18",
		21: "IQ3_S 256 110", 22: "IQ2_S 256 82", 23: "IQ4_XS 256 136", 24: "I8 1 1", 25: "I16 1 2", 26: "I32 1 4", 27: "I64 1 8", 28: "F64 1 8",
		29: "IQ1_M 256 56", 30: "BF16 1 2", 31: "Q4_0_4_4 removed", 32: "Q4_0_4_8 removed", 33: "Q4_0_8_8 removed", 34: "TQ1_0 256 54",
		35: "TQ2_0 256 66", 36: "IQ4_NL_4_4 removed", 37: "IQ4_NL_4_8 removed", 38: "IQ4_NL_8_8 removed", 39: "MXFP4 32 17",
		40: "NVFP4 64 36", 41: "Q1_0 128 18", 42: "Q2_0 64 18", 43: "type 43 unknown",
	}
	for typ, line := range want {
		got := typ.String()
		if elems, bytes, ok := typ.Block(); ok {
			got += fmt.Sprintf(" %d %d", elems, bytes)
		} else if _, removed := typ.Removed(); removed {
			got += " removed"
		} else {
			got += " unknown"
		}
		require.Equal(t, line, got)
		if typ < 43 {
			back, ok := gguf.ParseType(typ.String())
			require.True(t, ok)
			require.Equal(t, typ, back)
		}
	}
	_, ok := gguf.ParseType("Q9_9")
	require.False(t, ok)
}

func TestRowsAreWholeBlocksAndBelow2To63Bytes(t *testing.T) {
	n, err := gguf.TypeQ4_K.RowBytes(512)
	require.NoError(t, err)
	require.EqualValues(t, 288, n)
	_, err = gguf.TypeQ4_K.RowBytes(257)
	require.ErrorIs(t, err, gguf.ErrCorrupt)
	_, err = gguf.TypeF64.RowBytes(1 << 61)
	require.ErrorIs(t, err, gguf.ErrCorrupt)
	_, err = gguf.Type(4).RowBytes(32)
	require.ErrorIs(t, err, gguf.ErrUnsupported)
}

// sharedDir finds the directory `shared` beside the repository, or JNS_SHARED.
func sharedDir(t *testing.T) string {
	if dir := os.Getenv("JNS_SHARED"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	require.NoError(t, err)
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			shared := filepath.Join(filepath.Dir(dir), "shared")
			if _, err := os.Stat(shared); err == nil {
				return shared
			}
			break
		}
	}
	t.Skip("no directory `shared` beside the repository and JNS_SHARED is not set")
	return ""
}

// In files of llama.cpp's writer each tensor begins at the padded end of the one before, and the file ends with the last.
// That holds only if the reader's size of every type is right.
func TestSizesLeaveNoGapsInRealFiles(t *testing.T) {
	seen := map[gguf.Type]bool{}
	files := 0
	dir, err := filepath.EvalSymlinks(sharedDir(t)) // WalkDir does not enter a link
	require.NoError(t, err)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".gguf" {
			return err
		}
		s, err := gguf.Open(path)
		if err != nil {
			return err
		}
		defer s.Close()
		files++
		f := s.Files[0]
		next := f.DataOffset
		for _, x := range f.Tensors {
			require.Equal(t, next, x.Offset, "%s: %s", path, x.Name)
			next = (x.Offset + x.Size + f.Alignment - 1) / f.Alignment * f.Alignment
			seen[x.Type] = true
		}
		require.GreaterOrEqual(t, next, f.Size, path)
		arch, ok, err := s.Str("general.architecture")
		require.NoError(t, err, path)
		require.True(t, ok, path)
		require.NotEmpty(t, arch, path)
		for _, kv := range s.KVs {
			readAll(t, kv.Value)
		}
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, files)
	for _, typ := range []string{
		"F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ1_S", "IQ1_M", "IQ2_XXS",
		"IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4", "NVFP4", "Q1_0", "Q2_0",
	} {
		id, ok := gguf.ParseType(typ)
		require.True(t, ok)
		if !seen[id] {
			t.Logf("no file with %s at hand", typ)
		}
	}
}
