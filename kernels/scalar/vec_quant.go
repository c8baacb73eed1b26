package scalar

import (
	"encoding/binary"
	"math"

	"jns/kernels/tile"
)

// Bounds of the largest magnitude in a block, as bits: below the first the block is zero, from the second on it is not a number.
const (
	Q8XMin = 0x0d800000 // 2^-100: the reciprocal of d stays far from overflow
	Q8XInf = 0x7f800000
)

// Quantize writes len(x)/32 Q8X blocks. For a block with largest magnitude amax (the largest of the bit patterns without sign):
//
//	amax < 2^-100        all fields 0
//	amax Inf or NaN      d = m = the NaN 0x7fc00000, all other fields 0, so that the product is NaN
//	otherwise            d = amax/127, id = 1/d, q = RoundToEven(x·id), each rounded to float32; m = d·float32(Σq), c = −128·Σq, c0 = −128·Σq[:16]
func Quantize(dst []byte, x []float32) {
	for ; len(x) >= tile.Q8XElems; x, dst = x[tile.Q8XElems:], dst[tile.Q8XBytes:] {
		quantizeBlock(dst[:tile.Q8XBytes], x[:tile.Q8XElems])
	}
}

func quantizeBlock(dst []byte, x []float32) {
	clear(dst)
	var amax uint32
	for _, v := range x {
		amax = max(amax, math.Float32bits(v)&^(1<<31))
	}
	if amax < Q8XMin {
		return
	}
	if amax >= Q8XInf {
		binary.LittleEndian.PutUint32(dst[tile.Q8XD:], 0x7fc00000)
		binary.LittleEndian.PutUint32(dst[tile.Q8XM:], 0x7fc00000)
		return
	}
	d := float32(math.Float32frombits(amax) / 127)
	id := float32(1 / d)
	var sum, first int32
	for i, v := range x {
		q := int32(math.RoundToEven(float64(float32(v * id))))
		dst[i] = byte(int8(q))
		sum += q
		if i < 16 {
			first += q
		}
	}
	binary.LittleEndian.PutUint32(dst[tile.Q8XD:], math.Float32bits(d))
	binary.LittleEndian.PutUint32(dst[tile.Q8XM:], math.Float32bits(float32(d*float32(sum))))
	binary.LittleEndian.PutUint32(dst[tile.Q8XC:], uint32(-128*sum))
	binary.LittleEndian.PutUint32(dst[tile.Q8XC0:], uint32(-128*first))
}

// QuantizeFine writes x to hi as Quantize does, and to lo what that left: lo = Quantize(r), r = FMA(−d, q, x) with the block's d and q. Together they hold x to about 15
// bits. In a block of Inf or NaN both are NaN.
func QuantizeFine(hi, lo []byte, x []float32) {
	var r [tile.Q8XElems]float32
	for ; len(x) >= tile.Q8XElems; x, hi, lo = x[tile.Q8XElems:], hi[tile.Q8XBytes:], lo[tile.Q8XBytes:] {
		quantizeBlock(hi[:tile.Q8XBytes], x[:tile.Q8XElems])
		d := math.Float32frombits(binary.LittleEndian.Uint32(hi[tile.Q8XD:]))
		for i := range r {
			r[i] = tile.FMA32(-d, float32(int8(hi[i])), x[i])
		}
		quantizeBlock(lo[:tile.Q8XBytes], r[:])
	}
}
