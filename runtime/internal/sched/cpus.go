package sched

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// CPUs says how many workers this process may use, and why.
type CPUs struct {
	Affinity int // processors that the process may run on
	Quota    int // whole processors that the control group's quota pays for; 0: no quota
}

// Workers is the smaller of the two, at least 1. A quota is rounded down: a worker that is throttled stalls all others at the next barrier.
func (c CPUs) Workers() int {
	n := c.Affinity
	if c.Quota > 0 {
		n = min(n, c.Quota)
	}
	return max(n, 1)
}

// Available reads the affinity mask and the control group quota of this process.
func Available() CPUs {
	c := CPUs{Affinity: runtime.NumCPU()}
	if ids := Allowed(); ids != nil {
		c.Affinity = len(ids)
	}
	if runtime.GOOS == "linux" {
		c.Quota = quota("/", "/proc/self/cgroup")
	}
	return c
}

// quota gives the smallest cpu quota, in whole processors rounded down but at least 1, of the process's control groups and all their ancestors; 0 if there is none. root is where the
// file system begins (a test passes another one).
func quota(root, self string) int {
	data, err := os.ReadFile(filepath.Join(root, self))
	if err != nil {
		return 0
	}
	best := 0
	consider := func(quota, period float64) {
		if quota <= 0 || period <= 0 {
			return
		}
		if n := max(int(quota/period), 1); best == 0 || n < best {
			best = n
		}
	}
	for _, l := range strings.Split(string(data), "\n") {
		f := strings.SplitN(l, ":", 3)
		if len(f) != 3 {
			continue
		}
		v2 := f[0] == "0" && f[1] == ""
		if !v2 && !hasController(f[1], "cpu") {
			continue
		}
		mount := "sys/fs/cgroup"
		if !v2 {
			mount = "sys/fs/cgroup/cpu"
		}
		for dir := f[2]; ; dir = filepath.Dir(dir) {
			at := filepath.Join(root, mount, dir)
			if v2 {
				consider(readPair(filepath.Join(at, "cpu.max")))
			} else {
				consider(readNumber(filepath.Join(at, "cpu.cfs_quota_us")), readNumber(filepath.Join(at, "cpu.cfs_period_us")))
			}
			if dir == "/" || dir == "." || dir == "" {
				break
			}
		}
	}
	return best
}

func hasController(list, name string) bool {
	for _, c := range strings.Split(list, ",") {
		if c == name {
			return true
		}
	}
	return false
}

func readNumber(path string) float64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(string(b)), 64)
	if err != nil {
		return 0
	}
	return v
}

// readPair reads "quota period" ("max 100000" means no quota).
func readPair(path string) (quota, period float64) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, 0
	}
	f := strings.Fields(string(b))
	if len(f) != 2 || f[0] == "max" {
		return 0, 0
	}
	quota, _ = strconv.ParseFloat(f[0], 64)
	period, _ = strconv.ParseFloat(f[1], 64)
	return quota, period
}
