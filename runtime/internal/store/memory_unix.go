//go:build unix

package store

import "golang.org/x/sys/unix"

// Memory gives n bytes of zeroed memory at a page border, which the collector neither counts nor scans; pages count as used when they are touched. Give them back with FreeMemory.
func Memory(n int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err == nil {
		largePages(b)
	}
	return b, err
}

// FreeMemory gives the memory back.
func FreeMemory(b []byte) error { return unix.Munmap(b) }
