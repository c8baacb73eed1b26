package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"jns/kernels/tile"
)

// low is a format of few bits. Beside what format says it can leave codes where they lie in their bytes: a code times a power of two,
// which one shift of the sum undoes instead of one of every code.
type low struct {
	format
	// off16: a sub-block has two offsets, of 16 elements each; min16 gives them times −1.
	off16 bool
	// level: codes are signed numbers of eight bits; where VPDPBUSD takes them, 128 is added.
	level bool
	// lift is added to codes for the panels of sets without VPDPBUSD.
	lift int
	// begin emits what a sub-block needs; may be nil.
	begin func(w *weights, j, h int)
	// most is the largest code; in sets without VPDPBUSD sums of 16 bits are added up as far as it allows.
	most int
	// heavy emits code vector t times 2^weight; nil: code is used.
	heavy  func(w *weights, j, t, h int, dst vec)
	weight func(g *gen, j, t int) int
	// pair emits two vectors v, v′ with code = (3v − v′)/256, for few columns; nil: none.
	pair func(w *weights, j, t, h int) (v, next vec)
	// together: both halves of the rows are done side by side where a vector is one half.
	together bool
	consts   func(w *weights)
	// short, if set, is used for one activation row where the set has it; terms emits a sub-block, shortConsts is consts for it.
	short       *short
	shortConsts func(w *weights)
	terms       func(w *weights, at func(off int) operand.Mem, j, h int, ahead func(item int)) []term
}

// lowState is what formats of few bits keep in registers.
type lowState struct {
	v     [2][13]vec // vectors of trits, multiplied by 3 as often as trits were taken
	zero  vec
	table vec  // of levels
	tight bool // no register is left for constants
}

// bytes16 is a constant of 16 bytes, repeated to 64.
func (g *gen) bytes16(name string, v [16]byte) operand.Mem {
	name += "_" + g.name
	if m, ok := g.shuf[name]; ok {
		return m
	}
	m := g.StaticGlobal(name)
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 64 {
		g.AddDatum(i, operand.U8(v[i&15]))
	}
	g.shuf[name] = m
	return m
}

// levels loads the table of a format's levels, plus add, for the rest of the function.
func (w *weights) levels(name string, v [16]int8, add int) {
	var b [16]byte
	for i := range b {
		b[i] = byte(int(v[i]) + add)
	}
	w.few.table = w.vec()
	w.load(w.bytes16(name, b), w.few.table)
}

// level emits the levels of low or high nibbles at off.
func (w *weights) level(off, h int, high bool, dst vec) {
	table := w.few.table
	if w.width == 64 {
		// The table repeats in 64 bytes and VPERMB looks at six bits: what lies above a nibble chooses between equal entries.
		if high {
			w.shift(-4, w.q(off, h), dst)
		} else {
			w.load(w.q(off, h), dst)
		}
		w.VPERMB(table, dst, dst)
		return
	}
	w.nibble(off, h, high, dst)
	w.VPSHUFB(dst, table, dst)
}

// bitsOf emits the dwords at off, shifted left by n (right for negative n), and keeps mask.
func (w *weights) bitsOf(off, h, n int, mask uint32, dst vec) {
	mask *= 0x01010101
	if n == 0 {
		if r, ok := w.constant(mask).(vec); ok {
			w.and(w.q(off, h), r, dst)
			return
		}
		w.load(w.q(off, h), dst)
	} else {
		w.shift(n, w.q(off, h), dst)
	}
	w.and(w.constant(mask), dst, dst)
}

// crumb emits 2-bit codes.
func crumb(base int) func(w *weights, j, t, h int, dst vec) {
	return func(w *weights, j, t, h int, dst vec) {
		w.bitsOf(base+(8*(j>>2)+t)*64, h, -2*(j&3), 3, dst)
	}
}

// heavyCrumb leaves them at their place, or four bits below it if sums of 16 bits have to hold them.
func heavyCrumb(base int) func(w *weights, j, t, h int, dst vec) {
	return func(w *weights, j, t, h int, dst vec) {
		n := crumbWeight(w.gen, j, t)
		w.bitsOf(base+(8*(j>>2)+t)*64, h, n-2*(j&3), 3<<n, dst)
	}
}

func crumbWeight(g *gen, j, _ int) int {
	if g.vnni {
		return j & 3 * 2
	}
	return j & 1 * 2
}

// pin is hold where registers are few: a kernel of a sixteen-register set is bound by loads, of which a mask in memory is one in three.
func (w *weights) pin(values ...uint32) {
	if w.width == 64 || w.few.tight {
		return
	}
	w.keepMasks(values...)
}

// pinCrumbs holds the masks of codes of two bits at the places that they are taken from.
func (w *weights) pinCrumbs(all bool) {
	w.pin(0x03030303, 0x0c0c0c0c)
	if all && w.vnni {
		w.pin(0x30303030, 0xc0c0c0c0)
	}
}

func holdMasks(masks ...uint32) func(w *weights) {
	return func(w *weights) {
		for _, m := range masks {
			w.hold(m * 0x01010101)
		}
	}
}

// oneScale is the head and scale of formats with one half in stream 0 per block.
func (f *low) oneScale() {
	f.head = func(w *weights, h int) {
		w.d[h] = w.vec()
		w.halfs(w.p0, 0, h, w.d[h])
	}
	f.scale = func(w *weights, _, _, h int, dst vec) { w.move(w.d[h], dst) }
}

func q2k() low {
	f := low{format: format{layout: "q2_kx16", subs: 8, s1: tile.Q2_Kx16Block, bits: 4, groups: 2}, off16: true, most: 3}
	f.head = func(w *weights, h int) {
		w.d[h], w.m[h] = w.vec(), w.vec()
		w.halfs(w.p1, 0, h, w.d[h])
		w.halfs(w.p1, tile.Q2_Kx16Min, h, w.m[h])
		w.sc[h], w.mn[h] = make([]vec, 1), make([]vec, 1)
	}
	f.begin = func(w *weights, j, h int) {
		if j&1 == 0 {
			w.sc[h][0], w.mn[h][0] = w.vec(), w.vec()
			off := tile.Q2_Kx16Scales + j>>1*64
			w.nibble(off, h, false, w.sc[h][0])
			w.nibble(off, h, true, w.mn[h][0])
		}
	}
	f.code, f.heavy, f.weight = crumb(tile.Q2_Kx16Quants), heavyCrumb(tile.Q2_Kx16Quants), crumbWeight
	f.scale = func(w *weights, j, k, h int, dst vec) {
		w.byteToFloat(w.sc[h][0], 2*(j&1)+k, false, dst)
		w.VMULPS(w.d[h], dst, dst)
	}
	f.consts = func(w *weights) {
		holdMasks(0x0f, 0x03, 0x0c, 0x30, 0xc0)(w)
		w.pinCrumbs(true)
	}
	return f
}

// min16 is dmin·m of group k, the offset times −1.
func min16(w *weights, j, k, h int, dst vec) {
	w.byteToFloat(w.mn[h][0], 2*(j&1)+k, false, dst)
	w.VMULPS(w.m[h], dst, dst)
}

func q3k() low {
	f := low{format: format{layout: "q3_kx16", subs: 8, s0: tile.Q3_Kx16D, s1: tile.Q3_Kx16Block, bits: 4, bias: 4, groups: 2}, lift: 4, most: 7}
	f.head = func(w *weights, h int) {
		w.d[h] = w.vec()
		w.halfs(w.p0, 0, h, w.d[h])
		w.sc[h] = make([]vec, 1)
	}
	f.begin = func(w *weights, j, h int) {
		if j&1 == 1 {
			return
		}
		// Groups 4a… are a nibble of dword a mod 2, topped by bits 2a of dword 2.
		a := j >> 1
		s, t := w.vec(), w.vec()
		w.nibble(a&1*64, h, a > 1, s)
		w.shift(4-2*a, w.q(128, h), t)
		w.andOr(t, 0x30303030, s)
		w.VPSUBB(w.dwords(0x20202020), s, s)
		w.sc[h][0] = s
	}
	high := func(w *weights, j, t, h, to int, dst vec) {
		x := w.vec()
		mask := uint32(0x01010101) << to
		if w.width == 64 {
			w.shift(to-j, w.q(tile.Q3_Kx16High+t*64, h), x)
			w.andOr(x, mask, dst)
			return
		}
		w.bitsOf(tile.Q3_Kx16High+t*64, h, to-j, 1<<to, x)
		w.VPOR(x, dst, dst)
	}
	unit := crumb(tile.Q3_Kx16Quants)
	f.code = func(w *weights, j, t, h int, dst vec) {
		unit(w, j, t, h, dst)
		high(w, j, t, h, 2, dst)
	}
	f.heavy = func(w *weights, j, t, h int, dst vec) {
		n := f.weight(w.gen, j, t)
		w.bitsOf(tile.Q3_Kx16Quants+(8*(j>>2)+t)*64, h, n-2*(j&3), 3<<n, dst)
		high(w, j, t, h, n+2, dst)
	}
	f.weight = func(g *gen, j, t int) int { return min(crumbWeight(g, j, t), 4) } // above 4 the third bit has no place
	f.scale = func(w *weights, j, k, h int, dst vec) {
		w.byteToFloat(w.sc[h][0], 2*(j&1)+k, true, dst)
		w.VMULPS(w.d[h], dst, dst)
	}
	f.consts = func(w *weights) {
		holdMasks(0x0f, 0x03, 0x0c, 0x30, 0x04, 0x10, 0x40)(w)
		w.pinCrumbs(false)
		w.pin(0x04040404, 0x10101010)
	}
	f.parts = &parts{bias: 4, of: func(j, t int) []part {
		s := j & 3
		return []part{
			{tile.Q3_Kx16Quants + (8*(j>>2)+t)*64, 3 << (2 * s), -2 * s},
			{tile.Q3_Kx16High + t*64, 1 << j, 2 - j},
		}
	}}
	shortQ3(&f)
	return f
}

var nlLevels = [16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

func iq4nl() low {
	f := low{format: format{layout: "iq4_nlx16", subs: 1, s0: tile.IQ4_NLx16Scales, s1: tile.IQ4_NLx16Codes, bits: 8, bias: 128, groups: 1}}
	f.level, f.together = true, true
	f.head = func(*weights, int) {}
	f.scale = func(w *weights, _, _, h int, dst vec) { w.halfs(w.p0, 0, h, dst) }
	f.code = func(w *weights, _, t, h int, dst vec) { w.level(t&3*64, h, t > 3, dst) }
	f.consts = nlConsts
	return f
}

func nlConsts(w *weights) {
	w.pin(0x0f0f0f0f)
	if w.vnni {
		w.levels("levels_nl_biased", nlLevels, 128)
	} else {
		w.levels("levels_nl", nlLevels, 0)
	}
}

func iq4xs() low {
	f := low{format: format{layout: "iq4_xsx16", subs: 8, s1: tile.IQ4_XSx16Block, bits: 8, bias: 128, groups: 1}}
	f.level = true
	f.head = func(w *weights, h int) {
		w.d[h] = w.vec()
		w.halfs(w.p1, 0, h, w.d[h])
		w.sc[h] = w.vecs(2)
		w.load(w.q(tile.IQ4_XSx16Scales, h), w.sc[h][0])
		w.VPMOVZXWD(mem(w.p1, tile.IQ4_XSx16High+h*w.width/2), w.sc[h][1])
	}
	f.scale = func(w *weights, j, _, h int, dst vec) {
		t := w.vec()
		w.shift(-4*j, w.sc[h][0], dst)
		if j < 7 {
			w.and(w.constant(15), dst, dst)
		}
		w.shift(4-2*j, w.sc[h][1], t)
		w.andOr(t, 0x30, dst)
		w.VPSUBD(w.constant(32), dst, dst)
		w.VCVTDQ2PS(dst, dst)
		w.VMULPS(w.d[h], dst, dst)
	}
	f.code = func(w *weights, j, t, h int, dst vec) { w.level(tile.IQ4_XSx16Quants+(4*j+t&3)*64, h, t > 3, dst) }
	f.consts = func(w *weights) {
		nlConsts(w)
		w.hold(15, 0x30, 32)
	}
	return f
}

var fp4Levels = [16]int8{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// Codes of four-bit floats lie 16 above their value.
func fp4Consts(w *weights) {
	w.pin(0x0f0f0f0f)
	w.levels("levels_fp4", fp4Levels, 16)
}

func mxfp4() low {
	f := low{format: format{layout: "mxfp4x16", subs: 1, s0: tile.MXFP4x16Scales, s1: tile.MXFP4x16Codes, bits: 5, bias: 16, groups: 1}, most: 28}
	f.together = true
	f.head = func(*weights, int) {}
	f.scale = func(w *weights, _, _, h int, dst vec) {
		// 2^(e−128): (e−1)·2²³ are the bits, but for e of 0 and 1, where they are 2²¹ and 2²². 2²¹ shifted by min(e, 2) is not more than
		// the other for larger e.
		e, t := w.vec(), w.vec()
		w.VPMOVZXBD(mem(w.p0, h*w.width/4), e)
		w.VPMINUD(w.constant(2), e, t)
		w.load(w.constant(1<<21), dst)
		w.VPSLLVD(t, dst, dst)
		w.VPSLLD(operand.U8(23), e, e)
		w.VPSUBD(w.constant(1<<23), e, e)
		w.VPMAXSD(e, dst, dst)
	}
	f.code = func(w *weights, _, t, h int, dst vec) { w.level(t&3*64, h, t > 3, dst) }
	f.consts = func(w *weights) {
		fp4Consts(w)
		w.hold(2, 1<<21, 1<<23)
	}
	return f
}

func nvfp4() low {
	f := low{format: format{layout: "nvfp4x16", subs: 2, s0: tile.NVFP4x16Scales, s1: tile.NVFP4x16Codes, bits: 5, bias: 16, groups: 2}, most: 28}
	f.together = true
	f.head = func(*weights, int) {}
	f.scale = func(w *weights, j, k, h int, dst vec) {
		// Shifted by 7 the seven bits are a half 2⁸ times too small for what the codes are, so 2⁷ for half of it; 127 counts as 0.
		var b reg.VecVirtual
		m := mem(w.p0, (2*j+k)*16+h*w.width/4)
		if w.width == 64 {
			b = w.YMM()
			kept := w.K()
			w.VPMOVZXBW(m, b)
			w.VPCMPUW(operand.U8(4), w.dwords(0x007f007f), b, kept)
			w.VPSLLW_Z(operand.U8(9), b, kept, b)
		} else {
			b = w.XMM()
			z := w.XMM()
			w.VPMOVZXBW(m, b)
			w.VPCMPEQW(w.dwords(0x007f007f), b, z)
			w.VPANDN(b, z, b)
			w.VPSLLW(operand.U8(9), b, b)
		}
		w.VPSRLW(operand.U8(2), b, b)
		w.VCVTPH2PS(b, dst)
		w.VMULPS(w.constant(0x43000000), dst, dst)
	}
	f.code = func(w *weights, j, t, h int, dst vec) {
		w.level((4*j+t&4>>1+t&1)*64, h, t&2 != 0, dst)
	}
	f.consts = func(w *weights) {
		fp4Consts(w)
		w.hold(0x43000000)
	}
	return f
}

func tq2() low {
	f := low{format: format{layout: "tq2_0x16", subs: 8, s0: tile.TQ2_0x16Scales, s1: tile.TQ2_0x16Codes, bits: 4, bias: 1, groups: 1}, lift: 7, most: 2}
	f.oneScale()
	f.most, f.together = 3, true
	f.code, f.heavy, f.weight = crumb(0), heavyCrumb(0), crumbWeight
	f.consts = func(w *weights) {
		holdMasks(0x03, 0x0c, 0x30, 0xc0)(w)
		w.pinCrumbs(true)
	}
	return f
}

// narrow is Q1_0 and Q2_0, whose groups lie in pieces of n bits of the four dwords, the first half of a group above the second.
func narrow(layout string, subs, n, s0, s1 int) low {
	f := low{format: format{layout: layout, subs: subs, s0: s0, s1: s1, bits: 4, bias: 1, groups: 1}, lift: 7, most: 2}
	f.oneScale()
	// Q1_0's codes are 0 and 2: its bit 0 is moved up by one.
	place := func(j, t int) int { return (2*j + 1 - t>>2) * n }
	up := 2 - n
	mask := uint32(n + 1)
	f.most, f.together = n+1, true
	f.code = func(w *weights, j, t, h int, dst vec) { w.bitsOf(t&3*64, h, up-place(j, t), mask, dst) }
	f.heavy = func(w *weights, j, t, h int, dst vec) {
		n := f.weight(w.gen, j, t)
		w.bitsOf(t&3*64, h, n+up-place(j, t), mask<<n, dst)
	}
	f.weight = func(g *gen, j, t int) int {
		n := max(0, place(j, t)-up)
		if !g.vnni && n > 4 || !g.vnni && n == 4 && up == 0 {
			n -= 4
		}
		return n
	}
	f.consts = func(w *weights) {
		if n == 1 {
			holdMasks(2, 4, 8, 16, 32, 64, 128)(w)
			w.pin(0x02020202, 0x04040404, 0x08080808, 0x10101010)
			return
		}
		holdMasks(0x03, 0x0c, 0x30, 0xc0)(w)
		w.pinCrumbs(true)
	}
	shortNarrow(&f, n)
	return f
}

// tritOf gives the vector that holds code vector t of sub-block j, which trit of it, and how many it has.
func tritOf(j, t int) (v, n, of int) {
	switch {
	case j < 5:
		return t, j, 5
	case j < 7 || t < 4:
		return 8 + t&3, 2*(j-5) + t>>2, 5
	}
	return 12, t & 3, 4
}

func tq1() low {
	f := low{format: format{layout: "tq1_0x16", subs: 8, s0: tile.TQ1_0x16Scales, s1: tile.TQ1_0x16Codes, bits: 4, bias: 1, groups: 1}, lift: 7, most: 2}
	f.oneScale()
	// take gives the vector whose integer part of 3v/256 is the wanted trit; next is it times 3.
	take := func(w *weights, j, t, h int, flip bool) (v vec, last bool) {
		i, n, of := tritOf(j, t)
		s := &w.few
		if n == 0 {
			s.v[h][i] = w.vec()
			w.load(w.q(i*64, h), s.v[h][i])
			if flip {
				w.xor(w.constant(0x80808080), s.v[h][i], s.v[h][i])
			}
		}
		return s.v[h][i], n == of-1
	}
	triple := func(w *weights, v, dst vec) {
		t := w.vec()
		w.VPADDB(v, v, t)
		w.VPADDB(t, v, dst)
	}
	digit := func(w *weights, j, t, h int, dst vec, unit bool) {
		v, last := take(w, j, t, h, w.width == 32)
		if w.width == 32 {
			// Compared as signed numbers, top bit flipped; times 3 leaves that as it is.
			u := w.vec()
			w.VPCMPGTB(w.dwords(0xd5d5d5d5), v, dst)
			w.VPCMPGTB(w.dwords(0x2a2a2a2a), v, u)
			w.VPADDB(u, dst, dst)
			w.VPABSB(dst, dst)
		} else {
			// Three quarters of v, a little less than 1 rounded up at most: its top two bits are the trit.
			u := w.vec()
			w.VPSUBUSB(w.constant(0x01010101), v, u)
			w.VPAVGB(w.few.zero, u, dst)
			w.VPAVGB(u, dst, dst)
			if unit {
				w.shift(-6, dst, dst)
				w.and(w.constant(0x03030303), dst, dst)
			} else {
				w.and(w.constant(0xc0c0c0c0), dst, dst)
			}
		}
		if !last {
			triple(w, v, v)
		}
	}
	f.code = func(w *weights, j, t, h int, dst vec) { digit(w, j, t, h, dst, true) }
	f.heavy = func(w *weights, j, t, h int, dst vec) { digit(w, j, t, h, dst, false) }
	f.weight = func(g *gen, _, _ int) int { return g.width >> 6 * 6 }
	f.pair = func(w *weights, j, t, h int) (v, next vec) {
		v, _ = take(w, j, t, h, false)
		i, _, _ := tritOf(j, t)
		next = w.vec()
		triple(w, v, next)
		w.few.v[h][i] = next
		return v, next
	}
	f.consts = func(w *weights) {
		if w.width == 64 {
			w.hold(0x01010101, 0xc0c0c0c0, 0x03030303)
			w.few.zero = w.vec()
			w.zero(w.few.zero)
		}
	}
	shortTQ1(&f)
	return f
}

var lows = []low{
	q2k(), q3k(), iq4nl(), iq4xs(), mxfp4(), nvfp4(), tq2(), tq1(),
	narrow("q1_0x16", 4, 1, tile.Q1_0x16Scales, tile.Q1_0x16Codes),
	narrow("q2_0x16", 2, 2, tile.Q2_0x16Scales, tile.Q2_0x16Codes),
}
