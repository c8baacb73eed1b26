package scalar

import (
	"math"
	"unsafe"

	"jns/kernels/arg"
	"jns/kernels/tile"
)

// Keys and values in eight bits: 32 elements of a row share a scale, a half. d = half(amax/127), code = roundToEven(x·(1/d)) within ±127; what attention then reads
// is half(code·d). A block with a number that is not finite has a scale that is none either.
//
// A head's page holds keys as [d][KVChunk] codes and [⌈d/32⌉][KVChunk] scales, values as [KVChunk][dv] codes and [KVChunk][⌈dv/32⌉] scales.

// KVBlock is the number of elements that share a scale.
const KVBlock = 32

// kvScale is the scale of a block, as a half and as its inverse.
func kvScale(x []float32) (h uint16, inverse float32) {
	var most uint32
	for _, v := range x {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	if most >= Q8XInf {
		return 0x7e00, 0
	}
	h = tile.F32ToF16(math.Float32frombits(most) / 127)
	d := tile.F16ToF32(h)
	if d == 0 {
		return h, 0
	}
	return h, 1 / d
}

func kvCode(x, inverse float32) int8 {
	v := math.RoundToEven(float64(float32(x * inverse)))
	if !(v > -127) { // NaN too
		return -127
	}
	return int8(min(v, 127))
}

// StoreK8 rounds k to eight bits into position pos of a head's keys.
func StoreK8(codes unsafe.Pointer, k []float32, pos int) {
	c := unsafe.Slice((*int8)(codes), len(k)*arg.KVChunk)
	blocks := (len(k) + KVBlock - 1) / KVBlock
	scales := unsafe.Slice((*uint16)(unsafe.Add(codes, len(k)*arg.KVChunk)), blocks*arg.KVChunk)
	for b := range blocks {
		x := k[b*KVBlock : min((b+1)*KVBlock, len(k))]
		h, inverse := kvScale(x)
		scales[b*arg.KVChunk+pos] = h
		for i, v := range x {
			c[(b*KVBlock+i)*arg.KVChunk+pos] = kvCode(v, inverse)
		}
	}
}

// StoreV8 rounds v to eight bits into position pos of a head's values.
func StoreV8(codes unsafe.Pointer, v []float32, pos int) {
	n := len(v)
	c := unsafe.Slice((*int8)(unsafe.Add(codes, pos*n)), n)
	blocks := (n + KVBlock - 1) / KVBlock
	scales := unsafe.Slice((*uint16)(unsafe.Add(codes, arg.KVChunk*n+2*pos*blocks)), blocks)
	for b := range blocks {
		from, to := b*KVBlock, min((b+1)*KVBlock, n)
		h, inverse := kvScale(v[from:to])
		scales[b] = h
		for i := from; i < to; i++ {
			c[i] = kvCode(v[i], inverse)
		}
	}
}

// ExpandK8 makes a page of halves [d][KVChunk] of a head's keys.
func ExpandK8(dst, codes unsafe.Pointer, d int) {
	out := unsafe.Slice((*uint16)(dst), d*arg.KVChunk)
	c := unsafe.Slice((*int8)(codes), d*arg.KVChunk)
	scales := unsafe.Slice((*uint16)(unsafe.Add(codes, d*arg.KVChunk)), (d+KVBlock-1)/KVBlock*arg.KVChunk)
	var s [arg.KVChunk]float32
	for i := range d {
		if i%KVBlock == 0 {
			for p := range s {
				s[p] = tile.F16ToF32(scales[i/KVBlock*arg.KVChunk+p])
			}
		}
		for p, x := range s {
			out[i*arg.KVChunk+p] = tile.F32ToF16(float32(c[i*arg.KVChunk+p]) * x)
		}
	}
}

// ExpandV8 makes a page of halves [KVChunk][dv] of a head's values.
func ExpandV8(dst, codes unsafe.Pointer, dv int) {
	out := unsafe.Slice((*uint16)(dst), dv*arg.KVChunk)
	c := unsafe.Slice((*int8)(codes), dv*arg.KVChunk)
	blocks := (dv + KVBlock - 1) / KVBlock
	scales := unsafe.Slice((*uint16)(unsafe.Add(codes, dv*arg.KVChunk)), blocks*arg.KVChunk)
	for p := range arg.KVChunk {
		for i := range dv {
			out[p*dv+i] = tile.F32ToF16(float32(c[p*dv+i]) * tile.F16ToF32(scales[p*blocks+i/KVBlock]))
		}
	}
}

// Attend8 is Attend for a page whose K and V are in eight bits: bits are those of Attend on the halves that ExpandK8 and ExpandV8 make, for which a.Halves has room.
func Attend8(a *arg.AttendArgs) {
	b := *a
	b.K, b.V = a.Halves, unsafe.Add(a.Halves, 2*arg.KVChunk*a.D)
	ExpandK8(b.K, a.K, a.D)
	ExpandV8(b.V, a.V, a.DV)
	Attend(&b)
}
