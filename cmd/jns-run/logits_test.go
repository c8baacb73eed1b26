package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A process with the right to do so must not put a file in the place of /dev/null.
func TestOutputThatIsNoPlainFileStaysWhatItIs(t *testing.T) {
	dir := t.TempDir()
	content := func(f *os.File) error { _, err := f.WriteString("x"); return err }

	link, target := filepath.Join(dir, "link"), filepath.Join(dir, "target")
	require.NoError(t, os.WriteFile(target, []byte("old text"), 0o600))
	require.NoError(t, os.Symlink(target, link))
	require.NoError(t, atomically(link, content))
	st, err := os.Lstat(link)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, st.Mode().Type())
	b, err := os.ReadFile(target)
	require.NoError(t, err)
	require.Equal(t, "x", string(b))

	null := filepath.Join(dir, "null") // a link, so that a failure of this test costs nothing
	require.NoError(t, os.Symlink(os.DevNull, null))
	require.NoError(t, atomically(null, content))
	st, err = os.Stat(null)
	require.NoError(t, err)
	require.NotZero(t, st.Mode()&os.ModeDevice)

	require.Error(t, atomically(dir, content))
	plain := filepath.Join(dir, "plain")
	require.NoError(t, atomically(plain, content))
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, list, 4)
}
