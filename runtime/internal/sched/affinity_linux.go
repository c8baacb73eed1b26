package sched

import (
	"runtime"

	"golang.org/x/sys/unix"
)

func affinity() int {
	var s unix.CPUSet
	if err := unix.SchedGetaffinity(0, &s); err != nil {
		return runtime.NumCPU()
	}
	return max(s.Count(), 1)
}
