package main

import "jns/kernels/tile"

// halves loads the halves at off of every tile row as numbers.
func (s *stream) halves(v V, get func(name string, v V, i, off int), off int) {
	for i := range 4 {
		get("ld1h.s", v+V(i), i, off)
		s.zun("fcvt", v+V(i), v+V(i))
	}
}

func half0(s *stream) { s.halves(zD, s.get0, 0) }

// put stores four byte scales of each matrix row of tile row i, which are the bytes of the words of v, as entries 4j….
func (s *stream) put(i, j int, v V) {
	s.ztbl(v, v, zSpread)
	r := s.spill
	if j > 1 {
		s.ins("ADD $%d, R%d, R%d", 256*j, s.spill, s.tmp)
		r, j = s.tmp, 0
	}
	s.zmem("st1b.b", v, r, 256*j+64*i-128)
}

// byteScales gives an entry of byte scales times the scales of the block.
func (s *stream) byteScales(v, d V, entry int) {
	r := s.spill
	if entry >= 4 {
		s.ins("ADD $%d, R%d, R%d", 256*(entry/4), s.spill, s.tmp)
		r = s.tmp
	}
	name := "ld1b.s"
	if s.signed {
		name = "ld1sb.s"
	}
	for i := range 4 {
		s.zmem(name, v+V(i), r, 16*(4*i+entry&3)-128)
	}
	s.quadToFloat(v, !s.signed)
	for i := range V(4) {
		s.z3("fmul.s", v+i, v+i, d+i)
	}
}

// words loads consecutive words of tile row i.
func (s *stream) words(i, off int, vs ...V) {
	for k, v := range vs {
		s.get("ld1w.s", v, i, off+64*k)
	}
}

// beginK: the 6-bit scales and minima of Q4_K and Q5_K, see tile's codec.
func beginK(s *stream) {
	s.halves(zD, s.get, 0)
	s.halves(zM, s.get, 32)
	for i := range 4 {
		s.zun("fneg", zM+V(i), zM+V(i))
		const w, a, t = 16, 20, 24
		s.words(i, 64, w, w+1, w+2)
		s.zmov(t, w+2)
		s.zbits("and", "b", t, 0x0f)
		for k := range V(2) { // scales, minima
			s.zmov(a, w+k)
			s.zbits("and", "b", a, 0x3f)
			s.put(i, 2*int(k), a)
			s.zshift("lsr", "b", a+1, w+k, 2)
			s.zbits("and", "b", a+1, 0x30)
			if k == 1 {
				s.zshift("lsr", "b", t, w+2, 4)
			}
			s.zorr(a+1, a+1, t)
			s.put(i, 2*int(k)+1, a+1)
		}
	}
}

// beginQ2K: a nibble of scale and one of minimum for each sixteen columns.
func beginQ2K(s *stream) {
	s.halves(zD, s.get, 0)
	s.halves(zM, s.get, 32)
	for i := range 4 {
		s.zun("fneg", zM+V(i), zM+V(i))
		const w, m = 16, 20
		s.words(i, tile.Q2_Kx16Scales, w, w+1, w+2, w+3)
		for j := range V(4) {
			s.zshift("lsr", "b", m, w+j, 4)
			s.zbits("and", "b", w+j, 0x0f)
			s.put(i, int(j), w+j)
			s.put(i, 4+int(j), m)
		}
	}
}

func beginQ6K(s *stream) {
	half0(s)
	for i := range 4 {
		const w = 16
		s.words(i, tile.Q6_Kx16Scales, w, w+1, w+2, w+3)
		for j := range V(4) {
			s.put(i, int(j), w+j)
		}
	}
}

func beginQ3K(s *stream) {
	half0(s)
	for i := range 4 {
		const w, a, t = 16, 20, 21
		s.words(i, 0, w, w+1, w+2)
		for j := range 4 {
			if j >= 2 {
				s.zshift("lsr", "b", a, w+V(j&1), 4)
			} else {
				s.zmov(a, w+V(j&1))
				s.zbits("and", "b", a, 0x0f)
			}
			switch {
			case j < 2:
				s.zshift("lsl", "b", t, w+2, 4-2*j)
			case j == 3:
				s.zshift("lsr", "b", t, w+2, 2)
			default:
				s.zmov(t, w+2)
			}
			s.zbits("and", "b", t, 0x30)
			s.zorr(a, a, t)
			s.zsubBytes(a, 32)
			s.put(i, j, a)
		}
	}
}

// beginIQ4XS: nibbles of the scales in a word, two bits more each in a half. Entries 0…3 are the even groups, 4…7 the odd ones.
func beginIQ4XS(s *stream) {
	s.halves(zD, s.get, 0)
	for i := range 4 {
		const w, h, a, t = 16, 17, 18, 19
		s.words(i, tile.IQ4_XSx16Scales, w)
		s.get("ld1h.s", h, i, tile.IQ4_XSx16High)
		// Four bits of h to each byte of a word: two of an even group, two of an odd one.
		s.zshift("lsl", "s", t, h, 8)
		s.zorr(h, h, t)
		s.zbits("and", "s", h, 0x00ff00ff)
		s.zshift("lsl", "s", t, h, 4)
		s.zorr(h, h, t)
		for j := range 2 {
			if j == 0 {
				s.zmov(a, w)
				s.zbits("and", "b", a, 0x0f)
			} else {
				s.zshift("lsr", "b", a, w, 4)
			}
			s.zshift("lsl", "b", t, h, 4-2*j)
			s.zbits("and", "b", t, 0x30)
			s.zorr(a, a, t)
			s.zsubBytes(a, 32)
			s.put(i, j, a)
		}
	}
}

// beginOdd: scales d·(2s+1)·factor, s being the nibbles of words from 0 on, or their lowest three bits; entries as in beginIQ4XS, word by word.
func beginOdd(words, bits int, factor uint32) func(s *stream) {
	return func(s *stream) {
		half0(s)
		if factor != 0 {
			s.word(0x25b9c000|factor<<5|uint32(zTemp), "fmov z%d.s, #%s", zTemp, map[uint32]string{0x40: "0.125", 0x50: "0.25"}[factor])
			for i := range V(4) {
				s.z3("fmul.s", zD+i, zD+i, zTemp)
			}
		}
		for i := range 4 {
			for k := range words {
				const w, a = 16, 18
				s.words(i, 64*k, w)
				s.zshift("lsr", "b", a, w, 4)
				s.zbits("and", "b", w, 1<<bits-1)
				if bits < 4 {
					s.zbits("and", "b", a, 1<<bits-1)
				}
				for j, v := range []V{w, a} {
					s.zshift("lsl", "b", v, v, 1)
					s.zbits("orr", "b", v, 1)
					s.put(i, 2*k+j, v)
				}
			}
		}
	}
}

// evenOdd numbers the entries of beginOdd and beginIQ4XS: those of a word in the order 0 2 4 6 1 3 5 7.
func evenOdd(n int) int { return n&^7 + n&1*4 + n&7>>1 }

func evenOddScale(s *stream, sub, grp int) {
	s.byteScales(zScale, zD, evenOdd(sub*32/s.group+grp))
}

// beginMXFP4: exponents; 2⁻¹²⁸ and 2⁻¹²⁷ are subnormal.
func beginMXFP4(s *stream) {
	const t = 16
	for i := range 4 {
		d := zD + V(i)
		s.get0("ld1b.s", d, i, 0)
		s.word(0x24a04010|uint32(d)<<5|1, "cmphi p1.s, p0/z, z%d.s, #1", d)
		s.zdup("s", t, 1)
		s.z3("add.s", t+1, d, t)
		s.zshift("lsl", "s", t+1, t+1, 21)
		s.z3("sub.s", d, d, t)
		s.zshift("lsl", "s", d, d, 23)
		s.choose(d, d, t+1)
	}
}

// nibblesAt: units of consecutive items whose codes have a nibble each.
func nibblesAt(at func(sub, unit int) int) func(s *stream, sub, unit int) {
	return func(s *stream, sub, unit int) {
		for i := range 4 {
			v := zScale + V(2*i)
			if unit&1 == 0 {
				r, o := s.reach(i, at(sub, unit), 128)
				s.two(v, r, o)
			}
			s.take(i, v+V(unit&1))
		}
	}
}

var nibbleTwins = [4][2]int{{0, 4}, {1, 5}, {2, 6}, {3, 7}}

// levelTwins is the order of tile.IQField: bits 0, 4 and 2, 6 of the bytes of an item of levels.
var levelTwins = [4][2]int{{1, 0}, {3, 2}, {5, 4}, {7, 6}}

// levelsAt joins two bits of level with a bit of sign, which tile.IQSign has placed so that one rotation serves both codes of a byte. The fourth bit is another's sign.
func levelsAt(head int) func(s *stream, sub, unit int) {
	return func(s *stream, sub, unit int) {
		off := head + tile.IQ2LSub*sub
		const level, sign = zScale, zOff
		s.zdup("b", zMeta, 0)
		for i := range 4 {
			l, g := level+V(i), sign+V(i)
			turn := 1
			if unit&1 == 0 {
				turn = 2 + unit
				s.get("ld1b.b", l, i, off+64*(unit>>1))
				s.get("ld1b.b", g, i, off+128)
				s.zror(g, zMeta, turn)
				s.zmov(zTemp, l)
			} else {
				s.zror(g, zMeta, turn)
				s.zshift("lsr", "b", zTemp, l, 2)
			}
			s.zbsl(zTemp, g, zMask)
			s.take(i, zTemp)
		}
	}
}

// raisedAt joins two bits of level with a bit of each matrix row, bit up(sub, unit) of the word at off: codes are of twice as many levels.
func raisedAt(head, off int, up func(sub, unit int) int) func(s *stream, sub, unit int) {
	return func(s *stream, sub, unit int) {
		const level, mask = zScale, zOff
		for i := range 4 {
			l, m := level+V(i), mask+V(i)
			if unit&1 == 0 {
				s.get("ld1b.b", l, i, head+128*sub+64*(unit>>1))
			}
			s.get("ld1w.s", m, i, off)
			if at := up(sub, unit); at < 31 {
				s.zshift("lsl", "s", m, m, 31-at)
			}
			s.zshift("asr", "s", m, m, 31)
			if unit&1 == 0 {
				s.zmov(zTemp, l)
			} else {
				s.zshift("lsr", "b", zTemp, l, 2)
			}
			s.zbsl(zTemp, m, zMask)
			s.take(i, zTemp)
		}
	}
}

// signedLevel is the code of an index of levelsAt.
func signedLevel(i int) int8 {
	l := tile.BookIQ2S.Levels
	switch {
	case i&3 >= len(l):
		return 0
	case i&4 != 0:
		return -l[i&3]
	}
	return l[i&3]
}

// raisedLevel is the code of an index of raisedAt.
func raisedLevel(i int) int8 {
	if i&3 == 3 {
		return 0
	}
	return int8(8*(i&3-1) + i>>2&1*2 - 1)
}

// kNibbles: nibbles of 64 columns a group of eight items.
func kNibbles(quants, sub, half int) part {
	p := part{off: quants + 64*(8*(sub>>1)+4*half), mask: 0x0f}
	if sub&1 == 1 {
		p.mask, p.lsr = 0, 4
	}
	return p
}

// crumbs: bits 2s… of item 8h+t are columns 128h+32s+4t….
func crumbs(quants, sub, half, tile int) part {
	s := sub & 3
	return part{off: quants + 64*(8*(sub>>2)+4*half), mask: 3 << (2 * s), tile: tile, left: -2 * s}
}

// fifth puts the bit of every item of a half into place, out of a word of bits by item.
func fifth(half int) part {
	return part{off: 0, same: true, mask: 16, each: func(s *stream, v V, t int) {
		switch by := 4 - (4*half + t); {
		case by > 0:
			s.zshift("lsl", "b", v, v, by)
		case by < 0:
			s.zshift("lsr", "b", v, v, -by)
		}
	}}
}

// highLow: nibbles of 32 columns, the first sixteen low.
func highLow(off, half int) part {
	if half == 1 {
		return part{off: off, lsr: 4}
	}
	return part{off: off, mask: 0x0f}
}

func fifthParts(quants int) func(_, half int) []part {
	return func(_, half int) []part { return []part{highLow(quants, half), fifth(half)} }
}

// powers are the constants of trits: three and its powers in zM….
func powers(s *stream) {
	for i, p := range []int{3, 9, 27, 81} {
		s.zdup("b", zM+V(i), p)
	}
}

// trits: byte · 3ⁿ · 3 / 256 is trit n.
func trits(sub, half int) []part {
	off, power := 256*half, sub
	switch i := 2*sub + half; {
	case i == 15:
		return []part{{off: 64 * 12, same: true, each: func(s *stream, v V, t int) { trit(s, v, t) }}}
	case i >= 10:
		off, power = 64*8, i-10
	}
	return []part{{off: off, each: func(s *stream, v V, _ int) { trit(s, v, power) }}}
}

func trit(s *stream, v V, power int) {
	if power > 0 {
		s.z3("mul.b", v, v, zM+V(power)-1)
	}
	s.z3("umulh.b", v, v, zM)
}

// scaleNVFP4: unsigned floats of eight bits, see tile's codec.
func scaleNVFP4(s *stream, sub, grp int) {
	const exp, tiny, norm, sub0, zero = zSum, zSum + 1, zSum + 2, zSum + 3, zProd
	s.zdup("s", exp, 119)
	s.zshift("lsl", "s", exp, exp, 23)
	s.zdup("s", tiny, 117) // 2⁻¹⁰
	s.zshift("lsl", "s", tiny, tiny, 23)
	s.zdup("s", zero, 0)
	for i := range 4 {
		v, t := zScale+V(i), zProd+1
		s.get0("ld1b.s", v, i, 16*(2*sub+grp))
		s.zmov(norm, v)
		s.zbits("and", "s", norm, 0x7f)
		s.zshift("lsl", "s", norm, norm, 20)
		s.z3("add.s", norm, norm, exp)
		s.zmov(sub0, v)
		s.zbits("and", "s", sub0, 7)
		s.zun("scvtf", sub0, sub0)
		s.z3("fmul.s", sub0, sub0, tiny)
		s.zmov(t, v)
		s.zbits("and", "s", t, 0x78)
		s.isZero(t)
		s.choose(norm, sub0, norm)
		s.zbits("eor", "s", v, 0x7f)
		s.isZero(v)
		s.choose(v, zero, norm)
	}
}

// isZero sets p1 where words are zero, choose takes from n there, else from m.
func (f *fn) isZero(v V) { f.word(0x25808001|uint32(v)<<5|1, "cmpeq p1.s, p0/z, z%d.s, #0", v) }

func (f *fn) choose(d, n, m V) {
	f.word(0x05a0c000|uint32(m)<<16|1<<10|uint32(n)<<5|uint32(d), "sel z%d.s, p1, z%d.s, z%d.s", d, n, m)
}

const (
	fEighth  = 0x40 // floats of eight bits
	fQuarter = 0x50
)

// streamFormats lists the layouts with products in streaming mode: all but code books by index, which would take a gather, and that is not legal there.
var streamFormats = []streamFormat{
	{name: "q8_0x16", above: 128, begin: half0,
		parts: func(_, half int) []part { return []part{{off: 256 * half}} }},
	{name: "q4_0x16", begin: half0, levels: func(i int) int8 { return int8(i - 8) }, twins: nibbleTwins,
		index: nibblesAt(func(_, unit int) int { return 64 * unit })},
	{name: "q4_1x16", begin: func(s *stream) { half0(s); s.halves(zM, s.get0, tile.Q4_1x16Min) },
		parts: func(_, half int) []part { return []part{highLow(0, half)} }},
	{name: "q5_0x16", begin: half0, above: 16, parts: fifthParts(tile.Q5_0x16Quants)},
	{name: "q5_1x16", begin: func(s *stream) { half0(s); s.halves(zM, s.get0, tile.Q5_1x16Min) }, parts: fifthParts(tile.Q5_1x16Quants)},
	{name: "q4_kx16", begin: beginK, entries: 16,
		parts: func(sub, half int) []part { return []part{kNibbles(tile.Q4_Kx16Quants, sub, half)} }},
	{name: "q5_kx16", begin: beginK, entries: 16,
		parts: func(sub, half int) []part {
			return []part{kNibbles(tile.Q5_Kx16Quants, sub, half), {off: tile.Q5_Kx16High + 256*half, mask: 1 << sub, tile: 2, left: 4 - sub}}
		}},
	{name: "q6_kx16", above: 32, begin: beginQ6K, entries: 16, signed: true,
		parts: func(sub, half int) []part {
			h, s := sub>>2, sub&3
			low := part{off: tile.Q6_Kx16Quants + 64*(16*h+8*(s&1)+4*half), mask: 0x0f}
			if s >= 2 {
				low.mask, low.lsr = 0, 4
			}
			return []part{low, {off: tile.Q6_Kx16High + 64*(8*h+4*half), mask: 3 << (2 * s), tile: 2, left: 4 - 2*s}}
		}},
	{name: "q2_kx16", begin: beginQ2K, entries: 32,
		parts: func(sub, half int) []part { return []part{crumbs(tile.Q2_Kx16Quants, sub, half, 0)} }},
	{name: "q3_kx16", above: 4, begin: beginQ3K, entries: 16, signed: true,
		parts: func(sub, half int) []part {
			return []part{crumbs(tile.Q3_Kx16Quants, sub, half, 0), {off: tile.Q3_Kx16High + 256*half, mask: 1 << sub, tile: 2, left: 2 - sub}}
		}},
	{name: "tq2_0x16", above: 1, begin: half0,
		parts: func(sub, half int) []part { return []part{crumbs(0, sub, half, 0)} }},
	{name: "tq1_0x16", above: 1, begin: half0, more: powers, parts: trits},
	{name: "q1_0x16", above: 1, begin: half0,
		parts: func(sub, half int) []part {
			return []part{{mask: 1 << (2*sub + 1 - half), tile: 2 * half, left: half - 2*sub}}
		}},
	{name: "q2_0x16", above: 1, begin: half0,
		parts: func(sub, half int) []part {
			return []part{{mask: 3 << (4*sub + 2 - 2*half), tile: 2 * half, left: 2*half - 2 - 4*sub}}
		}},
	{name: "nvfp4x16", begin: func(*stream) {}, scale: scaleNVFP4, levels: fp4Levels, twins: [4][2]int{{0, 2}, {1, 3}, {4, 6}, {5, 7}},
		index: nibblesAt(func(sub, unit int) int { return 64 * (4*sub + unit) })},
	{name: "iq4_nlx16", begin: half0, levels: nlLevels, twins: nibbleTwins,
		index: nibblesAt(func(_, unit int) int { return 64 * unit })},
	{name: "iq4_xsx16", begin: beginIQ4XS, entries: 8, signed: true, scale: evenOddScale, levels: nlLevels, twins: nibbleTwins,
		index: nibblesAt(func(sub, unit int) int { return tile.IQ4_XSx16Quants + 64*(4*sub+unit) })},
	{name: "mxfp4x16", begin: beginMXFP4, levels: fp4Levels, twins: nibbleTwins,
		index: nibblesAt(func(_, unit int) int { return 64 * unit })},
	{name: "iq1_sx16", begin: beginOdd(1, 3, fEighth), entries: 8, scale: evenOddScale, levels: raisedLevel, twins: levelTwins,
		index: raisedAt(tile.IQ1_SHead, 0, func(sub, _ int) int { return 4*sub + 3 })},
	{name: "iq1_mx16", begin: beginOdd(2, 3, fEighth), entries: 16, scale: evenOddScale, levels: raisedLevel, twins: levelTwins,
		index: raisedAt(tile.IQ1_MHead, tile.IQ1_MUp, func(sub, unit int) int { return 4*sub + unit })},
	{name: "iq2_xxslx16", begin: beginOdd(1, 4, fEighth), entries: 8, scale: evenOddScale, levels: signedLevel, twins: levelTwins, index: levelsAt(tile.IQ2_XXSLHead)},
	{name: "iq2_xsx16", begin: beginOdd(2, 4, fEighth), entries: 16, scale: evenOddScale, levels: signedLevel, twins: levelTwins, index: levelsAt(tile.IQ2LHead)},
	{name: "iq2_sx16", begin: beginOdd(2, 4, fEighth), entries: 16, scale: evenOddScale, levels: signedLevel, twins: levelTwins, index: levelsAt(tile.IQ2LHead)},
	{name: "iq3_xxslx16", begin: beginOdd(1, 4, fQuarter), entries: 8, scale: evenOddScale, twins: nibbleTwins,
		levels: func(i int) int8 { return tile.BookIQ3XXS.Levels[i&7] * int8(1-i>>3*2) },
		index:  nibblesAt(func(sub, unit int) int { return tile.IQ3NHead + tile.IQ3NSub*sub + 64*unit })},
	{name: "iq3_sx16", begin: beginOdd(1, 4, 0), entries: 8, scale: evenOddScale, twins: nibbleTwins,
		levels: func(i int) int8 {
			if i < 8 {
				return -tile.BookIQ3S.Levels[7-i]
			}
			return tile.BookIQ3S.Levels[i-8]
		},
		index: nibblesAt(func(sub, unit int) int { return tile.IQ3NHead + tile.IQ3NSub*sub + 64*unit })},
}
