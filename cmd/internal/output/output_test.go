package output

import (
	"errors"
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
	require.NoError(t, Write(link, 0o666, content))
	st, err := os.Lstat(link)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, st.Mode().Type())
	b, err := os.ReadFile(target)
	require.NoError(t, err)
	require.Equal(t, "x", string(b))

	null := filepath.Join(dir, "null") // a link, so that a failure of this test costs nothing
	require.NoError(t, os.Symlink(os.DevNull, null))
	require.NoError(t, Write(null, 0o666, content))
	st, err = os.Stat(null)
	require.NoError(t, err)
	require.NotZero(t, st.Mode()&os.ModeDevice)

	require.Error(t, Write(dir, 0o666, content))
	plain := filepath.Join(dir, "plain")
	require.NoError(t, Write(plain, 0o666, content))
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, list, 4)
}

// TestFailureLeavesTheFileAsItWas, and nothing beside it.
func TestFailureLeavesTheFileAsItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, WriteBytes(path, 0o600, []byte("old")))
	full := errors.New("disk full")
	require.ErrorIs(t, Write(path, 0o600, func(f *os.File) error {
		_, err := f.WriteString("new, but not all of it")
		return errors.Join(err, full)
	}), full)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(b))
	require.NoFileExists(t, path+Suffix)
}

// TestWhatAKilledProcessLeftIsTakenOver: nothing of it is in the next file, and files under construction do not pile up.
func TestWhatAKilledProcessLeftIsTakenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path+Suffix, []byte("much more than the next process writes"), 0o600))
	require.NoError(t, WriteBytes(path, 0o600, []byte("new")))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new", string(b))
	require.NoFileExists(t, path+Suffix)
}

func TestAFileIsWrittenByOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, err := Create(path, 0o600)
	require.NoError(t, err)
	require.ErrorIs(t, WriteBytes(path, 0o600, nil), ErrBusy)
	f.Discard()
	require.NoError(t, WriteBytes(path, 0o600, nil))
}

func TestNothingIsWrittenThroughALinkInTheWay(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "f"), filepath.Join(dir, "target")
	require.NoError(t, os.WriteFile(target, []byte("theirs"), 0o600))
	require.NoError(t, os.Symlink(target, path+Suffix))
	require.ErrorIs(t, WriteBytes(path, 0o600, []byte("x")), ErrInWay)
	b, err := os.ReadFile(target)
	require.NoError(t, err)
	require.Equal(t, "theirs", string(b))
}

// TestTempDirRemovesWhatKilledProcessesLeft, but nothing that is in use or not from here.
func TestTempDirRemovesWhatKilledProcessesLeft(t *testing.T) {
	if !locks {
		t.Skip("this system has no locks that end with their process")
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	mine, remove, err := TempDir("x-")
	require.NoError(t, err)
	left, theirs := filepath.Join(tmp, "x-left"), filepath.Join(tmp, "x-theirs")
	require.NoError(t, os.MkdirAll(left, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(left, inUse), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(left, "large"), nil, 0o600))
	require.NoError(t, os.MkdirAll(theirs, 0o700))
	other, remove2, err := TempDir("x-")
	require.NoError(t, err)
	require.NoDirExists(t, left)
	require.DirExists(t, mine)
	require.DirExists(t, theirs)
	remove()
	remove2()
	require.NoDirExists(t, mine)
	require.NoDirExists(t, other)
}
