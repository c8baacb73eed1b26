//go:build unix

package store

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

func mapFile(f *os.File, size int64) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
}

func unmapFile(b []byte) error { return unix.Munmap(b) }

func offsetOf(b []byte, addr uintptr) (int64, bool) {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	if addr < start || addr >= start+uintptr(len(b)) {
		return 0, false
	}
	return int64(addr - start), true
}
