package server

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// queue bounds what is taken on: so many requests answered at once, so many waiting for their turn, first come first served.
type queue struct {
	parallel, limit int
	patience        time.Duration // longest wait for a turn

	mu      sync.Mutex
	places  int       // tickets out, running or waiting or not yet asking for a turn
	running int       //
	waiting []*ticket // in order of arrival
	memory  uint64    // for keys and values of all that run; 0: no limit
	taken   uint64    // of it
	closed  bool
	usual   time.Duration // running average of how long a request runs
}

// ticket is a place in the queue.
type ticket struct {
	q       *queue
	turn    chan struct{} // closed when the turn has come, or the queue was closed
	refused bool          // set before turn is closed
	running bool
	needs   uint64 // memory, once it runs
	since   time.Time
}

func newQueue(parallel, limit int, patience time.Duration) *queue {
	return &queue{parallel: parallel, limit: limit, patience: patience, usual: time.Second}
}

// reserve takes a place, or says at once that there is none. leave must be called.
func (q *queue) reserve() (*ticket, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, draining()
	}
	if q.places >= q.parallel+q.limit {
		return nil, &apiError{status: http.StatusTooManyRequests, kind: typeLimit, code: "queue_full", retry: q.expected(),
			message: "the queue is full; try again later"}
	}
	q.places++
	return &ticket{q: q, turn: make(chan struct{})}, nil
}

// expected is how long a request that came now would wait, within bounds that a client can use.
func (q *queue) expected() time.Duration {
	wait := q.usual * time.Duration(q.places) / time.Duration(q.parallel)
	return min(max(wait, time.Second), time.Minute)
}

func draining() *apiError {
	return &apiError{status: http.StatusServiceUnavailable, kind: typeServer, code: "shutting_down", retry: 5 * time.Second, message: errShutdown.Error()}
}

// fits says whether a request may run beside those that do; q.mu is held. One alone always may: what it needs beyond the memory it is refused when it comes to it.
func (q *queue) fits(t *ticket) bool {
	return q.running < q.parallel && (q.memory == 0 || q.running == 0 || t.needs <= q.memory-min(q.taken, q.memory))
}

// left is the memory that running requests leave to sessions at rest.
func (q *queue) left() (bytes uint64, limited bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.memory - min(q.taken, q.memory), q.memory > 0
}

// wait returns when the ticket's turn has come. needs is the most memory that its keys and values will take.
func (t *ticket) wait(ctx context.Context, needs uint64) error {
	q := t.q
	q.mu.Lock()
	t.needs = needs
	switch {
	case q.closed:
		q.mu.Unlock()
		return draining()
	case len(q.waiting) == 0 && q.fits(t):
		t.run()
		q.mu.Unlock()
		return nil
	}
	q.waiting = append(q.waiting, t)
	q.mu.Unlock()
	timer := time.NewTimer(q.patience)
	defer timer.Stop()
	select {
	case <-t.turn:
		if t.refused {
			return draining()
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		q.mu.Lock()
		defer q.mu.Unlock()
		return &apiError{status: http.StatusServiceUnavailable, kind: typeServer, code: "queue_timeout", retry: q.expected(),
			message: "the request waited too long for its turn; try again later"}
	}
}

// run marks the ticket as running; q.mu is held.
func (t *ticket) run() {
	t.running, t.since = true, time.Now()
	t.q.running++
	t.q.taken += t.needs
}

// leave gives the place back and lets the next in.
func (t *ticket) leave() {
	q := t.q
	q.mu.Lock()
	defer q.mu.Unlock()
	q.places--
	if i := slices.Index(q.waiting, t); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	if t.running {
		q.running--
		q.taken -= t.needs
		q.usual += (time.Since(t.since) - q.usual) / 8
	}
	for len(q.waiting) > 0 && q.fits(q.waiting[0]) {
		next := q.waiting[0]
		q.waiting = slices.Delete(q.waiting, 0, 1)
		next.run()
		close(next.turn)
	}
}

// close refuses those who wait and all who come.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, t := range q.waiting {
		t.refused = true
		close(t.turn)
	}
	q.waiting = nil
}

// state counts running and waiting requests.
func (q *queue) state() (running, waiting int, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running, len(q.waiting), q.closed
}
