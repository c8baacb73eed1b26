package exec

import (
	"unsafe"

	"jns/format"
	"jns/kernels"
	"jns/runtime/internal/sched"
)

// Pieces of a product. A piece is a run of tile rows of one matrix: small enough that its outputs and its weights stay in the second-level cache between the rows
// of a large batch, large enough that handing it out costs nothing beside it.
const (
	pieceBytes    = 256 << 10 // most weight bytes in a piece
	pieceMinBytes = 16 << 10
	pieceBatch    = 264 // most rows of the batch that a piece is multiplied with at a time
	besideBatch   = 144 // the same where products are made in scratch memory, which takes its part of the cache
	pieceRows     = 12  // what their number is a multiple of, all but the last: kernels take 12 rows or parts of them without a rest
)

// batchBlock is how many rows of a batch a piece is multiplied with at a time: blocks of about one size, because weights are expanded for each.
func batchBlock(rows, most int) int {
	blocks := max((rows+most-1)/most, 1)
	return ((rows+blocks-1)/blocks + pieceRows - 1) / pieceRows * pieceRows
}

// product is one matrix of a MatMul, bound.
type product struct {
	w        *weight
	bias     []float32
	out      *buffer
	residual *buffer
	scale    float32
	biasLast bool // the bias is added after scaling
	fine     bool // both rows of the input are used
	from     int  // first row of the matrix
	rows     int
}

// inScratch says whether products are made beside the output, because the output holds the residual or because two products make it.
func (q *product) inScratch() bool {
	return q.fine || q.residual != nil && q.residual.base == q.out.base
}

// width is the number of scratch floats per output row of a piece.
func (q *product) width(tiles int) int {
	n := (tiles*q.w.layout.Rows + 15) &^ 15
	if q.fine {
		n *= 2
	}
	return n
}

// piece is a run of tile rows.
type piece struct {
	of    *product
	part  int // of its weight
	tile  int // first tile row in the part
	row0  int // first element of the output
	rows  int // elements of the output (the last tile row may be padded)
	tiles int
}

// piece is n tile rows of a part from tile row t on.
func (q *product) piece(part, t, n int) piece {
	l := q.w.layout
	c := piece{of: q, part: part, tile: t, row0: q.w.parts[part].row0 + t*l.Rows - q.from, tiles: n}
	c.rows = min(n*l.Rows, q.rows-c.row0)
	return c
}

func (m *Model) bindProduct(p *format.MatMulParams, selected bool) error {
	in := m.buf(p.In)
	parts := make([]product, len(p.Parts))
	total := 0
	for i, q := range p.Parts {
		w := m.weight(q.W)
		if err := m.bindMatMul(w); err != nil {
			return err
		}
		parts[i] = product{w: w, bias: m.vector(q.Bias), out: m.buf(q.Out), residual: m.buf(q.Residual), scale: q.Scale, biasLast: q.BiasLast, fine: q.Fine,
			from: int(q.From), rows: int(q.Rows)}
		if q.Rows == 0 {
			parts[i].rows = int(w.Rows)
		}
		if b := parts[i].bias; len(b) > parts[i].rows {
			parts[i].bias = b[q.From : q.From+q.Rows]
		}
		total += w.layout.TileRows(parts[i].rows) * w.stride
	}
	var pieces []piece
	var whole []stretch
	widest := 0
	for i := range parts {
		q := &parts[i]
		l := q.w.layout
		for j, s := range q.w.parts {
			// The tiles of the slot that hold rows of the part; its first row is the first of a tile.
			first, last := max(0, q.from-s.row0)/l.Rows, min(s.tiles, l.TileRows(max(0, q.from+q.rows-s.row0)))
			if first < last {
				whole = append(whole, stretch{q, j, first, last})
			}
			for t := first; t < last; {
				n := q.w.wholeGroups(max(m.pieceBytes(total)/q.w.stride, 1))
				if n > 1 {
					n &^= 1 // prompts take tile rows by twos
				}
				n = min(n, last-t)
				pieces = append(pieces, q.piece(j, t, n))
				t += n
				total -= n * q.w.stride
				if q.inScratch() {
					widest = max(widest, q.width(n))
				}
			}
		}
	}
	for i := range m.work {
		m.work[i].need(widest * min(besideBatch, m.rows))
	}
	run := func(w *worker, i, r, n int) { m.multiply(w, &pieces[i], in, r, n) }
	m.pieces(selected, len(pieces), func(i int) (*weight, int) { return pieces[i].of.w, pieces[i].part }, run)
	m.bindRuns(whole, in, selected)
	return nil
}

// pieceBytes is the size of a piece when so many bytes of a step's weights are left: the pieces become smaller, so that the workers, whatever else the system does to one of them,
// end a step together.
func (m *Model) pieceBytes(left int) int {
	if workers := m.pool.Workers(); workers > 1 {
		return max(min(left/(m.pool.Cuts()*workers), pieceBytes), pieceMinBytes)
	}
	return pieceBytes
}

// pieces adds the step, or the loop, that computes n pieces of dense products; partOf gives a piece's weight and part, run multiplies it with a block of rows.
// Blocks are handed out one by one, so that with a large batch a worker waits for another at most as long as a block takes, however few the pieces are.
func (m *Model) pieces(selected bool, n int, partOf func(i int) (*weight, int), run func(w *worker, i, r, rows int)) {
	for i := range n {
		if w, part := partOf(i); w.streamed(part) {
			m.streamPieces(selected, n, partOf, func(w *worker, i int) {
				rows := m.count(selected)
				block := batchBlock(rows, pieceBatch)
				for r := 0; r < rows; r += block {
					run(w, i, r, min(block, rows-r))
				}
			})
			return
		}
	}
	m.step(selected, func(w *worker, next *sched.Counter) {
		rows := m.count(selected)
		if m.homed(rows) {
			m.groupedPieces(w, n, rows, run)
			return
		}
		block := batchBlock(rows, pieceBatch)
		blocks := (rows + block - 1) / block
		for {
			i, ok := m.pool.Take(w.id, next, n*blocks)
			if !ok {
				return
			}
			r := i % blocks * block
			run(w, i/blocks, r, min(block, rows-r))
		}
	})
}

// multiply computes a piece for n rows from row r0 on, then bias, scale and residual.
func (m *Model) multiply(w *worker, c *piece, in *buffer, r0, n int) {
	block := n
	if c.of.inScratch() {
		block = batchBlock(n, besideBatch)
	}
	for r := 0; r < n; r += block {
		m.multiplyBlock(w, c, in, r0+r, min(block, n-r))
	}
}

func (m *Model) multiplyBlock(w *worker, c *piece, in *buffer, r0, n int) {
	q := c.of
	a := &w.args
	*a = kernels.MatMulArgs{}
	a.W = unsafe.Add(q.w.at(c.part), uintptr(c.tile)*uintptr(q.w.stride))
	a.WStride, a.Tiles, a.Cols = uintptr(q.w.stride), c.tiles, int(q.w.Cols)
	a.X, a.XStride, a.N = in.row(r0), in.stride, n
	if q.inScratch() {
		a.Y = unsafe.Pointer(unsafe.SliceData(w.scratch))
		a.YStride = uintptr(4 * q.width(c.tiles))
	} else {
		a.Y = unsafe.Add(q.out.row(r0), 4*c.row0)
		a.YStride = q.out.stride
	}
	if q.fine {
		a.XStride, a.YStride, a.N = a.XStride/2, a.YStride/2, 2*n
	}
	q.w.multiply(w, a)
	if q.bias == nil && q.residual == nil && q.scale == 1 && !q.fine {
		return
	}
	for i := 0; i < n; i++ {
		var y []float32
		if q.fine {
			y = unsafe.Slice((*float32)(unsafe.Add(a.Y, uintptr(2*i)*a.YStride)), c.rows)
			rest := unsafe.Slice((*float32)(unsafe.Add(a.Y, uintptr(2*i+1)*a.YStride)), c.rows)
			m.vec.AddScaled(y, y, rest, 1)
		} else {
			y = unsafe.Slice((*float32)(unsafe.Add(a.Y, uintptr(i)*a.YStride)), c.rows)
		}
		scale := q.scale
		if q.bias != nil {
			if q.biasLast && scale != 1 {
				m.vec.Scale(y, y, scale)
				scale = 1
			}
			m.vec.AddScaled(y, y, q.bias[c.row0:c.row0+c.rows], 1)
		}
		out := q.out.f32(r0 + i)[c.row0 : c.row0+c.rows]
		switch {
		case q.residual != nil:
			m.vec.AddScaled(out, q.residual.f32(r0 + i)[c.row0:c.row0+c.rows], y, scale)
		case scale != 1:
			m.vec.Scale(out, y, scale)
		case q.fine:
			copy(out, y)
		}
	}
}
