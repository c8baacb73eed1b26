package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"jns/kernels/tile"
)

// format is a weight layout as the matrix kernels see it: how to get, for a sub-block of 32 columns, the eight code vectors (unsigned
// bytes, four columns of 16 rows each) and the float scales.
type format struct {
	layout string
	subs   int    // sub-blocks in a source block: 1 or 8
	s0, s1 int    // bytes of a source block in the two streams
	bits   int    // width of a code
	bias   int    // what the stored code is above its value: a power of two or 0
	groups int    // scales in a sub-block: 1 or 2
	off    offset // kind of offset

	// head emits what a source block needs once; h is the half of the rows.
	head func(w *weights, h int)
	// code emits the code vector of columns 32j+4t… into dst.
	code func(w *weights, j, t, h int, dst vec)
	// scale and min emit float scales into dst: of group k of sub-block j, and the factor of the offset.
	scale func(w *weights, j, k, h int, dst vec)
	min   func(w *weights, j, h int, dst vec)
	// parts, if set, is how AVX-VNNI takes one activation row.
	parts *parts
}

type offset int

const (
	none     offset = iota
	added           // + min · Q8X.m
	subtract        // − min · Q8X.m
)

// weights is the state of a kernel's walk over source blocks.
type weights struct {
	*gen
	p0, p1 reg.GPVirtual
	ahead  ahead
	disp1  int  // added to offsets in stream 1
	tight  bool // registers are few: d and m are read again for every scale
	// what head left, by half
	d, m  [2]vec
	sc    [2][]vec
	mn    [2][]vec
	fifth [2]vec
	few   lowState // of formats of few bits
}

// masks lists the constants that the code vectors of a format need.
func (f format) masks() []uint32 {
	switch f.bits {
	case 4:
		return []uint32{0x0f0f0f0f}
	case 5:
		return []uint32{0x0f0f0f0f, 0x10101010}
	case 6:
		return []uint32{0x0f0f0f0f, 0x30303030}
	}
	return nil
}

// q is a vector of stream 1 at off in the half h of 16 dwords.
func (w *weights) q(off, h int) operand.Mem { return mem(w.p1, w.disp1+off+h*w.width) }

// nibble loads a vector of codes and keeps the low or the high nibble of each byte.
func (w *weights) nibble(off, h int, high bool, dst vec) {
	if high {
		w.shift(-4, w.q(off, h), dst)
	} else if r, ok := w.constant(0x0f0f0f0f).(vec); ok {
		w.and(w.q(off, h), r, dst)
		return
	} else {
		w.load(w.q(off, h), dst)
	}
	w.and(w.constant(0x0f0f0f0f), dst, dst)
}

// halfs converts 16 or 8 halves at disp of stream s.
func (w *weights) halfs(p reg.Register, disp, h int, dst vec) {
	w.VCVTPH2PS(mem(p, disp+h*w.width/2), dst)
}

func legacy(layout string, bits, bias, s0, s1, min int, code func(w *weights, j, t, h int, dst vec)) format {
	f := format{layout: layout, subs: 1, s0: s0, s1: s1, bits: bits, bias: bias, groups: 1, code: code}
	f.head = func(*weights, int) {}
	f.scale = func(w *weights, _, _, h int, dst vec) { w.halfs(w.p0, 0, h, dst) }
	if min != 0 {
		f.off = added
		f.min = func(w *weights, _, h int, dst vec) { w.halfs(w.p0, min, h, dst) }
	}
	return f
}

func code4(w *weights, _, t, h int, dst vec) { w.nibble(t&3*64, h, t > 3, dst) }

// code5 sets bit 4 of every byte from the fifth bits, which lie at bit t of the bytes of w.fifth.
func code5(w *weights, _, t, h int, dst vec) {
	if t == 0 {
		w.fifth[h] = w.vec()
		w.load(w.q(0, h), w.fifth[h])
	}
	w.nibble(tile.Q5_0x16Quants+t&3*64, h, t > 3, dst)
	x := w.vec()
	w.shift(4-t, w.fifth[h], x)
	w.andOr(x, 0x10101010, dst)
}

// scales6 decodes the head of Q4_K and Q5_K: eight pairs of 6-bit numbers in three dwords a row.
func scales6(w *weights, off, h int) {
	z0, z1, z2, t := w.vec(), w.vec(), w.vec(), w.vec()
	sc, mn := w.vecs(2), w.vecs(2)
	w.load(w.q(off, h), z0)
	w.load(w.q(off+64, h), z1)
	w.load(w.q(off+128, h), z2)
	w.Comment("scales 0…3 and 4…7, mins 0…3 and 4…7: four bytes a row each")
	w.and(w.dwords(0x3f3f3f3f), z0, sc[0])
	w.and(w.dwords(0x3f3f3f3f), z1, mn[0])
	w.and(w.dwords(0x0f0f0f0f), z2, sc[1])
	w.shift(-2, z0, z0)
	w.andOr(z0, 0x30303030, sc[1])
	w.shift(-4, z2, t)
	w.and(w.dwords(0x0f0f0f0f), t, mn[1])
	w.shift(-2, z1, z1)
	w.andOr(z1, 0x30303030, mn[1])
	w.sc[h], w.mn[h] = sc, mn
	if !w.tight {
		w.d[h], w.m[h] = w.vec(), w.vec()
		w.halfs(w.p1, 0, h, w.d[h])
		w.halfs(w.p1, tile.Q4_Kx16Min, h, w.m[h])
	}
}

// factor is d or m of the block: what head left, or read again.
func (w *weights) factor(left vec, disp, h int) vec {
	if !w.tight {
		return left
	}
	v := w.vec()
	w.halfs(w.p1, disp, h, v)
	return v
}

func scaleK(w *weights, j, _, h int, dst vec) {
	w.byteToFloat(w.sc[h][j>>2], j&3, false, dst)
	w.VMULPS(w.factor(w.d[h], 0, h), dst, dst)
}

func minK(w *weights, j, h int, dst vec) {
	w.byteToFloat(w.mn[h][j>>2], j&3, false, dst)
	w.VMULPS(w.factor(w.m[h], tile.Q4_Kx16Min, h), dst, dst)
}

var formats = []format{
	legacy("q8_0x16", 8, 128, tile.Q8_0x16Scales, tile.Q8_0x16Codes, 0,
		func(w *weights, _, t, h int, dst vec) { w.load(w.q(t*64, h), dst) }),
	legacy("q4_0x16", 4, 8, tile.Q4_0x16Scales, tile.Q4_0x16Codes, 0, code4),
	legacy("q4_1x16", 4, 0, tile.Q4_1x16Scales, tile.Q4_1x16Codes, tile.Q4_1x16Min, code4),
	legacy("q5_0x16", 5, 16, tile.Q5_0x16Scales, tile.Q5_0x16Codes, 0, code5),
	legacy("q5_1x16", 5, 0, tile.Q5_1x16Scales, tile.Q5_1x16Codes, tile.Q5_1x16Min, code5),
	{
		layout: "q4_kx16", subs: 8, s1: tile.Q4_Kx16Block, bits: 4, groups: 1, off: subtract,
		head: func(w *weights, h int) { scales6(w, tile.Q4_Kx16Scales, h) },
		code: func(w *weights, j, t, h int, dst vec) {
			w.nibble(tile.Q4_Kx16Quants+(j>>1*8+t)*64, h, j&1 == 1, dst)
		},
		scale: scaleK, min: minK,
		parts: &parts{of: func(j, t int) []part {
			return []part{{tile.Q4_Kx16Quants + (j>>1*8+t)*64, 0x0f << (j & 1 * 4), -(j & 1 * 4)}}
		}},
	},
	{
		layout: "q5_kx16", subs: 8, s1: tile.Q5_Kx16Block, bits: 5, groups: 1, off: subtract,
		head: func(w *weights, h int) { scales6(w, tile.Q5_Kx16Scales, h) },
		code: func(w *weights, j, t, h int, dst vec) {
			w.nibble(tile.Q5_Kx16Quants+(j>>1*8+t)*64, h, j&1 == 1, dst)
			x := w.vec()
			w.shift(4-j, w.q(tile.Q5_Kx16High+t*64, h), x)
			w.andOr(x, 0x10101010, dst)
		},
		scale: scaleK, min: minK,
		parts: &parts{of: func(j, t int) []part {
			return []part{
				{tile.Q5_Kx16Quants + (j>>1*8+t)*64, 0x0f << (j & 1 * 4), -(j & 1 * 4)},
				{tile.Q5_Kx16High + t*64, 1 << j, 4 - j},
			}
		}},
	},
	{
		layout: "q6_kx16", subs: 8, s0: tile.Q6_Kx16D, s1: tile.Q6_Kx16Block, bits: 6, bias: 32, groups: 2,
		head: func(w *weights, h int) {
			w.d[h] = w.vec()
			w.halfs(w.p0, 0, h, w.d[h])
		},
		code: func(w *weights, j, t, h int, dst vec) {
			half, s := j>>2, j&3
			w.nibble(tile.Q6_Kx16Quants+(16*half+8*(s&1)+t)*64, h, s > 1, dst)
			x := w.vec()
			w.shift(4-2*s, w.q(tile.Q6_Kx16High+(8*half+t)*64, h), x)
			w.andOr(x, 0x30303030, dst)
		},
		scale: func(w *weights, j, k, h int, dst vec) {
			i := 2*j + k
			x := w.vec()
			w.load(w.q(tile.Q6_Kx16Scales+i>>2*64, h), x)
			w.byteToFloat(x, i&3, true, dst)
			w.VMULPS(w.d[h], dst, dst)
		},
		parts: &parts{bias: 32, of: func(j, t int) []part {
			half, s := j>>2, j&3
			return []part{
				{tile.Q6_Kx16Quants + (16*half+8*(s&1)+t)*64, 0x0f << (s >> 1 * 4), -(s >> 1 * 4)},
				{tile.Q6_Kx16High + (8*half+t)*64, 3 << (2 * s), 4 - 2*s},
			}
		}},
	},
}
