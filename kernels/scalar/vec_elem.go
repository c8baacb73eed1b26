package scalar

import (
	"sync"
	"unsafe"

	"jns/kernels/arg"
	"jns/kernels/tile"
)

// Functions that work element by element. dst may be an input.

// AddScaled: dst = float32(b·scale) + a.
func AddScaled(dst, a, b []float32, scale float32) {
	for i := range dst {
		dst[i] = float32(b[i]*scale) + a[i]
	}
}

// Scale: dst = a·scale.
func Scale(dst, a []float32, scale float32) {
	for i := range dst {
		dst[i] = float32(a[i] * scale)
	}
}

// Mul: dst = a·b.
func Mul(dst, a, b []float32) {
	for i := range dst {
		dst[i] = float32(a[i] * b[i])
	}
}

// ActMul: dst = act(gate)·up, or act(gate) when up is nil. An unknown act works as ActNone, which is the identity.
// ActSwigluOAI, of both inputs: SwigluOAI(gate, up).
func ActMul(dst, gate, up []float32, act arg.Act) {
	if act == arg.ActSwigluOAI {
		for i := range dst {
			dst[i] = SwigluOAI(gate[i], up[i])
		}
		return
	}
	f := activation(act)
	for i := range dst {
		v := f(gate[i])
		if up != nil {
			v = float32(v * up[i])
		}
		dst[i] = v
	}
}

func activation(act arg.Act) func(float32) float32 {
	switch act {
	case arg.ActSiLU:
		return SiLU
	case arg.ActGELU:
		return GELU
	case arg.ActGELUErf:
		return GELUErf
	case arg.ActReLU:
		return ReLU
	case arg.ActReLU2:
		return func(x float32) float32 { x = ReLU(x); return float32(x * x) }
	case arg.ActGELUQuick:
		return GELUQuickOf
	case arg.ActSigmoid:
		return Sigmoid
	case arg.ActSoftplus:
		return Softplus
	case arg.ActTanh:
		return Tanh
	}
	return func(x float32) float32 { return x }
}

// SoftCap: dst = cap·tanh(a·(1/cap)), 1/cap rounded to float32.
func SoftCap(dst, a []float32, cap float32) {
	inv := 1 / cap
	for i := range dst {
		dst[i] = float32(cap * Tanh(float32(a[i]*inv)))
	}
}

// Finish: dst = o·(1/l), 1/l rounded to float32.
func Finish(dst, o []float32, l float32) { Scale(dst, o, 1/l) }

// Rope rotates pairs (a, b) of the first 2·len(cos) elements: a' = float32(a·cos) − float32(b·sin), b' = float32(b·cos) + float32(a·sin). Pair i is
// (i, i + len(cos)) when neox, else (2i, 2i+1).
func Rope(x, cos, sin []float32, neox bool) {
	n := len(cos)
	for i, c := range cos {
		j, k := 2*i, 2*i+1
		if neox {
			j, k = i, i+n
		}
		a, b, s := x[j], x[k], sin[i]
		x[j] = float32(a*c) - float32(b*s)
		x[k] = float32(b*c) + float32(a*s)
	}
}

// StoreK rounds k to halves into column pos of a transposed page, [len(k)][KVChunk].
func StoreK(page unsafe.Pointer, k []float32, pos int) {
	p := unsafe.Slice((*uint16)(page), len(k)*arg.KVChunk)
	for i, v := range k {
		p[i*arg.KVChunk+pos] = tile.F32ToF16(v)
	}
}

// StoreV rounds v to halves into row pos of a page [KVChunk][len(v)].
func StoreV(page unsafe.Pointer, v []float32, pos int) {
	p := unsafe.Slice((*uint16)(unsafe.Add(page, pos*len(v)*2)), len(v))
	for i, x := range v {
		p[i] = tile.F32ToF16(x)
	}
}

// blocks are for Row: a decoder is called through a variable, so that a block on the stack would go to the heap.
var blocks = sync.Pool{New: func() any { return new(tile.Block) }}

// Row takes a source row of a codec apart: dst = (float32(Scale·Code) + Off)·scale, or the float value times scale.
func Row(dst []float32, src []byte, c *tile.Codec, scale float32) {
	if c.Float() {
		c.Floats(dst, src)
		Scale(dst, dst, scale)
		return
	}
	const run = 16 // divides every group
	b := blocks.Get().(*tile.Block)
	defer blocks.Put(b)
	for len(dst) >= c.Elems {
		c.Decode(b, src)
		for i := 0; i < c.Elems; i += run {
			s, code, d := b.Scale[i/c.Group], (*[run]int8)(b.Code[i:]), (*[run]float32)(dst[i:])
			if c.OffGroup == 0 {
				for j, q := range code {
					d[j] = float32(float32(s*float32(q)) * scale)
				}
				continue
			}
			off := b.Off[i/c.OffGroup]
			for j, q := range code {
				d[j] = float32((float32(s*float32(q)) + off) * scale)
			}
		}
		dst, src = dst[c.Elems:], src[c.Bytes:]
	}
}
