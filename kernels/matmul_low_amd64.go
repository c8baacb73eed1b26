//go:build amd64 && !purego

package kernels

import (
	"sync"
	"unsafe"

	"jns/kernels/amd64"
	"jns/kernels/tile"
)

// halfRows holds activation rows as kernels of types with an offset per 16 elements want them.
type halfRows struct{ buf []byte }

var halfRowsPool = sync.Pool{New: func() any { return new(halfRows) }}

// withHalfSums multiplies activations in which −d·Σq of the two halves of a block stand in place of c and c0: such types have no use for those,
// and the sums are the same for all matrix rows.
func (p *product) withHalfSums(a *MatMulArgs) {
	row := tile.Q8XRowBytes(a.Cols)
	per := min(a.N, max(cacheBytes/row/24*24, 24))
	s := halfRowsPool.Get().(*halfRows)
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
			g := amd64.GemmArgs{X: unsafe.Add(a.X, uintptr(n+i)*a.XStride), Y: unsafe.Add(x, i*row), Blocks: a.Cols / tile.Q8XElems}
			call(amd64.Expand_halves_q8x_1x32_avx2, hide(&g))
		}
		p.multiply(&b)
	}
	halfRowsPool.Put(s)
}
