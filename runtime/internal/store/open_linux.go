package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openDirect opens a file for reads that go past the page cache, and tells the alignment that they need.
func openDirect(path string) (f *os.File, align int, err error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("O_DIRECT: %w", err)
	}
	f = os.NewFile(uintptr(fd), path)
	if align, err = alignment(fd); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("O_DIRECT: %w", err), f.Close())
	}
	return f, align, nil
}

var statx = unix.Statx // for tests

// alignment is what direct reads of an open file need of offsets, lengths and addresses. Systems before Linux 6.1 do not tell: there it is what slots have. More than slots have cannot be
// served, and a file system that names none has no direct reads.
func alignment(fd int) (int, error) {
	const slots = 4096
	var st unix.Statx_t
	if statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &st) != nil || st.Mask&unix.STATX_DIOALIGN == 0 {
		return slots, nil
	}
	switch {
	case st.Dio_offset_align == 0:
		return 0, fmt.Errorf("%w: the file system has no direct reads of this file", unix.EOPNOTSUPP)
	case max(st.Dio_offset_align, st.Dio_mem_align) > slots:
		return 0, fmt.Errorf("%w: direct reads of this file need an alignment of %d", unix.EOPNOTSUPP, max(st.Dio_offset_align, st.Dio_mem_align))
	}
	return int(max(st.Dio_offset_align, st.Dio_mem_align, 512)), nil
}

// openRing makes an io_uring. Its memory is not registered: that would take and pin every page of a grant before the first of them is needed, which took seconds for half a GiB
// on a busy machine, for a saving that is lost beside reads of hundreds of KiB.
func openRing(f *os.File) (device, error) {
	r, err := newRing(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	return r, nil
}

// openPages makes what finds pages; nil if the system refuses.
func openPages() *Pages {
	r, err := newRing(-1)
	if err != nil {
		return nil
	}
	return newPages(r)
}

// dropCached gives the pages of a range back that a buffered read has left in the system's cache: they would count against the memory that the user granted.
func dropCached(f *os.File) func(off, n int64) {
	fd := int(f.Fd())
	return func(off, n int64) { unix.Fadvise(fd, off, n, unix.FADV_DONTNEED) }
}

// cached reports whether pages of a mapped range are in the system's cache. b begins at a page border; false if the system does not tell.
func cached(b []byte) bool {
	page := os.Getpagesize()
	in := make([]byte, (len(b)+page-1)/page)
	if _, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), uintptr(unsafe.Pointer(unsafe.SliceData(in)))); e != 0 {
		return false
	}
	return slices.ContainsFunc(in, func(v byte) bool { return v&1 != 0 })
}

// place names the machine's kernel and the file system that a file lies on.
func place(path string) string {
	var u unix.Utsname
	unix.Uname(&u)
	var st unix.Stat_t
	var fs unix.Statfs_t
	if p, err := filepath.Abs(path); err != nil || unix.Stat(p, &st) != nil || unix.Statfs(p, &fs) != nil {
		return ""
	}
	return fmt.Sprintf("%s %s dev %x type %x", unix.ByteSliceToString(u.Nodename[:]), unix.ByteSliceToString(u.Release[:]), st.Dev, uint64(fs.Type))
}
