package exec

import (
	"unsafe"

	"jns/format"
	"jns/kernels"
	"jns/kernels/tile"
)

// headPiece is a run of tile rows of one head's matrix.
type headPiece struct {
	part  int // of the matrix
	tile  int // first tile row in the part
	head  int
	row0  int // first element of the output
	tiles int
}

// bindHeadMatMul multiplies each head's part of the input with its own rows of the matrix.
func (m *Model) bindHeadMatMul(p *format.HeadMatMulParams, selected bool) error {
	in, out, w, heads := m.buf(p.In), m.buf(p.Out), m.weight(p.W), int(p.Heads)
	if err := m.bindMatMul(w); err != nil {
		return err
	}
	rows := int(w.Rows) / heads
	step := w.wholeGroups(max(pieceBytes/w.stride, 1))
	var pieces []headPiece
	for j, s := range w.parts {
		for t := 0; t < s.tiles; {
			row := s.row0 + t*w.layout.Rows
			head := row / rows
			n := min(step, s.tiles-t, ((head+1)*rows-row)/w.layout.Rows) // a head's rows are whole tiles
			pieces = append(pieces, headPiece{j, t, head, row, n})
			t += n
		}
	}
	if p.Fine {
		for i := range m.work {
			m.work[i].need(2 * step * w.layout.Rows * min(pieceBatch, m.rows))
		}
	}
	m.pieces(selected, len(pieces), func(i int) (*weight, int) { return w, pieces[i].part }, func(k *worker, i, r, n int) {
		m.multiplyHead(k, w, &pieces[i], in, out, p, r, n)
	})
	return nil
}

// multiplyHead computes a piece for n rows from row r0 on.
func (m *Model) multiplyHead(k *worker, w *weight, c *headPiece, in, out *buffer, p *format.HeadMatMulParams, r0, n int) {
	cols, rows := int(w.Cols), c.tiles*w.layout.Rows
	skip := 4 * c.head * cols
	if in.typ != format.ElemF32 {
		skip = tile.Q8XRowBytes(c.head * cols)
	}
	a := &k.args
	*a = kernels.MatMulArgs{}
	a.W = unsafe.Add(w.at(c.part), uintptr(c.tile)*uintptr(w.stride))
	a.WStride, a.Tiles, a.Cols = uintptr(w.stride), c.tiles, cols
	a.X, a.XStride, a.N = unsafe.Add(in.row(r0), skip), in.stride, n
	a.Y, a.YStride = unsafe.Add(out.row(r0), 4*c.row0), out.stride
	if p.Fine {
		a.XStride, a.N = a.XStride/2, 2*n
		a.Y, a.YStride = unsafe.Pointer(unsafe.SliceData(k.scratch)), uintptr(4*rows)
	}
	w.multiply(k, a)
	for i := range n {
		y := out.f32(r0 + i)[c.row0 : c.row0+rows]
		if p.Fine {
			first := unsafe.Slice((*float32)(unsafe.Add(a.Y, uintptr(2*i)*a.YStride)), rows)
			rest := unsafe.Slice((*float32)(unsafe.Add(a.Y, uintptr(2*i+1)*a.YStride)), rows)
			m.vec.AddScaled(y, first, rest, 1)
		}
		if p.Scale != 1 {
			m.vec.Scale(y, y, p.Scale)
		}
	}
}

func (m *Model) bindJoin(p *format.JoinParams, selected bool) error {
	a, b, out, groups := m.buf(p.A), m.buf(p.B), m.buf(p.Out), int(p.Groups)
	na, nb, step := a.len/groups, b.len/groups, b.len/groups
	if p.Shared {
		nb, step = b.len, 0
	}
	m.eachRow(selected, func(_ *worker, r int) {
		x, z, y := a.f32(r), b.f32(r), out.f32(r)
		for g := range groups {
			at := g * (na + nb)
			copy(y[at:at+na], x[g*na:(g+1)*na])
			copy(y[at+na:at+na+nb], z[g*step:g*step+nb])
		}
	})
	return nil
}
