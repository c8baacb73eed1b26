package sched

import "golang.org/x/sys/unix"

// systemMemory is the size of the machine's memory where no finer figure is at hand.
func systemMemory() uint64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return n
}
