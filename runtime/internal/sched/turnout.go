package sched

import "time"

// Turnout decides how many of a team's workers go to work. It is a pure type: the caller says how long each run took, and for how long its workers waited for one that did not come.
//
// All workers end a step together. One whose processor the system has given to another process is away for milliseconds, a hundred steps, and the others wait: two workers beside one
// busy process do nothing for half of the time or more. With one worker fewer the other process has a processor to itself and nobody waits. So where much of the time is lost, the next
// runs have one worker fewer. If they are faster, that stays so for a while, after which one worker more is tried again.
type Turnout struct {
	most, n int
	trial   int     // how many workers more, or fewer (below 0), are being tried
	half    bool    // the next trial of fewer is with half of them: one fewer was no gain, perhaps because others are late as often
	before  float64 // seconds for a unit of work before it
	sum     spell
	bad     spell // the one before, if much of it was lost
	fewer   rest
	more    rest
}

// spell is a number of runs of one kind.
type spell struct {
	kind       int // rows of a batch; prompts are one kind
	units      float64
	took, lost time.Duration
}

// rest is how long a trial is not made again: twice as long whenever it was in vain.
type rest struct{ left, next time.Duration }

const (
	// spellTime is the least time that is judged: several slices of the system's time.
	spellTime = 40 * time.Millisecond
	// muchLost: the part that must have been lost of two spells in a row, or of one as long, for a trial of fewer workers. One alone may have met something short.
	muchLost = 0.25
	// fewerGain: fewer workers must take less than this part of the time before. Less may be chance.
	fewerGain = 0.95
	// moreLoss: more workers may take this much of the time before. Batches of another size may need them.
	moreLoss = 1.02
	// restLeast and restMost bound the time between trials in vain: the first may have been an accident, later ones must not take more than a thirtieth of the time.
	restLeast, restMost = 2 * spellTime, 32 * spellTime
	// fewRows: batches below are bound by memory, so that they take about as long for each number of rows; from promptRows on time goes by rows. Those between are not judged.
	fewRows, promptRows = 16, 128
)

// NewTurnout begins with all of so many workers.
func NewTurnout(most int) *Turnout {
	t := &Turnout{most: most}
	t.Anew()
	return t
}

// Workers is how many go to work next.
func (t *Turnout) Workers() int { return t.n }

// Anew forgets what was found: too long ago, perhaps.
func (t *Turnout) Anew() {
	*t = Turnout{most: t.most, n: t.most, fewer: rest{next: restLeast}, more: rest{next: restLeast}}
}

// Ran takes what a run of a batch with Workers() workers took, and how much of that was lost: waits longer than any step's, summed over the workers, for one of them.
func (t *Turnout) Ran(rows int, took, lost time.Duration) {
	kind, units := rows, 1.0
	switch {
	case t.most < 2 || rows >= fewRows && rows < promptRows:
		return
	case rows >= promptRows:
		kind, units = promptRows, float64(rows)
	}
	if s := &t.sum; kind != s.kind {
		t.n, t.trial = t.n-t.trial, 0 // what was measured before is no measure for these
		*s, t.bad = spell{kind: kind}, spell{}
	}
	t.sum.add(spell{units: units, took: took, lost: lost})
	if t.sum.took >= spellTime {
		t.judge(t.sum)
		t.sum = spell{kind: kind}
	}
}

// judge ends the trial that is under way, and begins one where there is reason to.
func (t *Turnout) judge(s spell) {
	each := s.each()
	t.fewer.left -= s.took
	t.more.left -= s.took
	trial, bad := t.trial, t.bad
	t.trial, t.bad = 0, spell{}
	switch {
	case trial < 0 && each >= fewerGain*t.before:
		t.half = !t.half
		t.n -= trial
		t.fewer.inVain()
		return
	case trial > 0 && each >= moreLoss*t.before:
		t.n -= trial
		t.more.inVain()
		return
	case trial < 0:
		t.half, t.fewer, t.more.left = false, rest{next: restLeast}, t.more.next
	case trial > 0:
		t.more = rest{next: restLeast}
	}
	switch {
	case t.n > 1 && t.fewer.left <= 0 && s.lost.Seconds() > muchLost*s.took.Seconds():
		if bad.took+s.took < 2*spellTime {
			t.bad = s
			return
		}
		t.trial = -1
		if t.half {
			t.trial = t.n/2 - t.n
		}
		s.add(bad)
		each = s.each()
	case t.n < t.most && t.more.left <= 0:
		t.trial = 1
	}
	t.n += t.trial
	t.before = each
}

func (s *spell) add(o spell) {
	s.units, s.took, s.lost = s.units+o.units, s.took+o.took, s.lost+o.lost
}

// each is the time of a unit in seconds.
func (s *spell) each() float64 { return s.took.Seconds() / s.units }

func (r *rest) inVain() { r.left, r.next = r.next, min(2*r.next, restMost) }
