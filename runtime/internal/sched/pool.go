package sched

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// ErrPanic is wrapped by the error of a region in which a worker panicked.
var ErrPanic = errors.New("worker panicked")

// PanicError carries what a worker panicked with. A fault on a mapped page is a runtime.Error with an Addr method.
type PanicError struct {
	Worker int
	Value  any
	Stack  []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("worker %d: %v", e.Worker, e.Value)
}

// Unwrap makes errors.Is(err, ErrPanic) true.
func (e *PanicError) Unwrap() error { return ErrPanic }

// line keeps an atomic on cache lines of its own: two workers' flags on one line would be written in turns.
type line struct {
	v atomic.Uint32
	_ [124]byte
}

type wideLine struct {
	v atomic.Uint64
	_ [120]byte
}

// How long workers look for what they wait for. Inside a region the others are at work, and most waits are shorter than a microsecond: a worker looks on, and yields now and then for
// the case that another worker waits for this processor. It has a thread of its own, which a yield puts to sleep and wakes again: that takes longer than most steps, and a virtual
// processor that idles may be given to others for milliseconds, but it takes less than the system gives to a thread that does not yield. Between regions a token is chosen and its
// text written, which a worker awaits awake; then it parks, so that an idle process costs nothing, and one with a slow reader little.
const (
	yieldAfter = 100 * time.Microsecond // in a region, and again after as long
	parkAfter  = 500 * time.Microsecond // between regions
	pollsALook = 64                     // polls between two looks at the clock
)

// spin is a wait under way.
type spin struct {
	polls int
	since time.Time
	lost  time.Duration // limits that have passed
}

// poll is called after looking in vain. It reports whether the limit has passed since the wait began, or since it last did so.
func (s *spin) poll(limit time.Duration) bool {
	pause()
	if s.polls++; s.polls%pollsALook != 0 {
		return false
	}
	now := time.Now()
	if s.since.IsZero() {
		s.since = now
	}
	waited := now.Sub(s.since)
	if waited < limit {
		return false
	}
	s.since = now
	s.lost += waited
	return true
}

// regionWorkers is more than a pool can have.
const regionWorkers = 1 << 16

// Pool is a fixed set of workers. Run and Close are for one goroutine at a time.
type Pool struct {
	n       int
	atWork  int // workers of the current region, or the last
	f       func(w int)
	epoch   wideLine     // number of the current region × regionWorkers + its workers
	lost    atomic.Int64 // nanoseconds of waits longer than yieldAfter in the region, of all workers
	arrived line         // barrier: workers that have arrived
	sense   line         // barrier: generation
	done    line         // workers that have finished the region
	failed  line         // 1 after a panic in the region
	mu      sync.Mutex
	err     *PanicError
	parked  []parking
	closed  bool
	exit    sync.WaitGroup
}

// parking is where an idle worker sleeps.
type parking struct {
	asleep atomic.Uint32
	wake   chan struct{}
	_      [112]byte
}

// NewPool starts n-1 goroutines on threads of their own; n is at least 1.
func NewPool(n int) *Pool {
	n = min(max(n, 1), regionWorkers-1)
	p := &Pool{n: n, atWork: n, parked: make([]parking, n)}
	for w := 1; w < n; w++ {
		p.parked[w].wake = make(chan struct{}, 1)
		p.exit.Add(1)
		go p.work(w)
	}
	return p
}

// Workers is the number of workers, the caller of Run included.
func (p *Pool) Workers() int { return p.n }

// AtWork is how many workers the current region has, or the last one.
func (p *Pool) AtWork() int { return p.atWork }

// Run calls f(w) once for every worker w and returns when all have returned. A panic in any of them makes every later Barrier of the region return false and becomes a
// *PanicError.
func (p *Pool) Run(f func(w int)) error { return p.run(p.n, f) }

// run is Run with the first n workers; the others sleep.
func (p *Pool) run(n int, f func(w int)) error {
	p.f, p.err, p.atWork = f, nil, n
	p.failed.v.Store(0)
	p.arrived.v.Store(0)
	p.done.v.Store(0)
	p.lost.Store(0)
	p.begin()
	p.call(0)
	s := spin{}
	for p.done.v.Load() != uint32(n) {
		if s.poll(yieldAfter) {
			runtime.Gosched()
		}
	}
	p.waited(&s)
	if p.err != nil {
		return p.err
	}
	return nil
}

// begin opens a region for the workers at work.
func (p *Pool) begin() {
	region := p.epoch.v.Load()/regionWorkers + 1
	p.epoch.v.Store(region*regionWorkers + uint64(p.atWork))
	for w := 1; w < p.atWork; w++ {
		if q := &p.parked[w]; q.asleep.CompareAndSwap(1, 0) {
			q.wake <- struct{}{}
		}
	}
}

// waited is called when a wait has ended.
func (p *Pool) waited(s *spin) {
	if s.lost > 0 {
		p.lost.Add(int64(s.lost))
	}
}

// Barrier waits until every worker of the region has reached it. It reports false when a worker has panicked: the caller must return at once.
func (p *Pool) Barrier() bool { return p.Meet(0, nil, nil) }

// Meet is a Barrier for worker w at which the worker who comes last calls last before anyone goes on: what one worker has to do between two steps then costs no barrier of its own.
// The others call idle (nil: nothing) while they wait, until it returns false: something short that may be left undone.
func (p *Pool) Meet(w int, last func(w int), idle func(w int) bool) bool {
	if p.atWork == 1 {
		if last != nil {
			last(w)
		}
		return true
	}
	g := p.sense.v.Load()
	if p.arrived.v.Add(1) == uint32(p.atWork) {
		if last != nil {
			last(w)
		}
		p.arrived.v.Store(0)
		p.sense.v.Store(g + 1)
		return p.failed.v.Load() == 0
	}
	for idle != nil && p.sense.v.Load() == g {
		if !idle(w) {
			idle = nil
		}
	}
	s := spin{}
	for p.sense.v.Load() == g {
		if s.poll(yieldAfter) {
			runtime.Gosched()
		}
		if s.polls%pollsALook == 0 && p.failed.v.Load() != 0 {
			return false
		}
	}
	p.waited(&s)
	return p.failed.v.Load() == 0
}

// Await waits inside a region until another worker has set v to want. It reports false when a worker has panicked: the caller must return at once.
func (p *Pool) Await(v *atomic.Uint32, want uint32) bool {
	s := spin{}
	for v.Load() != want {
		if s.poll(yieldAfter) {
			runtime.Gosched()
		}
		if s.polls%pollsALook == 0 && p.failed.v.Load() != 0 {
			return false
		}
	}
	p.waited(&s)
	return true
}

// Close ends the workers.
func (p *Pool) Close() {
	if p.closed {
		return
	}
	p.closed = true
	p.f, p.atWork = nil, p.n
	p.begin()
	p.exit.Wait()
}

// call runs the region's function for one worker and turns a panic, a fault on a mapped page included, into the region's error.
func (p *Pool) call(w int) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if v := recover(); v != nil {
			p.mu.Lock()
			if p.err == nil {
				p.err = &PanicError{Worker: w, Value: v, Stack: debug.Stack()}
			}
			p.mu.Unlock()
			p.failed.v.Store(1)
		}
		p.done.v.Add(1)
	}()
	p.f(w)
}

func (p *Pool) work(w int) {
	defer p.exit.Done()
	runtime.LockOSThread()
	serve()
	q := &p.parked[w]
	seen := uint64(0)
	for s := (spin{}); ; {
		if e := p.epoch.v.Load(); e != seen {
			seen = e
			if w < int(e%regionWorkers) {
				if p.f == nil {
					return
				}
				p.call(w)
				s = spin{}
				continue
			}
			// Left out: this processor is wanted by others.
		} else if !s.poll(parkAfter) {
			continue
		}
		q.asleep.Store(1)
		if p.epoch.v.Load() == seen || !q.asleep.CompareAndSwap(1, 0) {
			<-q.wake // where the flag is taken, somebody is sending
		}
		s = spin{}
	}
}

// Counter hands out the pieces 0 … total-1 of a step to whoever asks; one per step of a region, reset before the region starts.
type Counter struct {
	v atomic.Int64
	_ [120]byte
}

// Reset makes the next piece 0.
func (c *Counter) Reset() { c.v.Store(0) }

// Next gives the next piece.
func (c *Counter) Next() int { return int(c.v.Add(1) - 1) }
