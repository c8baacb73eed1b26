//go:build linux || darwin

package store

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// sizeAndTime gives the size of an open file and when it was changed. Unlike File.Stat it allocates nothing: it is asked at every token.
func sizeAndTime(f *os.File) (int64, time.Time, error) {
	var st unix.Stat_t
	for {
		switch err := unix.Fstat(int(f.Fd()), &st); err {
		case nil:
			return st.Size, time.Unix(st.Mtim.Unix()), nil
		case unix.EINTR:
		default:
			return 0, time.Time{}, &os.PathError{Op: "stat", Path: f.Name(), Err: err}
		}
	}
}
