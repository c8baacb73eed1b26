package sched

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMemoryIsTheTightestOfAllLimits(t *testing.T) {
	root := t.TempDir()
	write := func(name, s string) {
		f := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(f), 0o755))
		require.NoError(t, os.WriteFile(f, []byte(s), 0o644))
	}
	write("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:    1000 kB\n")
	require.EqualValues(t, 1000<<10, availableMemory(root))
	write("proc/self/cgroup", "0::/a/b\n")
	write("sys/fs/cgroup/a/memory.max", "600000\n")
	write("sys/fs/cgroup/a/memory.current", "100000\n")
	write("sys/fs/cgroup/a/b/memory.max", "max\n")
	require.EqualValues(t, 500000, availableMemory(root))
	write("sys/fs/cgroup/a/b/memory.high", "50000\n")
	write("sys/fs/cgroup/a/b/memory.current", "30000\n")
	write("sys/fs/cgroup/a/b/memory.swap.max", "max\n") // and what could be swapped out does not count
	require.EqualValues(t, 20000, availableMemory(root), "above it the system takes memory away and lets processes wait")
	write("proc/self/cgroup", "5:memory:/x\n")
	write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "300000")
	write("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "400000")
	require.EqualValues(t, 1, availableMemory(root), "over the limit is not unknown")
}

func TestPagesOfFilesAreAvailableMemory(t *testing.T) {
	root := t.TempDir()
	write := func(name, s string) {
		f := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(f), 0o755))
		require.NoError(t, os.WriteFile(f, []byte(s), 0o644))
	}
	write("proc/meminfo", "MemAvailable:    100000 kB\n")
	write("proc/self/cgroup", "0::/a\n")
	write("sys/fs/cgroup/a/memory.max", "10000000\n")
	write("sys/fs/cgroup/a/memory.current", "9990000\n")
	require.EqualValues(t, 10000, availableMemory(root))
	write("sys/fs/cgroup/a/memory.stat", "anon 1990000\nfile 8000000\nshmem 500000\nslab_reclaimable 20000\n")
	require.EqualValues(t, 10000000-9990000+7520000, availableMemory(root))

	write("proc/self/cgroup", "5:memory:/x\n")
	write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "10000000")
	write("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "9990000")
	write("sys/fs/cgroup/memory/x/memory.stat", "cache 1\ntotal_cache 8000000\ntotal_shmem 500000\n")
	require.EqualValues(t, 10000+7500000, availableMemory(root))
}
