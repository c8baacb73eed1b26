package store

import "golang.org/x/sys/unix"

// largePages asks for large pages where memory consists of whole ones.
func largePages(b []byte) {
	if len(b) > 0 && len(b)%(2<<20) == 0 {
		unix.Madvise(b, unix.MADV_HUGEPAGE)
	}
}
