package sched

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBarrierSeparatesSteps(t *testing.T) {
	for n := 1; n <= 4; n++ {
		p := NewPool(n)
		for round := 0; round < 200; round++ {
			var a, b atomic.Int64
			var wrong atomic.Int64
			require.NoError(t, p.Run(func(w int) {
				a.Add(1)
				if !p.Barrier() {
					return
				}
				if a.Load() != int64(n) {
					wrong.Add(1)
				}
				b.Add(1)
				if !p.Barrier() {
					return
				}
				if b.Load() != int64(n) {
					wrong.Add(1)
				}
			}))
			require.Zero(t, wrong.Load())
			if round%50 == 0 {
				time.Sleep(2 * time.Millisecond) // let them park
			}
		}
		p.Close()
	}
}

func TestPanicEndsTheRegionWithAnError(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	err := p.Run(func(w int) {
		if w == 1 {
			panic("broken")
		}
		p.Barrier()
	})
	require.ErrorIs(t, err, ErrPanic)
	var pe *PanicError
	require.True(t, errors.As(err, &pe))
	require.Equal(t, 1, pe.Worker)
	require.NoError(t, p.Run(func(int) { p.Barrier() }), "the pool is usable afterwards")
}

func TestQuotaIsRoundedDownAndFoundInAncestors(t *testing.T) {
	for _, c := range []struct {
		name, self string
		files      map[string]string
		want       int
	}{
		{"v2 fraction", "0::/a/b\n", map[string]string{"sys/fs/cgroup/a/b/cpu.max": "765000 100000\n"}, 7},
		{"v2 ancestor", "0::/a/b\n", map[string]string{"sys/fs/cgroup/a/cpu.max": "200000 100000", "sys/fs/cgroup/a/b/cpu.max": "max 100000"}, 2},
		{"v2 below one", "0::/\n", map[string]string{"sys/fs/cgroup/cpu.max": "50000 100000"}, 1},
		{"v1", "3:cpu,cpuacct:/x\n", map[string]string{"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "350000", "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000"}, 3},
		{"v1 none", "3:cpu,cpuacct:/x\n", map[string]string{"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000"}, 0},
		{"garbage", "what\n::\n", nil, 0},
	} {
		root := t.TempDir()
		write := func(name, s string) {
			f := filepath.Join(root, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(f), 0o755))
			require.NoError(t, os.WriteFile(f, []byte(s), 0o644))
		}
		write("proc/self/cgroup", c.self)
		for n, s := range c.files {
			write(n, s)
		}
		require.Equal(t, c.want, quota(root, "/proc/self/cgroup"), c.name)
	}
	require.Equal(t, 2, CPUs{Affinity: 8, Quota: 2}.Workers())
	require.Equal(t, 8, CPUs{Affinity: 8}.Workers())
}

// Workers without work sleep soon, and are there again when there is some.
func TestIdleWorkersPark(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	for range 5 {
		var calls atomic.Int32
		require.NoError(t, p.Run(func(int) { calls.Add(1) }))
		require.EqualValues(t, 3, calls.Load())
		for w := 1; w < 3; w++ {
			require.Eventually(t, func() bool { return p.parked[w].asleep.Load() == 1 }, 5*time.Second, 100*time.Microsecond)
		}
	}
}
