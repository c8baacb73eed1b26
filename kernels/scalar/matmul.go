package scalar

import (
	"encoding/binary"
	"math"
	"unsafe"

	"jns/kernels/arg"
	"jns/kernels/tile"
)

// MatMul gives the definition of a matrix product in a layout: every kernel of the layout must produce these bits. It works for any layout
// through Layout.Row and the codec, and for any N.
//
// One output is one chain of operations over k in order, starting at +0 and independent of all other outputs. Per block of 32 activations:
//
//	for each scale group g in the block:  acc = FMA32(float32(Σ code·q over g), float32(scale_g·d), acc)
//	for each offset group o in the block: acc = FMA32(off_o, m_o, acc)
//
// with d, q of the block (tile.Q8X), sums exact in int32, and m_o the block's m where an offset covers 32 elements, else
// float32(d·float32(Σ q over o)). Float layouts do acc = FMA32(w, x, acc) for each k.
func MatMul(l *tile.Layout) func(a *arg.MatMulArgs) {
	if l.Codec.Float() {
		return func(a *arg.MatMulArgs) { matMulFloat(l, a) }
	}
	return func(a *arg.MatMulArgs) { matMulBlocks(l, a) }
}

// matMulFloat takes four rows at a time, for speed: their chains run side by side.
func matMulFloat(l *tile.Layout, a *arg.MatMulArgs) {
	src := make([]byte, l.Codec.RowBytes(a.Cols))
	var w [4][]float32
	for i := range w {
		w[i] = make([]float32, a.Cols)
	}
	last := a.Tiles*l.Rows - 1
	eachRow(l, a, src, func(row int) {
		l.Codec.Floats(w[row&3], src)
		if row&3 != 3 && row != last {
			return
		}
		for n := range a.N {
			x := unsafe.Slice((*float32)(unsafe.Add(a.X, uintptr(n)*a.XStride)), a.Cols)
			var acc [4]float32
			tile.FMADot4(&acc, &w, x)
			copy(unsafe.Slice(output(a, n, row&^3), row&3+1), acc[:])
		}
	})
}

func matMulBlocks(l *tile.Layout, a *arg.MatMulArgs) {
	src := make([]byte, l.Codec.RowBytes(a.Cols))
	r := newRow(l.Codec, a.Cols)
	eachRow(l, a, src, func(row int) {
		r.decode(src)
		for n := range a.N {
			x := unsafe.Slice((*byte)(unsafe.Add(a.X, uintptr(n)*a.XStride)), tile.Q8XRowBytes(a.Cols))
			*output(a, n, row) = r.dot(x)
		}
	})
}

// eachRow extracts the rows of all tile rows in turn to src in source form and calls f with the row's index from the start of the range.
func eachRow(l *tile.Layout, a *arg.MatMulArgs, src []byte, f func(row int)) {
	for t := range a.Tiles {
		w := unsafe.Slice((*byte)(unsafe.Add(a.W, uintptr(t)*a.WStride)), l.RowBytes(a.Cols))
		for r := range l.Rows {
			l.Row(src, w, r, a.Cols)
			f(t*l.Rows + r)
		}
	}
}

func output(a *arg.MatMulArgs, n, row int) *float32 {
	return (*float32)(unsafe.Add(a.Y, uintptr(n)*a.YStride+uintptr(row)*4))
}

// row is one decoded matrix row of a quantised type.
type row struct {
	codec *tile.Codec
	code  []int8    // per element
	scale []float32 // per group
	off   []float32 // per offset group
	block tile.Block
}

func newRow(c *tile.Codec, cols int) *row {
	r := &row{codec: c, code: make([]int8, cols), scale: make([]float32, cols/c.Group)}
	if c.OffGroup != 0 {
		r.off = make([]float32, cols/c.OffGroup)
	}
	return r
}

func (r *row) decode(src []byte) {
	c := r.codec
	for i := 0; i*c.Elems < len(r.code); i++ {
		c.Decode(&r.block, src[i*c.Bytes:(i+1)*c.Bytes])
		copy(r.code[i*c.Elems:], r.block.Code[:c.Elems])
		n := c.Elems / c.Group
		copy(r.scale[i*n:], r.block.Scale[:n])
		if c.OffGroup != 0 {
			n = c.Elems / c.OffGroup
			copy(r.off[i*n:], r.block.Off[:n])
		}
	}
}

// dot is the definition of one output for the row of Q8X blocks x.
func (r *row) dot(x []byte) float32 {
	c := r.codec
	acc := float32(0)
	for b := 0; b*32 < len(r.code); b++ {
		code := (*[32]int8)(r.code[b*32:])
		xb := (*[tile.Q8XBytes]byte)(x[b*tile.Q8XBytes:])
		q := (*[32]int8)(unsafe.Pointer(xb))
		d := float(xb[tile.Q8XD:])
		if c.Group == 32 {
			acc = tile.FMA32(float32(dot16(code[:16], q[:16])+dot16(code[16:], q[16:])), float32(r.scale[b]*d), acc)
		} else {
			acc = tile.FMA32(float32(dot16(code[:16], q[:16])), float32(r.scale[2*b]*d), acc)
			acc = tile.FMA32(float32(dot16(code[16:], q[16:])), float32(r.scale[2*b+1]*d), acc)
		}
		switch c.OffGroup {
		case 32:
			acc = tile.FMA32(r.off[b], float(xb[tile.Q8XM:]), acc)
		case 16:
			// Σ q of each half, by way of the accumulator starts, which are −128 times that.
			all, first := int32(word(xb[tile.Q8XC:])), int32(word(xb[tile.Q8XC0:]))
			acc = tile.FMA32(r.off[2*b], float32(d*float32(-first>>7)), acc)
			acc = tile.FMA32(r.off[2*b+1], float32(d*float32((first-all)>>7)), acc)
		}
	}
	return acc
}

func word(b []byte) uint32   { return binary.LittleEndian.Uint32(b) }
func float(b []byte) float32 { return math.Float32frombits(word(b)) }

// dot16 is the exact sum of 16 products.
func dot16(a, b []int8) int32 {
	x, y := (*[16]int8)(a), (*[16]int8)(b)
	return int32(x[0])*int32(y[0]) + int32(x[1])*int32(y[1]) + int32(x[2])*int32(y[2]) + int32(x[3])*int32(y[3]) +
		int32(x[4])*int32(y[4]) + int32(x[5])*int32(y[5]) + int32(x[6])*int32(y[6]) + int32(x[7])*int32(y[7]) +
		int32(x[8])*int32(y[8]) + int32(x[9])*int32(y[9]) + int32(x[10])*int32(y[10]) + int32(x[11])*int32(y[11]) +
		int32(x[12])*int32(y[12]) + int32(x[13])*int32(y[13]) + int32(x[14])*int32(y[14]) + int32(x[15])*int32(y[15])
}
