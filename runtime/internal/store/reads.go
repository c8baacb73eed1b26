package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrRead is wrapped by the error of a read that could not be done: the device failed or the file ended too early.
var ErrRead = errors.New("read failed")

// ErrTruncated is wrapped, beside ErrRead, when the file ends before the bytes that it had when it was opened.
var ErrTruncated = errors.New("the file was cut short")

// Read is one read of a range of the file into memory that no collector moves or frees (Frames). Zero it before it is started again.
type Read struct {
	Off int64
	Buf []byte // for direct reads address, length and Off are multiples of the alignment

	// Fresh says that the memory has never been written to: the system finds its pages when the read begins, which takes longer than all else that a beginning does.
	Fresh bool

	got   int // bytes that have come
	state atomic.Uint32
	err   error
	lost  bool
}

// States of a read.
const (
	readIdle = iota
	readUnderWay
	readDone
)

// Ended reports whether a started read has ended, without waiting; only Wait tells how.
func (r *Read) Ended() bool { return r.state.Load() == readDone }

// Lost reports, after Wait, that the device failed as a whole and may still be writing: the memory must not be used again.
func (r *Read) Lost() bool { return r.lost }

// device starts reads and tells how they ended, as a kernel does. It is used by one goroutine at a time.
type device interface {
	// start begins a read. At most depth() reads are under way. What it may do elsewhere, so as not to keep the caller, it does there with fresh memory.
	start(tag int, buf []byte, off int64, fresh bool) error
	// flush makes sure that all that was started is on its way.
	flush() error
	// reap calls f for every read that has ended, res being a number of bytes or a negative errno; with wait it waits for one at least.
	reap(wait bool, f func(tag, res int)) error
	depth() int
	close() error
}

// Reads is a queue of reads from one file. Safe for use by many goroutines. Start and Wait may block while another goroutine waits.
type Reads struct {
	mu      sync.Mutex
	dev     device
	plain   io.ReaderAt // for what the device refuses
	path    string
	under   []*Read // by tag
	free    []int
	waiting []*Read // started, not given to the device
	flight  flight
	align   int // of partial reads
	drop    func(off, n int64)
	spin    time.Duration
	broken  error
	closed  bool
	stats   ReadStats
	reaped  func(tag, res int) // took, made once: a worker that looks for the end of a read does so thousands of times
	again   bool               // took has ended a read since take began
}

// ReadStats count what a queue did.
type ReadStats struct {
	Reads, Bytes uint64
	Short        uint64 // reads that came in parts
	Refused      uint64 // reads that the device refused and pread did
}

func newReads(path string, dev device, plain io.ReaderAt, align int) *Reads {
	q := &Reads{dev: dev, plain: plain, path: path, align: max(align, 1), under: make([]*Read, dev.depth())}
	for i := range q.under {
		q.free = append(q.free, i)
	}
	q.reaped = q.took
	return q
}

// Start begins reads.
func (q *Reads) Start(rs ...*Read) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range rs {
		r.got, r.err, r.lost = 0, nil, false
		r.state.Store(readUnderWay)
		if q.closed {
			q.end(r, os.ErrClosed)
			continue
		}
		q.waiting = append(q.waiting, r)
	}
	q.push()
}

// push gives waiting reads to the device. The lock is held.
func (q *Reads) push() {
	n := 0
	for n < len(q.waiting) && len(q.free) > 0 && q.broken == nil {
		r := q.waiting[n]
		tag := q.free[len(q.free)-1]
		if !q.mayStart() {
			break
		}
		if err := q.dev.start(tag, r.Buf[r.got:], r.Off+int64(r.got), r.Fresh); err != nil {
			q.fail(err)
			break
		}
		q.free = q.free[:len(q.free)-1]
		q.under[tag] = r
		q.flight.bytes.Add(int64(len(r.Buf)))
		n++
	}
	q.waiting = append(q.waiting[:0], q.waiting[n:]...)
	if q.broken == nil {
		if err := q.dev.flush(); err != nil {
			q.fail(err)
		}
	}
	if q.broken != nil {
		for _, r := range q.waiting {
			q.pread(r)
		}
		q.waiting = q.waiting[:0]
	}
	q.flight.held.Store(int64(len(q.waiting)))
}

// fail gives the device up: what it has not begun pread will do.
func (q *Reads) fail(err error) { q.broken = err }

// ringSpin is how long a worker looks for the end of a read of a ring before it sleeps: longer than a slot of a few MB takes from a fast disk. A processor that has slept is slow when it
// wakes, not only late: with slots of 2.6 MB, of which every other turn misses one, decoding was 18 % faster than with 0.2 ms, most of it in products. Goroutines that read need
// the processor themselves: nobody spins for them.
const ringSpin = 5 * time.Millisecond

// Wait returns when a started read has ended.
func (q *Reads) Wait(r *Read) error {
	if r.state.Load() != readUnderWay {
		return r.err
	}
	q.flight.urgent.Add(1)
	defer q.flight.urgent.Add(-1)
	spin := q.spin
	if r.Fresh {
		spin = 0 // the processor is needed to clear pages
	}
	for end := time.Now().Add(spin); r.state.Load() == readUnderWay && time.Now().Before(end); {
		q.Poll()
		if q.flight.behind != nil {
			q.flight.behind.Keep()
		}
	}
	for r.state.Load() == readUnderWay {
		q.mu.Lock()
		if r.state.Load() == readUnderWay {
			q.take(true)
		}
		q.mu.Unlock()
	}
	return r.err
}

// Poll takes note of reads that have ended. It never waits.
func (q *Reads) Poll() {
	if q.mu.TryLock() {
		q.take(false)
		q.mu.Unlock()
	}
}

// take reaps. The lock is held.
func (q *Reads) take(wait bool) {
	q.again = false
	err := q.dev.reap(wait, q.reaped)
	if err != nil {
		// Reads that the kernel may still be writing to cannot be taken back: they have failed, and their memory is not used again.
		for tag, r := range q.under {
			if r != nil {
				q.under[tag] = nil
				q.flight.bytes.Add(-int64(len(r.Buf)))
				r.lost = true
				q.end(r, err)
			}
		}
		q.fail(err)
	}
	if q.again || err != nil || len(q.waiting) > 0 {
		q.push()
	}
}

// took takes the end of one read. The lock is held.
func (q *Reads) took(tag, res int) {
	r := q.under[tag]
	if r == nil {
		return
	}
	q.under[tag] = nil
	q.flight.bytes.Add(-int64(len(r.Buf)))
	q.free = append(q.free, tag)
	if q.ended(r, res) {
		q.waiting = append(q.waiting, r)
	}
	q.again = true
}

// ended takes the result of a read and says whether it has to go on.
func (q *Reads) ended(r *Read, res int) (again bool) {
	if res < 0 {
		switch e := syscall.Errno(-res); e {
		case syscall.EINTR, syscall.EAGAIN:
			return true
		case syscall.EPERM, syscall.ENOSYS, syscall.EINVAL, syscall.EOPNOTSUPP:
			q.stats.Refused++
			q.pread(r)
			return false
		default:
			q.end(r, e)
			return false
		}
	}
	if res > len(r.Buf)-r.got {
		q.end(r, fmt.Errorf("%d bytes came where %d were asked for", res, len(r.Buf)-r.got))
		return false
	}
	if r.got+res == len(r.Buf) {
		r.got += res
		q.end(r, nil)
		return false
	}
	if res == 0 {
		q.end(r, ErrTruncated)
		return false
	}
	q.stats.Short++
	step := res - res%q.align // a direct read goes on at an aligned place
	if step == 0 {
		q.pread(r) // the file's end, or a device that gives less than a block
		return false
	}
	r.got += step
	return true
}

// pread does what is left of a read in the plain way.
func (q *Reads) pread(r *Read) {
	n, err := q.plain.ReadAt(r.Buf[r.got:], r.Off+int64(r.got))
	r.got += n
	switch {
	case r.got == len(r.Buf):
		err = nil
	case err == nil || errors.Is(err, io.EOF):
		err = ErrTruncated
	}
	q.end(r, err)
}

func (q *Reads) end(r *Read, err error) {
	if err != nil {
		r.err = fmt.Errorf("%w: %s: %d bytes at offset %d: %w", ErrRead, q.path, len(r.Buf), r.Off, err)
	} else {
		q.stats.Reads++
		q.stats.Bytes += uint64(len(r.Buf))
		if q.drop != nil {
			q.drop(r.Off, int64(len(r.Buf)))
		}
	}
	r.state.Store(readDone)
}

// Stats tells what has been read so far.
func (q *Reads) Stats() ReadStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stats
}

// Close waits for what is under way and gives the device back.
func (q *Reads) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil
	}
	q.closed = true
	for _, r := range q.waiting {
		q.end(r, os.ErrClosed)
	}
	q.waiting = nil
	for q.broken == nil && len(q.free) < len(q.under) {
		q.take(true)
	}
	return q.dev.close()
}
