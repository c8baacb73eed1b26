package exec

import "jns/runtime/internal/sched"

// Of many rows a worker computes an expert as a whole, a block of its rows after the other: inputs, gate, up and what the activation makes of them stay in its cache, in a zone of the
// scratch buffers that is its own and used again for every expert. One operation for all experts after the other writes and reads them in memory: eight choices a row make
// eight rows of each.

const (
	expertRows  = 48 // least rows of an expert that are a piece, if it has so many
	expertTurns = 8  // pieces that each worker should find at least
)

// expertPart is a run of an expert's places.
type expertPart struct{ expert, first, count int32 }

// planWhole decides whether the experts just grouped are computed as a whole. Where few are wanted, workers would wait for the last of them.
func (m *Model) planWhole(e *experts) {
	p := &m.picks
	p.whole = m.count(e.selected) > spanRows && len(p.used) >= expertTurns/2*m.pool.Workers()
	m.partExperts(e)
}

// partExperts cuts the experts in use into pieces.
func (m *Model) partExperts(e *experts) {
	p := &m.picks
	if !p.whole {
		return
	}
	all := 0
	for _, x := range p.used {
		all += int(p.start[x+1] - p.start[x])
	}
	most := min(max(all/(expertTurns*m.pool.Workers()), expertRows)/pieceRows*pieceRows, besideBatch, e.zone)
	p.parts = p.parts[:0]
	for _, x := range p.used {
		first, count := int(p.start[x]), int(p.start[x+1]-p.start[x])
		block := batchBlock(count, most)
		if block > most {
			block = most
		}
		for end := first + count; first < end; first += block {
			p.parts = append(p.parts, expertPart{x, int32(first), int32(min(block, end-first))})
		}
	}
}

// wholeExperts is the step that computes the experts in use.
func (m *Model) wholeExperts(w *worker, next *sched.Counter, e *experts) {
	zone := w.id * e.zone
	for {
		i, ok := m.pool.Take(w.id, next, len(m.picks.parts))
		if !ok {
			return
		}
		p := &m.picks.parts[i]
		x, first, count := int(p.expert), int(p.first), int(p.count)
		for i := range count {
			e.gather(m, zone+i, first+i)
		}
		m.expertProduct(w, e, e.first, e.gathered, x, zone, zone, count)
		for i := range count {
			e.activate(m, w, zone+i, first+i)
		}
		m.expertProduct(w, e, []expertProduct{e.last}, e.hidden, x, zone, first, count)
	}
}

// expertProduct multiplies some matrices of expert x with count entries from the first on; the results are those from entry to on.
func (m *Model) expertProduct(w *worker, e *experts, list []expertProduct, in *buffer, x, first, to, count int) {
	_, step := expertStep(list)
	for i := range list {
		q := &list[i]
		q.w.ready(x)
		for t := 0; t < q.tiles(); t += step {
			m.expertPiece(w, q, in, e.top, x, t, min(step, q.tiles()-t), first, to, count)
		}
	}
}
