package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What lies in the system's cache would tell the cache's speed: ranges that are there are not measured with.
func TestPagesInTheSystemsCacheAreSeen(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, content(64), 0o600))
	s, err := Open(name)
	require.NoError(t, err)
	defer s.Close()
	require.True(t, cached(s.data), "just written")
	require.NoError(t, s.f.Sync())
	dropCached(s.f)(0, s.Size())
	var fs unix.Statfs_t
	require.NoError(t, unix.Fstatfs(int(s.f.Fd()), &fs))
	if int64(fs.Type) == unix.TMPFS_MAGIC || int64(fs.Type) == unix.RAMFS_MAGIC {
		t.Skip("files of this file system are nowhere but in memory")
	}
	require.False(t, cached(s.data))
}
