//go:build unix

package store

import "golang.org/x/sys/unix"

// Frames gives n bytes of zeroed memory that no collector moves, at a page border. Pages count as used when they are written. Give them back with FreeFrames.
func Frames(n int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, err
	}
	hugePages(b)
	return b, nil
}

// unmapPages takes pages of a mapped file out of the process's memory; they come back at the next touch. b begins at a page border, or nothing happens.
func unmapPages(b []byte) {
	if len(b) > 0 {
		unix.Madvise(b, unix.MADV_DONTNEED)
	}
}

// FreeFrames gives the memory back. Nothing may be reading into it.
func FreeFrames(b []byte) error { return unix.Munmap(b) }
