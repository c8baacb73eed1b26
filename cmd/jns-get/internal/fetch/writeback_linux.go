package fetch

import (
	"os"

	"golang.org/x/sys/unix"
)

// writeBack asks the system to begin writing a range to disk, and does not wait. Without it gigabytes pile up in memory and the final sync waits for all of them. That it
// may fail, on file systems that know no such thing, costs nothing but time.
func writeBack(f *os.File, at, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), at, n, unix.SYNC_FILE_RANGE_WRITE)
}
