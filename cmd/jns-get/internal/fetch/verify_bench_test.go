package fetch

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/blake3"
)

// BenchmarkVerify verifies a file that is in the page cache; run it with -cpu 1,2. BenchmarkBlake3 is what the hash alone does on one core.
func BenchmarkVerify(b *testing.B) {
	data := content(256*mib, 50)
	spec := Spec{Path: filepath.Join(b.TempDir(), "x"), Size: int64(len(data)), Chunks: chunkList(data)}
	require.NoError(b, os.WriteFile(spec.Path, data, 0o666))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		_, err := Verify(context.Background(), spec, Options{})
		require.NoError(b, err)
	}
}

func BenchmarkBlake3(b *testing.B) {
	data := content(mib, 51)
	b.SetBytes(mib)
	for b.Loop() {
		blake3.Sum256(data)
	}
}
