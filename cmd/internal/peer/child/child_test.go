package child

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRowsAreReadWhereTheyLieAndPartialFilesAreRefused(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, binary.Write(&b, binary.LittleEndian, []float32{1, 2, 3, 4, 5, 6}))
	path := filepath.Join(t.TempDir(), "rows")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	rows, err := ReadRows(path, 2, 1, 2)
	require.NoError(t, err)
	require.Equal(t, [][]float32{{3, 4}, {5, 6}}, rows)
	for _, c := range [][3]int{{2, 2, 2}, {4, 0, 1}, {0, 0, 1}, {2, -1, 1}} {
		_, err := ReadRows(path, c[0], c[1], c[2])
		require.Error(t, err, c)
	}
}

func TestARefusalIsRecognisedByItsExitCodeAndKeepsItsWords(t *testing.T) {
	sh := "/bin/sh"
	if _, err := os.Stat(sh); err != nil {
		t.Skip("no /bin/sh here")
	}
	_, err := Run(context.Background(), sh, "-c", "echo first >&2; echo 'no such type' >&2; exit 4")
	why, ok := Unsupported(err)
	require.True(t, ok)
	require.Equal(t, "no such type", why)
	_, err = Run(context.Background(), sh, "-c", "exit 3")
	_, ok = Unsupported(err)
	require.False(t, ok)
	require.Error(t, err)
	r, err := Run(context.Background(), sh, "-c", "echo hello")
	require.NoError(t, err)
	require.Equal(t, "hello\n", string(r.Stdout))
	require.Positive(t, r.First)
	require.LessOrEqual(t, r.First, r.Wall)
}
