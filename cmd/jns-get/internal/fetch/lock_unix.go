//go:build unix

package fetch

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock takes the file for this process until it is closed, or fails at once.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// freeSpace gives the bytes that this user may still write in a directory.
func freeSpace(dir string) (uint64, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return uint64(s.Bavail) * uint64(s.Bsize), true
}
