package store

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What the kernel's header linux/io_uring.h lays down, as far as reads need it.
type (
	sqOffsets struct {
		head, tail, ringMask, ringEntries, flags, dropped, array, resv1 uint32
		userAddr                                                        uint64
	}
	cqOffsets struct {
		head, tail, ringMask, ringEntries, overflow, cqes, flags, resv1 uint32
		userAddr                                                        uint64
	}
	ringParams struct {
		sqEntries, cqEntries, flags, sqThreadCPU, sqThreadIdle, features, wqFd uint32
		resv                                                                   [3]uint32
		sq                                                                     sqOffsets
		cq                                                                     cqOffsets
	}
	submission struct {
		op, flags   uint8
		ioprio      uint16
		fd          int32
		off, addr   uint64
		len, rw     uint32
		user        uint64
		bufIndex    uint16
		personality uint16
		splice      int32
		pad         [2]uint64
	}
	completion struct {
		user  uint64
		res   int32
		flags uint32
	}
)

const (
	ringOffSQ, ringOffCQ, ringOffSQE = 0, 0x8000000, 0x10000000
	opRead                           = 22
	opMadvise                        = 25
	enterGetEvents                   = 1
	asyncRead                        = 1 << 4 // IOSQE_ASYNC
	ringDepth                        = 64
)

// ring is an io_uring.
type ring struct {
	fd, file       int
	sqTail         *uint32
	cqHead, cqTail *uint32
	sqMask, cqMask uint32
	array          []uint32
	sqes           []submission
	cqes           []completion
	queue, entries []byte // mappings
	pending        uint32 // written to the queue, not yet taken by the kernel
	under          int
}

// newRing makes a ring for reads from a file descriptor, which stays the caller's.
func newRing(file int) (_ *ring, err error) {
	var p ringParams
	fd, _, e := unix.Syscall(unix.SYS_IO_URING_SETUP, ringDepth, uintptr(unsafe.Pointer(&p)), 0)
	if e != 0 {
		return nil, fmt.Errorf("io_uring_setup: %w", e)
	}
	r := &ring{fd: int(fd), file: file}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	unix.CloseOnExec(r.fd)
	size := max(int(p.sq.array+4*p.sqEntries), int(p.cq.cqes+16*p.cqEntries))
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	if p.features&1 == 0 { // IORING_FEAT_SINGLE_MMAP: both queues are one mapping, since Linux 5.4
		return nil, fmt.Errorf("io_uring: %w: the kernel is too old", unix.ENOSYS)
	}
	if r.queue, err = unix.Mmap(r.fd, ringOffSQ, size, prot, flags); err != nil {
		return nil, fmt.Errorf("io_uring: map: %w", err)
	}
	if r.entries, err = unix.Mmap(r.fd, ringOffSQE, int(p.sqEntries)*int(unsafe.Sizeof(submission{})), prot, flags); err != nil {
		return nil, fmt.Errorf("io_uring: map: %w", err)
	}
	at := func(o uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.queue[o])) }
	r.sqTail, r.cqHead, r.cqTail = at(p.sq.tail), at(p.cq.head), at(p.cq.tail)
	r.sqMask, r.cqMask = *at(p.sq.ringMask), *at(p.cq.ringMask)
	r.array = unsafe.Slice(at(p.sq.array), p.sqEntries)
	r.sqes = unsafe.Slice((*submission)(unsafe.Pointer(&r.entries[0])), p.sqEntries)
	r.cqes = unsafe.Slice((*completion)(unsafe.Pointer(&r.queue[p.cq.cqes])), p.cqEntries)
	return r, nil
}

// start leaves the beginning of a read into fresh memory to the kernel's own threads: the pages are found, and cleared, where the read begins. A worker that did it kept all others waiting.
func (r *ring) start(tag int, buf []byte, off int64, fresh bool) error {
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(buf)))
	tail := *r.sqTail
	i := tail & r.sqMask
	s := &r.sqes[i]
	*s = submission{op: opRead, fd: int32(r.file), off: uint64(off), addr: uint64(addr), len: uint32(len(buf)), user: uint64(tag)}
	if fresh {
		s.flags = asyncRead
	}
	r.array[i] = i
	atomic.StoreUint32(r.sqTail, tail+1)
	r.pending++
	r.under++
	return nil
}

// find finds the pages of buf, in one of the kernel's threads.
func (r *ring) find(tag int, buf []byte, write bool) {
	tail := *r.sqTail
	i := tail & r.sqMask
	advice := uint32(unix.MADV_POPULATE_READ)
	if write {
		advice = unix.MADV_POPULATE_WRITE
	}
	r.sqes[i] = submission{op: opMadvise, fd: -1, addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(buf)))), len: uint32(len(buf)), rw: advice, user: uint64(tag)}
	r.array[i] = i
	atomic.StoreUint32(r.sqTail, tail+1)
	r.pending++
	r.under++
}

func (r *ring) flush() error {
	if r.pending == 0 {
		return nil
	}
	return r.enter(0)
}

// enter gives the kernel what is pending and waits for the number of ends.
func (r *ring) enter(wait uint32) error {
	flags := uintptr(0)
	if wait > 0 {
		flags = enterGetEvents
	}
	for {
		n, _, e := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(r.pending), uintptr(wait), flags, 0, 0)
		switch {
		case e == unix.EINTR:
			continue
		case errors.Is(e, unix.EAGAIN) || errors.Is(e, unix.EBUSY): // short of memory, or ends have to be taken first
			if wait == 0 {
				return nil
			}
			if r.ready() {
				return nil
			}
			runtime.Gosched()
			continue
		case e != 0:
			return fmt.Errorf("io_uring_enter: %w", e)
		}
		r.pending -= min(uint32(n), r.pending)
		return nil
	}
}

func (r *ring) ready() bool { return *r.cqHead != atomic.LoadUint32(r.cqTail) }

func (r *ring) reap(wait bool, f func(tag, res int)) error {
	if wait && r.under > 0 && !r.ready() {
		if err := r.enter(1); err != nil {
			return err
		}
	}
	head := *r.cqHead
	for head != atomic.LoadUint32(r.cqTail) {
		c := r.cqes[head&r.cqMask]
		head++
		atomic.StoreUint32(r.cqHead, head)
		r.under--
		f(int(c.user), int(c.res))
	}
	return nil
}

func (r *ring) depth() int { return ringDepth }

func (r *ring) close() error {
	err := unix.Close(r.fd)
	if r.entries != nil {
		err = errors.Join(err, unix.Munmap(r.entries))
	}
	if r.queue != nil {
		err = errors.Join(err, unix.Munmap(r.queue))
	}
	r.entries, r.queue = nil, nil
	return err
}
