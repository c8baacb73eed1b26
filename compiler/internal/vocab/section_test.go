package vocab

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler/internal/gguf"
	"jns/format"
)

// TestWriteSections writes the section of every GGUF in JNS_SECTION_IN (a path list) to the directory JNS_SECTION_OUT. The tests
// of the runtime's tokenizers call it: they may not import this package, nor this package theirs.
func TestWriteSections(t *testing.T) {
	out := os.Getenv("JNS_SECTION_OUT")
	if out == "" {
		t.Skip("JNS_SECTION_OUT is not set: nobody asks for sections")
	}
	for _, in := range filepath.SplitList(os.Getenv("JNS_SECTION_IN")) {
		set, err := gguf.Open(in)
		require.NoError(t, err)
		section, facts, err := Build(set)
		require.NoError(t, err, in)
		again, _, err := Build(set)
		require.NoError(t, err)
		require.Equal(t, section, again, "two builds of one vocabulary differ")
		require.NoError(t, set.Close())
		tab, err := format.ParseTokenizer(section)
		require.NoError(t, err)
		require.NoError(t, tab.Check())
		t.Logf("%s: %s %s, %d tokens, %d merges, %d bytes; %v", filepath.Base(in), facts.Model, facts.Pre, facts.Tokens, facts.Merges,
			len(section), facts.Notes)
		require.NoError(t, os.WriteFile(filepath.Join(out, filepath.Base(in)+".tok"), section, 0o644))
	}
}
