package tile

import (
	"encoding/binary"
	"math"
)

// Float types: one element is a block, converted exactly; products use the unrounded float32 activation.
var floatCodecs = []Codec{
	{Type: F32, Name: "F32", Elems: 1, Bytes: 4, Floats: func(dst []float32, src []byte) {
		src = src[:4*len(dst)]
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	}},
	{Type: F16, Name: "F16", Elems: 1, Bytes: 2, Floats: func(dst []float32, src []byte) {
		src = src[:2*len(dst)]
		for i := range dst {
			dst[i] = F16ToF32(binary.LittleEndian.Uint16(src[2*i:]))
		}
	}},
	{Type: BF16, Name: "BF16", Elems: 1, Bytes: 2, Floats: func(dst []float32, src []byte) {
		src = src[:2*len(dst)]
		for i := range dst {
			dst[i] = BF16ToF32(binary.LittleEndian.Uint16(src[2*i:]))
		}
	}},
}
