package exec

import "jns/runtime/internal/sched"

// With many rows each worker has a run of the batch's rows to itself, its home: what a step writes there the same worker reads in the next one, out of its own cache. A line that another
// worker has just written comes several times slower than one of the last-level cache. Who is done with its own run takes what others have not begun.

// groupBatch is the least number of rows of a group, see groups.
const groupBatch = 96

// homed says that so many rows have homes in this run: where workers differ in speed, pieces are handed out one by one.
func (m *Model) homed(rows int) bool {
	return m.hands > 1 && rows > spanRows && m.pool.AtWork() == m.hands && m.pool.Alike()
}

// home is the first row of worker i's home among so many rows: blocks of the batch end there, so that it is a multiple of pieceRows where there are enough.
func (m *Model) home(i, rows int) int {
	r := rows * i / m.hands
	if i == m.hands || rows < 2*pieceRows*m.hands {
		return r
	}
	return (r + pieceRows/2) / pieceRows * pieceRows
}

// groups is the number of groups of rows of a batch that products are parted in: each is the homes of as many workers, who share its pieces. One for every worker expands weights as
// often as there are workers, so a group has rows enough to be worth it.
func (m *Model) groups(rows int) int {
	g := min(m.hands, max(rows/groupBatch, 1))
	for m.hands%g != 0 {
		g--
	}
	return g
}

// evenly gives the worker the runs of a step's pieces that lie in order of the rows they belong to: each has as large a part as its home is of the rows.
func (m *Model) evenly(w *worker, total, rows int) {
	for i := range w.cuts {
		w.cuts[i] = total * m.home(i, rows) / rows
	}
	m.deal.Begin(w.id)
}

// each calls f for every piece that falls to the worker of a step over so many rows, whose pieces lie in order of the rows.
func (m *Model) each(w *worker, next *sched.Counter, rows, total int, f func(i int)) {
	if !m.homed(rows) {
		for i := next.Next(); i < total; i = next.Next() {
			f(i)
		}
		return
	}
	m.evenly(w, total, rows)
	for {
		i, ok := m.deal.Take(w.id, w.cuts)
		if !ok {
			return
		}
		f(i)
	}
}

// groupedPieces is the step of n pieces of products over many rows: group by group of rows, in a group piece by piece, since its weights are in the cache for the next block.
func (m *Model) groupedPieces(w *worker, n, rows int, run func(w *worker, i, r, rows int)) {
	groups := m.groups(rows)
	each := m.hands / groups // homes in a group
	most := 0
	for g := range groups {
		most = max(most, m.home((g+1)*each, rows)-m.home(g*each, rows))
	}
	block := batchBlock(most, pieceBatch)
	blocks := (most + block - 1) / block
	for i := range w.cuts {
		w.cuts[i] = groups * n * blocks * i / m.hands
	}
	m.deal.Begin(w.id)
	for {
		i, ok := m.deal.Take(w.id, w.cuts)
		if !ok {
			return
		}
		g := i / (n * blocks)
		end := m.home((g+1)*each, rows)
		if r := m.home(g*each, rows) + i%blocks*block; r < end {
			run(w, i%(n*blocks)/blocks, r, min(block, end-r))
		}
	}
}
