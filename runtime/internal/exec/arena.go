package exec

import (
	"unsafe"

	"jns/format"
	"jns/kernels/tile"
)

// aligned gives n zero bytes at a 64-byte border.
func aligned(n int) []byte {
	b := make([]byte, n+64)
	skip := int(-uintptr(unsafe.Pointer(&b[0])) & 63)
	return b[skip : skip+n : skip+n]
}

func alignedF32(n int) []float32 {
	if n == 0 {
		return nil
	}
	b := aligned(4 * n)
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), n)
}

// rowSize is the size in bytes of one instance of a buffer, padded to whole vectors.
func rowSize(b *format.Buffer) int {
	n := 0
	switch b.Type {
	case format.ElemF32:
		n = 4 * int(b.Len)
	case format.ElemQ8X:
		n = tile.Q8XRowBytes(int(b.Len))
	case format.ElemQ8X2:
		n = 2 * ((tile.Q8XRowBytes(int(b.Len)) + 63) &^ 63)
	case format.ElemRoute:
		n = 8 * int(b.Len)
	}
	return (n + 63) &^ 63
}

// buffer is a bound buffer: instance i lies at base + i·stride.
type buffer struct {
	base   unsafe.Pointer
	stride uintptr
	len    int
	typ    format.ElemType
}

func (b *buffer) row(i int) unsafe.Pointer { return unsafe.Add(b.base, uintptr(i)*b.stride) }

// f32 is instance i of a float32 buffer, without the padding.
func (b *buffer) f32(i int) []float32 {
	return unsafe.Slice((*float32)(b.row(i)), b.len)
}

// bytes is instance i of a Q8X buffer, or the first row of a Q8X2 buffer.
func (b *buffer) bytes(i int) []byte {
	return unsafe.Slice((*byte)(b.row(i)), tile.Q8XRowBytes(b.len))
}

// rest is the second row of instance i of a Q8X2 buffer.
func (b *buffer) rest(i int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(b.row(i), b.stride/2)), tile.Q8XRowBytes(b.len))
}

// choices is instance i of a route buffer.
func (b *buffer) choices(i int) []choice {
	return unsafe.Slice((*choice)(b.row(i)), b.len)
}

// choice is one chosen expert of a row.
type choice struct {
	expert int32
	weight float32
}
