//go:build amd64 && !purego

package kernels

import (
	"sync"
	"unsafe"

	"jns/kernels/amd64"
	"jns/kernels/tile"
)

// rows holds activation rows in another form than the caller's, which is the same for all matrix rows.
type rows struct{ buf []byte }

var rowsPool = sync.Pool{New: func() any { return new(rows) }}

// fewBytes is the size of a block of activations that p.sums has rewritten: what follows the block there is what a kernel for one row subtracts from sums,
// numbers that depend on the activations and the layout alone.
const fewBytes = tile.Q8XBytes + 16

// rewritten multiplies activations whose blocks a kernel has rewritten, as many rows at a time as a cache holds: by p.sums for a few rows; with quants of
// 16 bits if p.words; else with −d·Σq of the two halves of a block in place of c and c0, for which types with an offset per 16 elements have no use.
func (p *product) rewritten(a *MatMulArgs) {
	block, elems := p.blockBytes(), tile.Q8XElems
	rewrite := kernel(amd64.Expand_halves_q8x_1x32_avx2)
	switch {
	case p.sums != nil && a.N <= p.few:
		block, elems, rewrite = fewBytes, p.layout.Codec.Elems, p.sums
	case p.words:
		rewrite = amd64.Expand_words_q8x_1x32_avx2
	}
	row := a.Cols / tile.Q8XElems * block
	per := min(a.N, evenRows(a.N, row))
	s := rowsPool.Get().(*rows)
	if len(s.buf) < per*row+64 {
		s.buf = make([]byte, per*row+64)
	}
	x := unsafe.Pointer(&s.buf[0])
	x = unsafe.Add(x, -uintptr(x)&63)
	for n := 0; n < a.N; n += per {
		b := *a
		b.N = min(per, a.N-n)
		b.X, b.XStride = x, uintptr(row)
		b.Y = unsafe.Add(a.Y, uintptr(n)*a.YStride)
		for i := range b.N {
			g := amd64.GemmArgs{X: unsafe.Add(a.X, uintptr(n+i)*a.XStride), Y: unsafe.Add(x, i*row), Blocks: a.Cols / elems}
			call(rewrite, hide(&g))
		}
		if p.words {
			p.multiplyMany(&b)
		} else {
			p.multiply(&b)
		}
	}
	rowsPool.Put(s)
}
