package sched

import "slices"

// Trial finds the fastest of some choices by taking them in turns. It is a pure type: the caller says how long each took.
type Trial struct {
	best  []float64 // least time of each so far
	n     int       // measurements
	fixed int       // decided: the choice; −1 while trying
}

const (
	// trialRounds is how often each choice is measured; the round before them warms up.
	trialRounds = 5
	// trialGain: the first choice is kept unless another is faster by this. Less may be chance.
	trialGain = 0.03
)

// NewTrial begins a trial of n choices, or ends it at once: with a choice that is known (0 ≤ known < n), or if there is one only.
func NewTrial(n, known int) *Trial {
	t := &Trial{best: make([]float64, n), fixed: -1}
	switch {
	case known >= 0 && known < n:
		t.fixed = known
	case n <= 1:
		t.fixed = 0
	}
	return t
}

// Choice is the one to use next, and whether Took wants to know about it.
func (t *Trial) Choice() (choice int, measured bool) {
	if t.fixed >= 0 {
		return t.fixed, false
	}
	return t.n % len(t.best), true
}

// Took says how long the choice took for a unit of work, and reports whether that decided the trial.
func (t *Trial) Took(time float64) (decided bool) {
	if t.fixed >= 0 {
		return false
	}
	i := t.n % len(t.best)
	if t.n >= len(t.best) && (t.best[i] == 0 || time < t.best[i]) {
		t.best[i] = time
	}
	t.n++
	if t.n < (trialRounds+1)*len(t.best) {
		return false
	}
	t.fixed = slices.Index(t.best, slices.Min(t.best))
	if t.best[t.fixed] > (1-trialGain)*t.best[0] {
		t.fixed = 0
	}
	return true
}

// Resume goes on with what an earlier trial of the same choices had found after n measurements. Numbers that no trial has are forgotten.
func (t *Trial) Resume(times []float64, n int) {
	if t.fixed >= 0 || len(times) != len(t.best) || n < 0 || n >= (trialRounds+1)*len(t.best) {
		return
	}
	for i, x := range times {
		if n > len(t.best)+i && !(x > 0 && x < 1e6) {
			return
		}
	}
	copy(t.best, times)
	t.n = n
}

// Measured is the number of measurements that have counted or warmed up.
func (t *Trial) Measured() int { return t.n }

// Times are the least times measured, by choice; nil if nothing was tried.
func (t *Trial) Times() []float64 {
	if t.n == 0 {
		return nil
	}
	return t.best
}
