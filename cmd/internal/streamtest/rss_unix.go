//go:build unix

package main

import (
	"os"
	"syscall"
)

// peakOf is the most memory that a process that has ended had at once; Linux counts KiB.
func peakOf(p *os.ProcessState) uint64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return uint64(u.Maxrss) << 10
	}
	return 0
}
