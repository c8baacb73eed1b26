package store

import "sync/atomic"

// How much of a queue is under way at a time. A device shares itself among all reads that it has, so that with many the first ends hardly earlier than the last: with 64 slots of
// 2.65 MB under way the first was there after 38 ms, with three after 2 ms, at the same 4.1 GB/s. Reads that are wanted now begin in the order in which they will be used, as few at
// once as keep a disk busy; those ahead of need may be more, since nobody looks after them while something long is computed.
const (
	demandBytes = 8 << 20
	aheadBytes  = 32 << 20
	leastReads  = 4 // under way at once, whatever their size: the readers of the devices without a queue
)

// flight is what is on its way in a queue. Its numbers are read without the queue's lock.
type flight struct {
	most   int64        // bytes under way; 0: as much as the device takes
	bytes  atomic.Int64 // under way
	held   atomic.Int64 // reads that wait for others to end
	urgent atomic.Int64 // workers that wait for a read
	before *Reads       // the queue that comes first
	behind *Reads       // the queue that comes after
}

// follow says that reads of q wait while those of another queue have use for the device.
func (q *Reads) follow(first *Reads) {
	q.flight.before, first.flight.behind = first, q
	first.flight.most, q.flight.most = demandBytes, aheadBytes
}

// mayStart reports whether one read more may be under way. What somebody waits for does not wait for another queue, which nobody may be looking after. The lock is held.
func (q *Reads) mayStart() bool {
	f := &q.flight
	if f.most == 0 {
		return true
	}
	if len(q.under)-len(q.free) >= leastReads && f.bytes.Load() >= f.most {
		return false
	}
	b := f.before
	return b == nil || f.urgent.Load() > 0 || b.flight.held.Load() == 0 && b.flight.bytes.Load() <= demandBytes/2
}

// Keep lets reads begin that waited for others, of this queue or the one before it, to end. It never waits, and costs next to nothing where there are none.
func (q *Reads) Keep() {
	if q.flight.held.Load() == 0 {
		return
	}
	if b := q.flight.before; b != nil && b.flight.bytes.Load() > 0 {
		b.Poll()
	}
	q.Poll()
}
