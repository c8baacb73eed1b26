//go:build amd64 && !purego

package kernels

import (
	"sync"
	"unsafe"

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
			halfSums(unsafe.Add(x, i*row), unsafe.Add(a.X, uintptr(n+i)*a.XStride), a.Cols/tile.Q8XElems)
		}
		p.multiply(&b)
	}
	halfRowsPool.Put(s)
}

// halfSums copies a row of blocks, replacing c and c0. −128·Σq gives −Σq by a shift; a product with d is rounded alike for either sign.
func halfSums(dst, src unsafe.Pointer, blocks int) {
	d := unsafe.Slice((*[tile.Q8XBytes / 4]float32)(dst), blocks)
	for i, b := range unsafe.Slice((*[tile.Q8XBytes / 4]float32)(src), blocks) {
		c := *(*int32)(unsafe.Pointer(&b[tile.Q8XC/4]))
		c0 := *(*int32)(unsafe.Pointer(&b[tile.Q8XC0/4]))
		b[tile.Q8XC/4] = float32(b[tile.Q8XD/4] * float32(c0>>7))
		b[tile.Q8XC0/4] = float32(b[tile.Q8XD/4] * float32((c-c0)>>7))
		d[i] = b
	}
}
