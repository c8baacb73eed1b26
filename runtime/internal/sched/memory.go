package sched

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// AvailableMemory is the number of bytes that this process can use without swapping: what the system says is available, or what is left below the limits of the process's control
// groups, whichever is less. 0 if unknown.
func AvailableMemory() uint64 { return availableMemory("/") }

func availableMemory(root string) uint64 {
	best := memAvailable(filepath.Join(root, "proc/meminfo"))
	data, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return best
	}
	for _, l := range strings.Split(string(data), "\n") {
		f := strings.SplitN(l, ":", 3)
		if len(f) != 3 {
			continue
		}
		mount, limit, usage := "sys/fs/cgroup", "memory.max", "memory.current"
		if f[1] != "" {
			if !hasController(f[1], "memory") {
				continue
			}
			mount, limit, usage = "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
		}
		for dir := f[2]; ; dir = filepath.Dir(dir) {
			at := filepath.Join(root, mount, dir)
			most, used := readNumber(filepath.Join(at, limit)), readNumber(filepath.Join(at, usage))
			if left := uint64(max(most-used, 0)); most > 0 && (best == 0 || left < best) {
				best = left
			}
			if dir == "/" || dir == "." || dir == "" {
				break
			}
		}
	}
	return best
}

// memAvailable reads MemAvailable of a meminfo file, in bytes.
func memAvailable(path string) uint64 {
	f, err := os.Open(path)
	if err != nil {
		return systemMemory()
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if v, ok := strings.CutPrefix(s.Text(), "MemAvailable:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(v, "kB")), 10, 54)
			if err != nil {
				return 0
			}
			return n << 10
		}
	}
	return 0
}
