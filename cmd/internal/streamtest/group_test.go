package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// folder makes files that look like a control group.
func folder(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

func TestBothVersionsAreLimitedWithoutSwapAndCounted(t *testing.T) {
	one := map[string]string{"memory.limit_in_bytes": "9223372036854771712\n", "memory.max_usage_in_bytes": "12345\n", "memory.failcnt": "7\n",
		"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"}
	two := map[string]string{"cgroup.controllers": "cpu memory pids\n", "cgroup.subtree_control": "cpu\n", "memory.max": "max\n", "memory.peak": "12345\n",
		"memory.events": "low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\n"}
	for _, v := range []struct {
		files             map[string]string
		v2                bool
		limit, swap, none string
	}{{one, false, "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "65536"}, {two, true, "memory.max", "memory.swap.max", "0"}} {
		for _, swap := range []bool{false, true} {
			dir := folder(t, v.files)
			if swap {
				require.NoError(t, os.WriteFile(filepath.Join(dir, v.swap), []byte("max\n"), 0o644))
			}
			v2, err := groupVersion(dir)
			require.NoError(t, err)
			require.Equal(t, v.v2, v2)
			g := &group{dir, v2}
			require.NoError(t, g.limit("65536"))
			b, err := os.ReadFile(filepath.Join(dir, v.limit))
			require.NoError(t, err)
			require.Equal(t, "65536", string(b))
			if b, err = os.ReadFile(filepath.Join(dir, v.swap)); swap {
				require.NoError(t, err)
				require.Equal(t, v.none, string(b))
			} else {
				require.ErrorIs(t, err, os.ErrNotExist, "a kernel without a count of swap has none to forbid")
			}
			c, err := g.charge()
			require.NoError(t, err)
			require.Equal(t, charge{true, 12345, 7, 2}, c)
		}
	}
	dir := folder(t, two)
	require.NoError(t, os.Remove(filepath.Join(dir, "memory.peak")))
	c, err := (&group{dir, true}).charge()
	require.NoError(t, err)
	require.Equal(t, charge{false, 0, 7, 2}, c, "an older kernel keeps no peak")
	require.NoError(t, os.Remove(filepath.Join(dir, "memory.max")))
	require.ErrorIs(t, (&group{dir, true}).limit("1"), os.ErrNotExist)

	for _, files := range []map[string]string{{}, {"cgroup.controllers": "cpu pids\n"}, {"cgroup.controllers": "cpu memory2\n"}} {
		_, err := groupVersion(folder(t, files))
		require.ErrorContains(t, err, "-cgroup")
	}
}

func TestWhatIsChargedMayNotExceedTheGrant(t *testing.T) {
	require.NoError(t, charge{}.judge("100"), "no group")
	require.NoError(t, charge{known: true, peak: 100, hits: 3}.judge("100"))
	require.Error(t, charge{known: true, peak: 101}.judge("100"))
	require.Error(t, charge{known: true}.judge("100"), "it ran elsewhere")
	require.Error(t, charge{oom: 1}.judge("100"))
}

// TestARealGroupCountsThePageCache needs a folder below which groups may be made, as root: JNS_CGROUP=/sys/fs/cgroup/memory, or a folder of version 2.
func TestARealGroupCountsThePageCache(t *testing.T) {
	parent := os.Getenv("JNS_CGROUP")
	if parent == "" || runtime.GOOS != "linux" {
		t.Skip("JNS_CGROUP names no control group")
	}
	const limit = 16 << 20
	name := filepath.Join(t.TempDir(), "large")
	require.NoError(t, os.WriteFile(name, make([]byte, 4*limit), 0o644))
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
	dropCache(name)
	test := test{group: parent}
	c, g, err := test.limited(strconv.Itoa(limit), "cat", name)
	require.NoError(t, err)
	defer func() { require.NoError(t, g.remove()) }()
	require.NoError(t, c.Run())
	got, err := g.charge()
	require.NoError(t, err)
	t.Logf("%+v", got)
	require.NoError(t, got.judge(strconv.Itoa(limit)))
	require.Greater(t, got.peak, uint64(limit/2), "the file's pages count")
}
