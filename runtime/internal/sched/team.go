package sched

import (
	"runtime"
	"slices"
	"time"
)

// Team is a crew at work: a Pool whose workers know how fast they are beside each other and, where it matters, keep to processors of their kind.
//
// Pieces of a step are handed out one by one whoever asks; what a slow worker must not do is take one of the last, for which all others would wait. So it takes a piece only
// while the faster ones have more left than they could do in the time that it needs. No bit depends on who takes what.
type Team struct {
	*Pool
	crew   Crew
	places []place // by worker; nil: the system places them
	home   place   // where the caller's thread may run when it does not work here
	seated []bool
	f      func(w int)
	enter  func(w int) // sit, made a value once

	turnout *Turnout
	ended   time.Time // of the last batch

	patience []int // by worker: the least number of pieces left with which it takes one; nil: all are alike
	runs     int
}

// NewTeam starts the workers of a crew; Close ends them.
func NewTeam(c Crew) *Team {
	t := &Team{Pool: NewPool(len(c.Shares)), crew: c, seated: make([]bool, max(len(c.Shares), 1)), turnout: NewTurnout(max(len(c.Shares), 1))}
	t.enter = t.sit
	t.setPatience()
	if !c.Bound {
		return t
	}
	places := make([]place, len(c.Shares))
	home, ok := here()
	for i, s := range c.Shares {
		var named bool
		places[i], named = placeOf(s.among)
		ok = ok && named
	}
	if ok {
		t.places, t.home = places, home
	}
	return t
}

// Crew is the crew with its shares as they are now.
func (t *Team) Crew() Crew { return t.crew }

// Prefetch is how many bytes ahead of its loads worker w asks for weights, 0 if not at all.
func (t *Team) Prefetch(w int) int {
	if w >= len(t.crew.Shares) {
		return 0
	}
	return t.crew.Shares[w].prefetch
}

// Run is Pool.Run with every worker in its place. The caller's thread has its own place again afterwards.
func (t *Team) Run(f func(w int)) error {
	return t.run(t.Workers(), f)
}

// stale: a longer pause than this, and who else is at work is not known any more.
const stale = 2 * time.Second

// Do is Run for a batch of so many rows, with as many workers as turn out.
func (t *Team) Do(rows int, f func(w int)) error {
	start := time.Now()
	if t.turnout.Workers() < t.Workers() && start.Sub(t.ended) > stale {
		t.turnout.Anew()
	}
	n := t.turnout.Workers()
	err := t.run(n, f)
	t.ended = time.Now()
	if err == nil {
		t.turnout.Ran(rows, t.ended.Sub(start), time.Duration(t.lost.Load())/time.Duration(max(n-1, 1)))
	}
	return err
}

func (t *Team) run(n int, f func(w int)) error {
	if t.places == nil && !served {
		return t.Pool.run(n, f)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if served {
		serve() // another thread than the last time, perhaps
		return t.Pool.run(n, f)
	}
	defer t.home.move()
	t.places[0].move()
	t.f = f
	return t.Pool.run(n, t.enter)
}

// sit moves a worker's thread, which is its own for ever, to its place once.
func (t *Team) sit(w int) {
	if w > 0 && !t.seated[w] {
		t.seated[w] = true
		t.places[w].move()
	}
	t.f(w)
}

// Take gives worker w its next piece of a step of total pieces; false: none is left for it.
func (t *Team) Take(w int, c *Counter, total int) (piece int, ok bool) {
	if t.patience != nil && total-int(c.v.Load()) < t.patience[w] {
		return 0, false
	}
	piece = c.Next()
	return piece, piece < total
}

const (
	// clearlyFaster is by how much a worker must be faster for another to leave it the last pieces.
	clearlyFaster = 1.25
	// underWay is how much of a piece each faster worker still has to do: of 0 to 1, what served 340 made-up machines best, by 10 % on average where a step has four pieces
	// for each worker. From 0.5 to 1 there is little between.
	underWay = 0.75
)

// setPatience: a worker of speed s needs the time 1/s for a piece. Meanwhile the faster ones, of the speeds f, do Σf/s, some of it on the pieces that they have. If fewer are
// left, they end sooner without it. The fastest has no patience, so that every piece is taken.
func (t *Team) setPatience() {
	p := make([]int, len(t.crew.Shares))
	for i, s := range t.crew.Shares {
		more := 0.0
		for _, o := range t.crew.Shares {
			if o.Part > clearlyFaster*s.Part {
				more += o.Part/s.Part - underWay
			}
		}
		p[i] = int(more)
	}
	t.patience = nil
	if slices.Max(append(p, 0)) > 0 {
		t.patience = p
	}
}

// Measured says whether the workers of the next region are to be timed: those of unequal speed, at first always, later now and then. A region is to be followed by Learn.
func (t *Team) Measured() bool {
	if t.patience == nil || t.turnout.Workers() < t.Workers() {
		return false
	}
	const first, every = 16, 64
	t.runs++
	return t.runs <= first || t.runs%every == 0
}

// Learn corrects the shares: worker w did done[w] of something in busy[w] seconds.
func (t *Team) Learn(done, busy []float64) {
	took := make([]float64, len(t.crew.Shares))
	for i, s := range t.crew.Shares {
		if done[i] > 0 && busy[i] > 0 {
			took[i] = s.Part * busy[i] / done[i]
		}
	}
	t.crew.Shares = Corrected(t.crew.Shares, took)
	if p := t.patience; p != nil {
		t.setPatience()
		if t.patience == nil {
			t.patience = p[:len(p):len(p)]
			clear(t.patience) // still watched: it was unequal once
		}
	}
}

// Cuts is how many pieces each worker should find in what is left of a step when its next piece is cut: more where workers differ, so that a piece is short even for the slowest.
func (t *Team) Cuts() int {
	if t.patience == nil {
		return 2
	}
	return 8
}

// Alike says that no worker is known to be slower than another.
func (t *Team) Alike() bool { return t.patience == nil }

// Of says that the team is a crew's at work.
func (t *Team) Of(c Crew) bool { return t.crew.equal(c) && t.crew.Bound == c.Bound }
