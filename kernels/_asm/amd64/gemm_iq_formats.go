package main

import (
	"encoding/binary"
	"math"

	"github.com/mmcloughlin/avo/operand"

	"jns/kernels/tile"
)

// bytes64 makes a constant of 64 bytes.
func bytes64(f func(i int) byte) []byte {
	b := make([]byte, 64)
	for i := range b {
		b[i] = f(i)
	}
	return b
}

// floats16 makes a constant of 16 floats.
func floats16(f func(i int) float32) []byte {
	b := make([]byte, 64)
	for i := range 16 {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(f(i)))
	}
	return b
}

// scaled is the scale of nibbles of a dword: (s + ½)·unit, or (2s+1)·unit if odd, times d. Looked up in AVX-512 and where it is of three bits.
type scaled struct {
	name string
	unit float32
	odd  bool
	bits int
}

func (s scaled) of(i int) float32 {
	i &= 1<<s.bits - 1
	if s.odd {
		return float32(2*i+1) * s.unit
	}
	return (float32(i) + 0.5) * s.unit
}

func (w *state) scaleConsts(s scaled) {
	if w.width == 64 || s.bits == 3 {
		w.floats = w.keep(w.table("scales_"+s.name, floats16(s.of)), w.width == 64)
		return
	}
	w.hold(15)
}

func (w *state) loadD(h int) {
	w.d[h] = w.vec()
	w.halfs(w.p0, 0, h, w.d[h])
}

// nibbleScale emits the scale of nibble i of the dword at off.
func (w *state) nibbleScale(s scaled, off, i, h int, dst vec) {
	w.shift(-4*i, w.q(off, h), dst)
	if w.width == 64 || s.bits == 3 {
		w.VPERMPS(w.floats, dst, dst)
		w.VMULPS(w.d[h], dst, dst)
		return
	}
	if i < 7 {
		w.and(w.dwords(15), dst, dst)
	}
	w.VCVTDQ2PS(dst, dst)
	if s.odd { // 2·unit·s + unit
		w.VADDPS(dst, dst, dst)
		w.VADDPS(w.dwords(math.Float32bits(1)), dst, dst)
	} else {
		w.VADDPS(w.dwords(math.Float32bits(0.5)), dst, dst)
	}
	if s.unit != 1 {
		w.VMULPS(w.dwords(math.Float32bits(s.unit)), dst, dst)
	}
	w.VMULPS(w.d[h], dst, dst)
}

// iq1 is IQ1_S and IQ1_M: codes 8·level ± 1 + 9, the level number at bits 3 and 4, twice the shift at bit 1.
func iq1(layout string, s1, head, groups int, begin func(w *state, j, h int)) booked {
	s := scaled{name: "iq1", unit: 0.125, odd: true, bits: 3}
	f := booked{layout: layout, s0: tile.IQx16D, s1: s1, bits: 5, bias: 9, groups: groups, lift: 7, begin: begin}
	f.consts = func(w *state, n int) {
		w.scaleConsts(s)
		if w.isShort(f.short) && n == 1 && !w.expands {
			return
		}
		if w.summed(f, n) {
			w.keepMasks(0x03030303, 0x0c0c0c0c, 0x30303030, 0xc0c0c0c0)
		}
		w.hold(0x18181818, 0x02020202)
		w.tables = nil
		for l := 0; groups == 2 && l < 4; l++ {
			t := w.table("up_"+string('0'+rune(l)), bytes64(func(i int) byte { return byte(i >> l & 1 * 2) }))
			w.tables = append(w.tables, w.keep(t, w.width == 64))
		}
	}
	f.head = func(w *state, h int) { w.loadD(h) }
	f.code = func(w *state, j, t, h int, dst vec) {
		w.shift(3-tile.IQField(t), w.q(head+128*j+t>>2*64, h), dst)
		if w.width == 64 {
			w.VPTERNLOGD(operand.U8(0xea), w.shifts[h][t>>1], w.reg(w.constant(0x18181818)), dst)
			return
		}
		w.and(w.dwords(0x18181818), dst, dst)
		w.or(w.shifts[h][t>>1], dst, dst)
	}
	f.scale = func(w *state, j, k, h int, dst vec) {
		i := j
		if groups == 2 {
			i = 2*j + k
		}
		w.nibbleScale(s, i>>3*64, i&7, h, dst)
	}
	if groups == 1 {
		f.sum = inPlaces(f, head)
	}
	shortIQ1(&f, head)
	return f
}

// inPlaces is the sum of IQ1_S: level numbers stay where they lie in their bytes, the highest first, and the sum moves down to the next ones. Shifts have a
// sum of their own. For IQ1_M, whose shifts differ by group, that was slower.
func inPlaces(f booked, head int) func(w *state, at func(off int) operand.Mem, j, k, h int, ahead func(item int)) vec {
	return func(w *state, at func(off int) operand.Mem, j, k, h int, ahead func(item int)) vec {
		numbers, shifts := w.vec(), w.vec()
		w.zero(numbers)
		w.biasFrom(f, at, k)(shifts)
		item := 0
		for i, first := range [4]int{2, 0, 3, 1} {
			if i > 0 {
				w.VPSRAD(operand.U8(2), numbers, numbers)
			}
			for t := first; t < 8; t += 4 {
				ahead(item)
				item++
				v, x := w.vec(), w.vec()
				w.VPBROADCASTD(at(4*t), x)
				w.and(w.q(head+128*j+t>>2*64, h), w.constant(0x03030303<<tile.IQField(t)).(vec), v)
				w.dpbusd(x, v, numbers)
				w.dpbusd(x, w.shifts[h][t>>1], shifts)
			}
		}
		w.VPSLLD(operand.U8(3), numbers, numbers)
		w.VPADDD(shifts, numbers, numbers)
		return numbers
	}
}

// twice emits bytes of 2 where bit n of the dwords in src is set.
func (w *state) twice(src operand.Op, n int, dst vec) {
	w.shift(31-n, src, dst)
	w.VPSRAD(operand.U8(31), dst, dst)
	w.and(w.constant(0x02020202), dst, dst)
}

func iq1s() booked {
	return iq1("iq1_sx16", tile.IQ1_Sx16Block, tile.IQ1_SHead, 1, func(w *state, j, h int) {
		v := w.vec()
		w.twice(w.q(0, h), 4*j+3, v)
		w.shifts[h] = [4]vec{v, v, v, v}
	})
}

func iq1m() booked {
	return iq1("iq1_mx16", tile.IQ1_Mx16Block, tile.IQ1_MHead, 2, func(w *state, j, h int) {
		// The nibble of j in every byte, then the bytes of each l.
		up := w.vec()
		if w.width == 64 {
			w.control("up_of", j, w.q(tile.IQ1_MUp, h), func(int) int { return 4 * j }, up)
		} else {
			w.shift(-(j & 1 * 4), w.q(tile.IQ1_MUp, h), up)
			b := j >> 1
			w.VPSHUFB(w.shuffle([4]int{b, b, b, b}), up, up)
			w.and(w.dwords(0x0f0f0f0f), up, up)
		}
		for l := range 4 {
			v := w.vec()
			w.shifts[h][l] = v
			if w.width == 64 {
				w.VPERMB(w.tables[l], up, v)
			} else {
				w.load(w.tables[l], v)
				w.VPSHUFB(up, v, v)
			}
		}
	})
}

// Where a sign and the level lie in a byte that is looked up, by t & 3; the signs of the second half of a sub-block are moved two bits down.
var (
	signPlace  = [4]int{0, 4, 1, 5}
	levelPlace = [4]int{4, 0, 4, 2}
)

// codeConsts makes the tables of signed levels, plus 128, and the masks of signs.
func (w *state) codeConsts(name string, levels []int8, bits int, signAt, levelAt [4]int, keep bool) {
	w.tables, w.masks = nil, nil
	for i := range 4 {
		b := bytes64(func(x int) byte {
			l, v := x>>levelAt[i]&(1<<bits-1), 0
			if l < len(levels) {
				v = int(levels[l])
			}
			if x>>signAt[i]&1 == 1 {
				v = -v
			}
			return byte(v + 128)
		})
		w.tables = append(w.tables, w.keep(w.table("codes_"+name+"_"+string('0'+rune(i)), b), true))
		w.masks = append(w.masks, w.keep(w.dwords(0x01010101<<signAt[i]), keep))
	}
}

// signed turns the levels in dst into codes by a table; half of the signs lie two bits higher.
func (w *state) signed(table, t, h int, dst vec) {
	signs := w.signs[h]
	if t > 3 {
		signs = w.up[h]
	}
	w.VPTERNLOGD(operand.U8(0xd8), w.masks[table], signs, dst)
	w.VPERMB(w.tables[table], dst, dst)
}

// signByte emits bytes with the sign at bit p in their top bit, and some bit below set. Four signs at a time are in the upper halves of bytes
// whose lower halves are 1, so that a shift is enough.
func (w *state) signByte(p, h int) vec {
	u := w.up[h]
	if p < 4 {
		if w.low4[h] == nil {
			w.low4[h] = w.vec()
			w.shift(4, w.signs[h], w.low4[h])
			w.and(w.dwords(0xf0f0f0f0), w.low4[h], w.low4[h])
			w.or(w.dwords(0x01010101), w.low4[h], w.low4[h])
		}
		u = w.low4[h]
	} else if u == nil {
		u = w.vec()
		w.and(w.dwords(0xf0f0f0f0), w.signs[h], u)
		w.or(w.dwords(0x01010101), u, u)
		w.up[h] = u
	}
	if p&3 == 3 {
		return u
	}
	s := w.vec()
	w.shift(3-p&3, u, s)
	return s
}

func (w *state) loadSigns(off, h int) {
	w.signs[h], w.up[h], w.low4[h] = w.vec(), nil, nil
	w.load(w.q(off, h), w.signs[h])
	if w.width == 64 {
		w.up[h] = w.vec()
		w.shift(-2, w.signs[h], w.up[h])
	}
}

var iq2Scale = scaled{name: "iq2", unit: 0.25, bits: 4}

// levels16 are the levels of IQ2 as a table for VPSHUFB, the level number being at a bit of a nibble: magnitudes, or codes with a bias of 128 whose
// sign is at another bit.
func levels16(at, sign int) []byte {
	return bytes64(func(i int) byte {
		v, l := 0, i>>at&3
		if l < 3 {
			v = int(tile.BookIQ2S.Levels[l])
		}
		switch {
		case sign < 0:
			return byte(v)
		case i>>sign&1 != 0:
			return byte(128 - v)
		}
		return byte(128 + v)
	})
}

// iq2levels is a type of IQ2 with levels in place of its index.
func iq2levels(layout string, s1, head, groups int) booked {
	f := booked{layout: layout, s0: tile.IQx16D, s1: s1, bits: 8, bias: 128, groups: groups, magnitude: 3, lean: true}
	f.consts = func(w *state, n int) {
		w.scaleConsts(iq2Scale)
		if w.width == 64 {
			w.codeConsts("iq2", tile.BookIQ2S.Levels, 2, signPlace, levelPlace, n < 5)
			return
		}
		if w.apart {
			w.tables = []operand.Op{w.table("iq2_levels_0", levels16(0, -1)), w.table("iq2_levels_2", levels16(2, -1))}
		} else {
			w.tables = []operand.Op{w.table("iq2_biased_0", levels16(0, 2)), w.table("iq2_biased_2", levels16(2, 1))}
		}
		for i, m := range w.tables {
			w.tables[i] = w.keep(m.(operand.Mem), n == 1)
		}
	}
	f.head = func(w *state, h int) { w.loadD(h) }
	f.begin = func(w *state, j, h int) { w.loadSigns(head+tile.IQ2LSub*j+128, h) }
	f.code = func(w *state, j, t, h int, dst vec) {
		at, p := w.q(head+tile.IQ2LSub*j+t>>2*64, h), tile.IQSign(t)
		if w.width == 64 {
			w.shift(levelPlace[t&3]-tile.IQField(t), at, dst)
			w.signed(t&3, t, h, dst)
			return
		}
		if t&3 == 0 {
			w.level[h] = [4]vec{w.vec(), w.vec()}
			w.load(at, w.level[h][0])
			w.shift(-4, w.level[h][0], w.level[h][1])
			for _, v := range w.level[h][:2] {
				if w.apart { // a table of magnitudes tells two levels of a nibble apart
					w.and(w.dwords(0x0f0f0f0f), v, v)
				}
			}
		}
		field := tile.IQField(t)
		place := field & 3 // of the level in a nibble: 0 or 2
		if w.apart {
			w.sign = w.signByte(p, h)
			w.VPSHUFB(w.level[h][field>>2], w.reg(w.tables[place>>1]), dst)
			return
		}
		w.and(w.dwords(0x03030303<<place), w.level[h][field>>2], dst)
		to := 2 - place>>1
		s := w.vec()
		w.shift(to-p, w.signs[h], s)
		w.andOr(s, 0x01010101<<to, dst)
		w.VPSHUFB(dst, w.reg(w.tables[place>>1]), dst)
	}
	f.scale = func(w *state, j, k, h int, dst vec) {
		i := j
		if groups == 2 {
			i = 2*j + k
		}
		w.nibbleScale(iq2Scale, i>>3*64, i&7, h, dst)
	}
	return f
}

// bookConsts makes the tables of the two bytes of a point, 64 points each, and keeps some in registers.
func (w *state) bookConsts(name string, b *tile.Book, byteOf func(p uint16, i int) byte, keep int) {
	for i := range 2 {
		w.books[i] = nil
		for q := range 4 {
			t := bytes64(func(x int) byte { return byteOf(b.Points[64*q+x], i) })
			m := w.table("book_"+name+"_"+string('0'+rune(i))+string('0'+rune(q)), t)
			w.books[i] = append(w.books[i], w.keep(m, keep > 0))
			keep--
		}
	}
}

// lookup emits the two bytes of the points whose index is at m.
func (w *state) lookup(m operand.Mem) (v [2]vec) {
	idx := w.vec()
	w.load(m, idx)
	k6, k7, both := w.K(), w.K(), w.K()
	w.VPMOVB2M(idx, k7)
	w.VPTESTMB(w.constant(0x40404040), idx, k6)
	w.KANDQ(k6, k7, both)
	for i, b := range w.books {
		v[i] = w.vec()
		w.VPERMB(b[0], idx, v[i])
		w.VPERMB(b[1], idx, k6, v[i])
		w.VPERMB(b[2], idx, k7, v[i])
		w.VPERMB(b[3], idx, both, v[i])
	}
	return v
}

// multishift makes the control of VPMULTISHIFTQB that moves bit at(i) of a dword to bit 0 of byte i.
func multishift(at func(i int) int) []byte {
	return bytes64(func(x int) byte { return byte((x&4*8 + at(x&3)) & 63) })
}

// control emits the result of VPMULTISHIFTQB.
func (w *state) control(name string, n int, src operand.Op, at func(i int) int, dst vec) {
	w.VPMULTISHIFTQB(src, w.reg(w.table(name+"_"+string('0'+rune(n)), multishift(at))), dst)
}

// straight turns the level at bit 0 of every byte of dst into the code of group of four t, its sign being moved to bit 4.
func (w *state) straight(name string, table, t, h int, sign func(e int) (byte, bit int), dst vec) {
	s := w.vec()
	w.control("signs_at_"+name, t, w.signs[h], func(i int) int {
		byte, bit := sign(4*t + i)
		return 8*byte + bit - 4
	}, s)
	w.VPTERNLOGD(operand.U8(0xd8), w.masks[table], s, dst)
	w.VPERMB(w.tables[table], dst, dst)
}

func iq2index() booked {
	b := tile.BookIQ2XXS
	p := points{book: b, at: tile.IQ2IHead, sub: tile.IQ2ISub}
	f := booked{layout: "iq2_xxsx16", s0: tile.IQx16D, s1: tile.IQ2_XXSx16Block, bits: 8, bias: 128, groups: 1, points: &p}
	f.consts = func(w *state, n int) {
		w.scaleConsts(iq2Scale)
		if w.width == 64 {
			w.hold(0x40404040)
			if w.expands {
				w.codeConsts("iq2", b.Levels, 2, signPlace, levelPlace, n < 5)
			} else {
				w.codeConsts("iq2_pair", b.Levels, 2, [4]int{4, 5, 0, 1}, [4]int{0, 2, 2, 4}, false)
				w.pairs = w.tables
				w.hold(0x30303030, 0x03030303)
			}
			w.bookConsts("iq2_xxs", b, func(p uint16, i int) byte { return byte(p >> (8 * i)) }, max(0, 8-3*(n-1)))
		}
	}
	f.head = func(w *state, h int) { w.loadD(h) }
	f.begin = func(w *state, j, h int) {
		at := tile.IQ2IHead + tile.IQ2ISub*j
		w.loadSigns(at+64, h)
		if w.width == 64 {
			v := w.lookup(w.q(at, h))
			copy(w.level[h][:], v[:])
		}
	}
	p.order = func(i int) int { return i>>2 + 8*(i&3) }
	// Field i of a byte is at bit 2i. The signs of fields 0 and 1 take the place of field 2 and those of 2 and 3, moved two bits down, that of field 1;
	// the signs of h = 1 are moved two bits down too.
	p.plane = func(w *state, e, h int, dst vec) {
		part, i := e>>2, e&3
		signs, mask := w.signs[h], w.constant(0x30303030)
		if part == 1 {
			signs = w.up[h]
		}
		switch i {
		case 0:
			w.pair = w.vec()
			w.move(w.level[h][part], w.pair)
		case 2:
			w.pair = w.vec()
			w.shift(-2, w.level[h][part], w.pair)
			mask = w.constant(0x03030303)
		}
		if i&1 == 0 {
			w.VPTERNLOGD(operand.U8(0xd8), mask, signs, w.pair)
		}
		w.VPERMB(w.pairs[i], w.pair, dst)
	}
	p.sign = func(e int) (byte, bit int) { return e >> 3, tile.IQ2Place(e>>2&1, e&3) }
	f.code = func(w *state, j, t, h int, dst vec) {
		w.control("pairs_at", t>>1, w.level[h][t&1], func(i int) int { return 8*(t>>1) + 2*i }, dst)
		w.straight("iq2", 1, t, h, p.sign, dst)
	}
	f.scale = func(w *state, j, k, h int, dst vec) { w.nibbleScale(iq2Scale, 0, j, h, dst) }
	shortPoints(&f)
	return f
}

var iq3Scale = scaled{name: "iq3_xxs", unit: 0.5, bits: 4}

func iq3index() booked {
	b := tile.BookIQ3XXS
	p := points{book: b, at: tile.IQ3IHead, sub: tile.IQ3ISub, fours: true}
	f := booked{layout: "iq3_xxsx16", s0: tile.IQx16D, s1: tile.IQ3_XXSx16Block, bits: 8, bias: 128, groups: 1, points: &p}
	f.consts = func(w *state, n int) {
		w.scaleConsts(iq3Scale)
		if w.width == 32 {
			return
		}
		// Elements 0 and 2 have their level at bit 0 and their sign at 4 or 5, 1 and 3 at bit 3 and at 0 or 1.
		w.codeConsts("iq3_xxs", b.Levels, 3, [4]int{4, 0, 5, 1}, [4]int{0, 3, 0, 3}, n < 5)
		w.hold(0x40404040)
		w.bookConsts("iq3_xxs", b, func(p uint16, i int) byte { return byte(p >> (6 * i) & 63) }, max(0, 8-3*(n-1)))
		r := w.GP64()
		w.MOVQ(operand.U64(0xcccccccccccccccc), r)
		w.upper = w.K()
		w.KMOVQ(r, w.upper)
	}
	f.head = func(w *state, h int) { w.loadD(h) }
	f.begin = func(w *state, j, h int) {
		at := tile.IQ3IHead + tile.IQ3ISub*j
		w.loadSigns(at+128, h)
		if w.width == 64 {
			a, b := w.lookup(w.q(at, h)), w.lookup(w.q(at+64, h))
			w.level[h] = [4]vec{a[0], a[1], b[0], b[1]}
		}
	}
	p.order = func(i int) int { return i&16 + i&3*4 + i>>2&3 }
	p.plane = func(w *state, e, h int, dst vec) {
		w.move(w.level[h][e>>1], dst)
		w.signed(e&3, e, h, dst)
	}
	p.sign = func(e int) (byte, bit int) { return e >> 2 & 3, tile.IQ3Place(e>>4, e&3) }
	f.code = func(w *state, j, t, h int, dst vec) {
		c, m := t&3, t>>2*2
		at := func(i int) int { return 8*c + 3*(i&1) }
		ctrl := w.reg(w.table("eights_at_"+string('0'+rune(c)), multishift(at)))
		w.VPMULTISHIFTQB(w.level[h][m], ctrl, dst)
		w.VPMULTISHIFTQB(w.level[h][m+1], ctrl, w.upper, dst)
		w.straight("iq3", 0, t, h, p.sign, dst)
	}
	f.scale = func(w *state, j, _, h int, dst vec) { w.nibbleScale(iq3Scale, 0, j, h, dst) }
	shortPoints(&f)
	return f
}

// iq3levels is IQ3_XXS with levels and signs in nibbles.
func iq3levels() booked {
	f := booked{layout: "iq3_xxslx16", s0: tile.IQx16D, s1: tile.IQ3Nx16Block, bits: 8, bias: 128, groups: 1, magnitude: 2}
	f.consts = func(w *state, n int) {
		w.scaleConsts(iq3Scale)
		code := func(bias int) []byte {
			return bytes64(func(i int) byte {
				v := int(tile.BookIQ3XXS.Levels[i&7])
				if i&8 != 0 && w.vnni {
					v = -v
				}
				return byte(v + bias)
			})
		}
		m := w.table("iq3_xxs_magnitudes", code(0))
		if w.vnni {
			m = w.table("iq3_xxs_nibbles", code(128))
		}
		w.tables = []operand.Op{w.keep(m, true)}
		w.hold(0x0f0f0f0f)
	}
	f.head = func(w *state, h int) { w.loadD(h) }
	f.begin = func(*state, int, int) {}
	f.code = func(w *state, j, t, h int, dst vec) {
		at := w.q(tile.IQ3NHead+tile.IQ3NSub*j+t&3*64, h)
		w.shift(-(t >> 2 * 4), at, dst)
		if w.width == 64 {
			w.VPERMB(w.tables[0], dst, dst)
			return
		}
		if !w.vnni {
			w.sign = w.vec()
			w.shift(4-t>>2*4, at, w.sign)
			w.or(w.dwords(0x01010101), w.sign, w.sign)
		}
		w.and(w.dwords(0x0f0f0f0f), dst, dst)
		w.VPSHUFB(dst, w.reg(w.tables[0]), dst)
	}
	f.scale = func(w *state, j, _, h int, dst vec) { w.nibbleScale(iq3Scale, 0, j, h, dst) }
	return f
}

// iq3s takes twice the nibble for the code: its value and 15.
func iq3s() booked {
	s := scaled{name: "iq3_s", unit: 1, odd: true, bits: 4}
	f := booked{layout: "iq3_sx16", s0: tile.IQx16D, s1: tile.IQ3Nx16Block, bits: 5, bias: 15, groups: 1, lift: 1}
	f.consts = func(w *state, n int) {
		w.scaleConsts(s)
		w.hold(0x1e1e1e1e)
	}
	f.head = func(w *state, h int) { w.loadD(h) }
	f.begin = func(*state, int, int) {}
	f.code = func(w *state, j, t, h int, dst vec) {
		w.shift(1-t>>2*4, w.q(tile.IQ3NHead+tile.IQ3NSub*j+t&3*64, h), dst)
		w.and(w.constant(0x1e1e1e1e), dst, dst)
	}
	f.scale = func(w *state, j, _, h int, dst vec) { w.nibbleScale(s, 0, j, h, dst) }
	return f
}

var bookeds = []booked{
	iq1s(), iq1m(),
	iq2index(), iq3index(),
	iq2levels("iq2_xxslx16", tile.IQ2_XXSLx16Block, tile.IQ2_XXSLHead, 1),
	iq2levels("iq2_xsx16", tile.IQ2Lx16Block, tile.IQ2LHead, 2),
	iq2levels("iq2_sx16", tile.IQ2Lx16Block, tile.IQ2LHead, 2),
	iq3levels(), iq3s(),
}
