package gguf_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler/internal/gguf"
	"jns/compiler/internal/gguf/gguftest"
)

// model is a valid file with ten tensors.
func model() gguftest.File {
	f := gguftest.File{}
	f.Set("general.architecture", "llama")
	f.Set("tokenizer.ggml.tokens", []string{"a", "b"})
	for i := range 10 {
		f.Tensors = append(f.Tensors, gguftest.Tensor{Name: fmt.Sprintf("t%d", i), Type: gguf.TypeQ4_0, Dims: []uint64{32, uint64(1 + i)}})
	}
	return f
}

func TestASplitSetOpensFromAnyPartAndEqualsTheWhole(t *testing.T) {
	whole, err := gguf.Open(model().Write(t, filepath.Join(t.TempDir(), "m.gguf")))
	require.NoError(t, err)
	defer whole.Close()
	for n := 2; n <= 5; n++ {
		paths := gguftest.WriteParts(t, t.TempDir(), "m", gguftest.Split(model(), n))
		for _, p := range paths {
			s, err := gguf.Open(p)
			require.NoError(t, err)
			require.Len(t, s.Files, n)
			require.Len(t, s.Tensors, 10)
			for i, x := range s.Tensors {
				require.Equal(t, fmt.Sprintf("t%d", i), x.Name)
				require.Same(t, x, s.Tensor(x.Name))
				got, want := make([]byte, x.Size), make([]byte, x.Size)
				_, err := s.ReadAt(x.Shard, got, int64(x.Offset))
				require.NoError(t, err)
				_, err = whole.ReadAt(0, want, int64(whole.Tensor(x.Name).Offset))
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			arch, _, err := s.Str("general.architecture")
			require.NoError(t, err)
			require.Equal(t, "llama", arch)
			require.NoError(t, s.Close())
		}
	}
}

func TestAFirstPartWithoutTensorsIsFine(t *testing.T) {
	parts := gguftest.Split(model(), 2)
	parts[1].Tensors = append(parts[0].Tensors, parts[1].Tensors...)
	parts[0].Tensors = nil
	s, err := gguf.Open(gguftest.WriteParts(t, t.TempDir(), "m", parts)[1])
	require.NoError(t, err)
	require.Len(t, s.Tensors, 10)
	require.NoError(t, s.Close())
}

func TestMissingPartsAreNamed(t *testing.T) {
	paths := gguftest.WriteParts(t, t.TempDir(), "m", gguftest.Split(model(), 4))
	require.NoError(t, os.Remove(paths[0]))
	require.NoError(t, os.Remove(paths[2]))
	_, err := gguf.Open(paths[3])
	require.ErrorIs(t, err, gguf.ErrMissingPart)
	require.ErrorContains(t, err, "m-00001-of-00004.gguf, m-00003-of-00004.gguf")
}

func TestPartsThatDoNotFitTogetherAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(parts []gguftest.File)
		want   error
		says   string
	}{
		"count disagrees with the name":     {func(p []gguftest.File) { p[0].Set("split.count", uint16(4)) }, gguf.ErrCorrupt, "split.count"},
		"count disagrees in another part":   {func(p []gguftest.File) { p[1].Set("split.count", uint16(2)) }, gguf.ErrCorrupt, "split.count"},
		"number disagrees with the name":    {func(p []gguftest.File) { p[1].Set("split.no", uint16(2)) }, gguf.ErrCorrupt, "split.no"},
		"tensor count disagrees":            {func(p []gguftest.File) { p[2].Set("split.tensors.count", int32(11)) }, gguf.ErrCorrupt, "split.tensors.count"},
		"a part lost a tensor":              {func(p []gguftest.File) { p[2].Tensors = p[2].Tensors[1:] }, gguf.ErrCorrupt, "split.tensors.count"},
		"a tensor in two parts":             {func(p []gguftest.File) { p[2].Tensors[0].Name = "t0" }, gguf.ErrCorrupt, `"t0"`},
		"a key with two values":             {func(p []gguftest.File) { p[1].Set("general.architecture", "gemma3") }, gguf.ErrCorrupt, "general.architecture"},
		"an array with two values":          {func(p []gguftest.File) { p[1].Set("tokenizer.ggml.tokens", []string{"a", "c"}) }, gguf.ErrCorrupt, "tokenizer.ggml.tokens"},
		"a part is a download page":         {func(p []gguftest.File) { p[1] = gguftest.File{Magic: "<html>"} }, gguf.ErrNotGGUF, "00002-of-00003"},
		"a part is an LFS pointer":          {func(p []gguftest.File) { p[1] = gguftest.File{Magic: "version https://git-lfs"} }, gguf.ErrNotGGUF, "git lfs pull"},
		"a part does not know its number":   {func(p []gguftest.File) { p[1].KVs = p[1].KVs[1:] }, gguf.ErrCorrupt, "split.no"},
		"a part does not know it is one":    {func(p []gguftest.File) { p[1].KVs = nil }, gguf.ErrCorrupt, "split.count"},
		"the first part does not know":      {func(p []gguftest.File) { p[0].KVs = nil }, gguf.ErrCorrupt, "split.count"},
		"split.no of a wrong kind":          {func(p []gguftest.File) { p[0].Set("split.no", "0") }, gguf.ErrCorrupt, "split.no"},
		"split.count of two thousand parts": {func(p []gguftest.File) { p[0].Set("split.count", uint16(2000)) }, gguf.ErrCorrupt, "split.count"},
		"split.count beyond all handles":    {func(p []gguftest.File) { p[0].Set("split.count", uint16(65535)) }, gguf.ErrUnsupported, "split.count"},
	} {
		t.Run(name, func(t *testing.T) {
			parts := gguftest.Split(model(), 3)
			for i := range parts {
				parts[i].KVs, parts[i].Tensors = slices.Clone(parts[i].KVs), slices.Clone(parts[i].Tensors)
			}
			c.change(parts)
			paths := gguftest.WriteParts(t, t.TempDir(), "m", parts)
			_, err := gguf.Open(paths[0])
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, filepath.Dir(paths[0]))
		})
	}
}

func TestAPartUnderAnotherNameSaysHowPartsAreNamed(t *testing.T) {
	part := gguftest.Split(model(), 3)[0]
	_, err := gguf.Open(part.Write(t, filepath.Join(t.TempDir(), "blob.gguf")))
	require.ErrorIs(t, err, gguf.ErrMissingPart)
	require.ErrorContains(t, err, "model-00001-of-00003.gguf")
	b := part.Bytes()
	_, err = gguf.OpenReader(readerAt(b), int64(len(b)))
	require.ErrorIs(t, err, gguf.ErrMissingPart)
}

func TestAWholeModelNamedLikeAPartIsRefusedUnlessItIsTheOnlyOne(t *testing.T) {
	dir := t.TempDir()
	_, err := gguf.Open(model().Write(t, filepath.Join(dir, "m-00001-of-00002.gguf")))
	require.ErrorIs(t, err, gguf.ErrCorrupt)
	require.ErrorContains(t, err, "rename")
	s, err := gguf.Open(model().Write(t, filepath.Join(dir, "m-00001-of-00001.gguf")))
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

func TestRepeatedKeysOfEqualValueAreAccepted(t *testing.T) {
	parts := gguftest.Split(model(), 2)
	parts[1].Set("tokenizer.ggml.tokens", []string{"a", "b"})
	parts[1].Set("general.architecture", "llama")
	s, err := gguf.Open(gguftest.WriteParts(t, t.TempDir(), "m", parts)[0])
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

func TestJoinedPartsAreRecognised(t *testing.T) {
	parts := gguftest.Split(model(), 2)
	b := append(parts[0].Bytes(), parts[1].Bytes()...)
	_, err := gguf.Open(gguftest.WriteBytes(t, filepath.Join(t.TempDir(), "m-00001-of-00002.gguf"), b))
	require.ErrorIs(t, err, gguf.ErrCorrupt)
	require.ErrorContains(t, err, "second GGUF")
}

func TestWhatIsNoRegularFileIsRefused(t *testing.T) {
	_, err := gguf.Open(t.TempDir())
	require.ErrorIs(t, err, gguf.ErrNotGGUF)
	require.ErrorContains(t, err, "directory")
	_, err = gguf.Open(os.DevNull)
	require.ErrorIs(t, err, gguf.ErrNotGGUF)
	_, err = gguf.Open(filepath.Join(t.TempDir(), "absent.gguf"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestReadsAreBoundedAndSafeInParallel(t *testing.T) {
	s, err := gguf.Open(model().Write(t, filepath.Join(t.TempDir(), "m.gguf")))
	require.NoError(t, err)
	size := int64(s.Files[0].Size)
	for _, c := range []struct {
		shard int
		n     int
		off   int64
	}{{-1, 1, 0}, {1, 1, 0}, {0, 1, -1}, {0, 1, size}, {0, 2, size - 1}, {0, 1, 1<<63 - 1}} {
		_, err := s.ReadAt(c.shard, make([]byte, c.n), c.off)
		require.Error(t, err, "%+v", c)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, x := range s.Tensors {
				p := make([]byte, x.Size)
				_, err := s.ReadAt(x.Shard, p, int64(x.Offset))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, s.Close())
	_, err = s.ReadAt(0, make([]byte, 1), 0)
	require.Error(t, err)
	a, _, err := s.Array("tokenizer.ggml.tokens")
	require.NoError(t, err)
	_, err = a.Strings()
	require.Error(t, err)
}

func TestAFileThatShrinksWhileOpenIsAnErrorNotZeros(t *testing.T) {
	path := model().Write(t, filepath.Join(t.TempDir(), "m.gguf"))
	s, err := gguf.Open(path)
	require.NoError(t, err)
	defer s.Close()
	last := s.Tensor("t9")
	require.NoError(t, os.Truncate(path, int64(last.Offset)))
	_, err = s.ReadAt(0, make([]byte, last.Size), int64(last.Offset))
	require.ErrorIs(t, err, gguf.ErrCorrupt)
}

func TestDamagedPartsNeverPanicAndNeverLoseATensor(t *testing.T) {
	dir := t.TempDir()
	for seed := range uint64(300) {
		paths := gguftest.WriteParts(t, dir, "m", gguftest.Split(model(), 3))
		b, err := os.ReadFile(paths[seed%3])
		require.NoError(t, err)
		gguftest.WriteBytes(t, paths[seed%3], gguftest.Mutate(b, seed))
		s, err := gguf.Open(paths[seed/3%3])
		if err != nil {
			continue
		}
		require.Len(t, s.Files, 3)
		require.Len(t, s.Tensors, 10)
		for _, x := range s.Tensors {
			_, err := s.ReadAt(x.Shard, make([]byte, x.Size), int64(x.Offset))
			require.NoError(t, err)
		}
		require.NoError(t, s.Close())
	}
}
