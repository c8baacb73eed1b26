package format

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	_, _, err := OpenFile(dir)
	require.ErrorIs(t, err, ErrNotRegular)
	require.EqualError(t, err, dir+": not a regular file: it is a directory")
	_, _, err = OpenFile(filepath.Join(dir, "nosuch"))
	require.ErrorIs(t, err, os.ErrNotExist)
	path := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(path, []byte("text"), 0o666))
	f, size, err := OpenFile(path)
	require.NoError(t, err)
	require.EqualValues(t, 4, size)
	require.NoError(t, f.Close())
}
