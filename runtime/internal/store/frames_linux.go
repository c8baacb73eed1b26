package store

import "golang.org/x/sys/unix"

// hugePages asks for large pages where the memory fills some: weights are read from end to end, and a read into small pages is a request of as many pieces. With slots of 0.4 MB in 12 MiB
// of frames reads came at 1.4 GB/s from a disk that gives 3.9.
func hugePages(b []byte) {
	if len(b) >= 4<<20 {
		unix.Madvise(b, unix.MADV_HUGEPAGE)
	}
}
