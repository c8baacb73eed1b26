package restore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler/internal/gguf"
	"jns/format"
)

func TestAFileThatNothingStandsBehindIsNotRestored(t *testing.T) {
	header := &gguf.File{Tensors: []gguf.Tensor{{Size: 1000}, {Size: 24}}}
	f := format.SourceFile{Length: 1 << 45, Header: make([]byte, 100), Gaps: []format.Gap{{Offset: 100, Length: 28}}}
	require.ErrorIs(t, covered(&f, header), format.ErrCorrupt)
	f.Length = 100 + 28 + 1024
	require.NoError(t, covered(&f, header))
}
