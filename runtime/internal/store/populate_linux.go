package store

import "golang.org/x/sys/unix"

// populate maps the pages of b, which begins at a page border, reading from the disk what the system does not hold. Systems before Linux 5.14 refuse.
func populate(b []byte) error { return unix.Madvise(b, unix.MADV_POPULATE_READ) }
