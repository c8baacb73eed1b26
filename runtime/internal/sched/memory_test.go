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
	write("proc/self/cgroup", "5:memory:/x\n")
	write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "300000")
	write("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "400000")
	require.Zero(t, availableMemory(root), "over the limit")
}
