package store

import "golang.org/x/sys/unix"

// hugePages asks for large pages where the memory fills them: weights are read from end to end.
func hugePages(b []byte) {
	if len(b) >= 64<<20 {
		unix.Madvise(b, unix.MADV_HUGEPAGE)
	}
}
