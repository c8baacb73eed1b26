package sched

// Deal hands out the pieces of steps in runs, one for each worker: a worker takes the pieces of its own run in order, so that it reads what lies together, and then what others have
// not begun of theirs. No line of memory is written by two workers until one of them has nothing left.
//
// There are two sets of counters, which steps use in turns: a worker makes its own counter of the other set anew when it begins a step, since nobody is in the step before any more
// and nobody in the one behind yet. So a step of runs must end with a barrier, and all workers must go through the same steps.
type Deal struct {
	next [2][]Counter
	step []line // by worker: steps begun
}

// NewDeal is for teams of at most so many workers.
func NewDeal(workers int) *Deal {
	d := &Deal{step: make([]line, workers)}
	for i := range d.next {
		d.next[i] = make([]Counter, workers)
	}
	return d
}

// Reset is for a region that ended within a step.
func (d *Deal) Reset() {
	for w := range d.step {
		d.step[w].v.Store(0)
		d.next[0][w].Reset()
		d.next[1][w].Reset()
	}
}

// Begin is called by worker w before it takes pieces of a step.
func (d *Deal) Begin(w int) {
	d.next[(d.step[w].v.Add(1)+1)&1][w].Reset()
}

// Take gives worker w its next piece of a step; the run of worker i is the pieces cuts[i] … cuts[i+1]-1. False: all pieces are taken.
func (d *Deal) Take(w int, cuts []int) (piece int, ok bool) {
	next, n := d.next[d.step[w].v.Load()&1], len(cuts)-1
	if piece = cuts[w] + next[w].Next(); piece < cuts[w+1] {
		return piece, true
	}
	for i := 1; i < n; i++ {
		o := (w + i) % n
		if cuts[o]+int(next[o].v.Load()) >= cuts[o+1] {
			continue
		}
		if piece = cuts[o] + next[o].Next(); piece < cuts[o+1] {
			return piece, true
		}
	}
	return 0, false
}
