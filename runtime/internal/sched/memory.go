package sched

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// AvailableMemory is the number of bytes that this process can use without swapping: what the system says is available, or what is left below the limits of the process's control
// groups, whichever is less. 0 if unknown, at least 1 if known. A control group counts the pages of files against its limit, but gives them up where memory is needed: they are
// available (a model's pages would otherwise seem to fill the memory that it is about to run in).
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
		mount, limits, usage := "sys/fs/cgroup", []string{"memory.max", "memory.high"}, "memory.current" // above memory.high a process is held up
		if f[1] != "" {
			if !hasController(f[1], "memory") {
				continue
			}
			mount, limits, usage = "sys/fs/cgroup/memory", []string{"memory.limit_in_bytes"}, "memory.usage_in_bytes"
		}
		for dir := f[2]; ; dir = filepath.Dir(dir) {
			at := filepath.Join(root, mount, dir)
			used := readNumber(filepath.Join(at, usage)) - fileCache(filepath.Join(at, "memory.stat"))
			for _, limit := range limits {
				most := readNumber(filepath.Join(at, limit))
				if left := uint64(max(most-max(used, 0), 1)); most > 0 && (best == 0 || left < best) {
					best = left
				}
			}
			if dir == "/" || dir == "." || dir == "" {
				break
			}
		}
	}
	return best
}

// fileCache is how much of a control group's usage the system takes back at need: pages of files, but not those of shared memory, and the reclaimable part of the kernel's own. 0 if unknown.
func fileCache(stat string) float64 {
	b, err := os.ReadFile(stat)
	if err != nil {
		return 0
	}
	v := map[string]float64{}
	for _, l := range strings.Split(string(b), "\n") {
		if name, n, ok := strings.Cut(l, " "); ok {
			v[name], _ = strconv.ParseFloat(n, 64)
		}
	}
	if all, ok := v["total_cache"]; ok { // version 1; total_ counts the groups below too, as usage does
		return max(all-v["total_shmem"], 0)
	}
	return max(v["file"]-v["shmem"]+v["slab_reclaimable"], 0)
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
