package compiler

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler/internal/gguf"
	"jns/compiler/internal/gguf/gguftest"
	"jns/format"
)

// vocabularyOf writes the metadata of a GGUF without its tensors.
func vocabularyOf(t *testing.T, path string) string {
	set, err := gguf.Open(path)
	require.NoError(t, err)
	defer set.Close()
	var f gguftest.File
	for _, kv := range set.KVs {
		v := kv.Value
		if a, ok := v.(gguf.Array); ok {
			if s, err := a.Strings(); err == nil {
				v = s
			} else if i, err := a.Int32s(); err == nil {
				v = i
			} else {
				v, err = a.Float32s()
				require.NoError(t, err)
			}
		}
		f.Set(kv.Key, v)
	}
	return f.Write(t, filepath.Join(t.TempDir(), "vocabulary.gguf"))
}

func TestVocabularyOnlyFileBecomesAContainerThatTokenizes(t *testing.T) {
	src := vocabularyOf(t, filepath.Join("..", "testdata", "models", "tiny", "jns-tiny.gguf"))
	rep := roundTrip(t, Options{Source: src})
	f, err := os.Open(rep.Output)
	require.NoError(t, err)
	defer f.Close()
	st, err := f.Stat()
	require.NoError(t, err)
	c, err := format.Open(f, st.Size())
	require.NoError(t, err)
	require.True(t, c.Program.VocabularyOnly())
	require.NotEmpty(t, c.Tokenizer())
	require.EqualValues(t, 1024, c.Program.Vocab)
	require.Zero(t, c.Tensors.Len())
}

func TestFileWithNeitherTensorsNorVocabularyIsRefused(t *testing.T) {
	var f gguftest.File
	f.Set("general.architecture", "llama")
	_, err := Compile(t.Context(), Options{Source: f.Write(t, filepath.Join(t.TempDir(), "x.gguf"))})
	require.Error(t, err)
}
