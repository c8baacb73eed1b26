package exec

import (
	"unsafe"

	"jns/runtime/internal/sched"
)

// With few rows a product is bound by memory, and a step takes microseconds. So each worker has a run of the matrices to itself, which it reads from end to end: what is fetched ahead
// at the end of a piece is then its own next one, not another worker's. And it knows what it will read next: while it waits for others, it fetches the beginning of that.

const (
	handsMost = 8         // workers up to which products are parted: looking what all others have left takes longer the more they are
	fetchMost = 192 << 10 // most bytes that a waiting worker asks for: they must be in its cache still when it comes to them
	fetchTurn = 1 << 10   // of these before it looks again whether it must go on
	noStep    = -1
)

// runs is a product's pieces for few rows; those of worker w are the ones from cuts[w] to cuts[w+1].
type runs struct {
	pieces []piece
	cuts   []int
}

// stretch is a run of tile rows of a product in one slot.
type stretch struct {
	of         *product
	part       int
	first, end int
}

// newRuns parts stretches among the workers by bytes; nil where pieces are to be handed out one by one. Pieces become smaller towards the end of each run.
func (m *Model) newRuns(list []stretch) *runs {
	total := 0
	for _, s := range list {
		if s.of.w.streamed(s.part) {
			return nil
		}
		total += (s.end - s.first) * s.of.w.stride
	}
	r := &runs{cuts: []int{0}}
	i, done := 0, 0
	for w := range m.hands {
		for left := total*(w+1)/m.hands - done; left > 0 && i < len(list); {
			s := &list[i]
			stride := s.of.w.stride
			n := s.of.w.wholeGroups(max(min(left/2, pieceBytes), min(left, pieceMinBytes)) / stride)
			n = min(max(n, s.of.w.wholeGroups(1)), s.end-s.first)
			r.pieces = append(r.pieces, s.of.piece(s.part, s.first, n))
			s.first += n
			left, done = left-n*stride, done+n*stride
			if s.first == s.end {
				i++
			}
		}
		r.cuts = append(r.cuts, len(r.pieces))
	}
	return r
}

// bindRuns makes the step just added, a product of stretches, one that parts them where rows are few.
func (m *Model) bindRuns(list []stretch, in *buffer, selected bool) {
	if m.hands < 2 {
		return
	}
	r := m.newRuns(list)
	if r == nil {
		return
	}
	widest := 0
	for i := range r.pieces {
		if c := &r.pieces[i]; c.of.inScratch() {
			widest = max(widest, c.of.width(c.tiles))
		}
	}
	for i := range m.work {
		m.work[i].need(widest * min(spanRows, m.rows))
	}
	s := &m.steps[len(m.steps)-1]
	one := s.run
	s.runs = r
	s.run = func(w *worker, next *sched.Counter) {
		if m.dealt() {
			m.deals(w, r, in, m.count(selected))
			return
		}
		one(w, next)
	}
}

// dealt says that this run's products are parted.
func (m *Model) dealt() bool {
	return m.hands > 1 && m.n <= spanRows && m.pool.AtWork() == m.hands && m.pool.Alike()
}

// nextRuns tells each step which one with runs follows.
func (m *Model) nextRuns() {
	then := noStep
	for i := len(m.steps) - 1; i >= 0; i-- {
		m.steps[i].then = then
		if m.steps[i].runs != nil {
			then = i
		}
	}
}

// deals is a product's step over its runs.
func (m *Model) deals(w *worker, r *runs, in *buffer, rows int) {
	m.deal.Begin(w.id)
	for {
		i, ok := m.deal.Take(w.id, r.cuts)
		if !ok {
			return
		}
		m.multiply(w, &r.pieces[i], in, 0, rows)
	}
}

// fetch asks for a little of what a waiting worker reads next; false: that is enough.
func (m *Model) fetch(id int) bool {
	w := &m.work[id]
	i := m.steps[w.done].then
	if i == noStep {
		return false
	}
	r := m.steps[i].runs
	if w.asked != i {
		w.asked, w.piece, w.from, w.room = i, r.cuts[id], 0, fetchMost
	}
	if w.room <= 0 || w.piece == r.cuts[id+1] {
		return false
	}
	p := &r.pieces[w.piece]
	base := p.of.w.parts[p.part].base
	size := p.tiles * p.of.w.stride
	n := min(fetchTurn, size-w.from)
	m.vec.Fetch(unsafe.Add(base, p.tile*p.of.w.stride+w.from), n)
	w.room -= n
	if w.from += n; w.from == size {
		w.piece, w.from = w.piece+1, 0
	}
	return true
}
