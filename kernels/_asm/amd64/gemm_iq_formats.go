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
func iq1(layout string, s0, s1, head, groups int, begin func(w *state, j, h int)) booked {
	s := scaled{name: "iq1", unit: 0.125, odd: true, bits: 3}
	f := booked{layout: layout, s0: s0, s1: s1, bits: 5, bias: 9, groups: groups, lift: 7, begin: begin}
	f.consts = func(w *state, n int) {
		w.scaleConsts(s)
		w.hold(0x18181818, 0x02020202)
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
	return f
}

// twice emits bytes of 2 where bit n of the dwords in src is set.
func (w *state) twice(src operand.Op, n int, dst vec) {
	w.shift(31-n, src, dst)
	w.VPSRAD(operand.U8(31), dst, dst)
	w.and(w.constant(0x02020202), dst, dst)
}

func iq1s() booked {
	return iq1("iq1_sx16", tile.IQx16D, tile.IQ1_Sx16Block, tile.IQ1_SHead, 1, func(w *state, j, h int) {
		v := w.vec()
		w.twice(w.q(0, h), 4*j+3, v)
		w.shifts[h] = [4]vec{v, v, v, v}
	})
}

func iq1m() booked {
	return iq1("iq1_mx16", tile.IQ1_Mx16D, tile.IQ1_Mx16Block, tile.IQ1_MHead, 2, func(w *state, j, h int) {
		up := w.vec()
		w.VPMOVZXWD(mem(w.p0, tile.IQ1_Mx16Up+h*w.width/2), up)
		for k := range 2 {
			g := 2*j + k
			w.shifts[h][2*k], w.shifts[h][2*k+1] = w.vec(), w.vec()
			w.twice(w.q(g>>3*64, h), 4*(g&7)+3, w.shifts[h][2*k])
			w.twice(up, g, w.shifts[h][2*k+1])
		}
	})
}

// Where a sign and the level lie in a byte that is looked up, by t & 3; the signs of the second half of a sub-block are moved two bits down.
var (
	signPlace  = [4]int{0, 4, 1, 5}
	levelPlace = [4]int{4, 0, 4, 2}
	eightPlace = [4]int{3, 0, 3, 0} // levels of three bits
)

// codeConsts makes the tables of signed levels, plus 128, and the masks of signs.
func (w *state) codeConsts(name string, levels []int8, bits int, place [4]int, keep bool) {
	w.tables, w.masks = nil, nil
	for i := range 4 {
		b := bytes64(func(x int) byte {
			l, v := x>>place[i]&(1<<bits-1), 0
			if l < len(levels) {
				v = int(levels[l])
			}
			if x>>signPlace[i]&1 == 1 {
				v = -v
			}
			return byte(v + 128)
		})
		w.tables = append(w.tables, w.keep(w.table("codes_"+name+"_"+string('0'+rune(i)), b), true))
		w.masks = append(w.masks, w.keep(w.dwords(0x01010101<<signPlace[i]), keep))
	}
}

// signed turns the levels in dst into codes of group of four t.
func (w *state) signed(t, h int, dst vec) {
	signs := w.signs[h]
	if t > 3 {
		signs = w.up[h]
	}
	w.VPTERNLOGD(operand.U8(0xd8), w.masks[t&3], signs, dst)
	w.VPERMB(w.tables[t&3], dst, dst)
}

func (w *state) loadSigns(off, h int) {
	w.signs[h], w.up[h] = w.vec(), w.vec()
	w.load(w.q(off, h), w.signs[h])
	if w.width == 64 {
		w.shift(-2, w.signs[h], w.up[h])
	}
}

// loadEvenSigns completes seven signs to eight with an even number of ones.
func (w *state) loadEvenSigns(off, h int) {
	s, t, u := w.vec(), w.vec(), w.vec()
	w.load(w.q(off, h), s)
	w.and(w.constant(0x0fffffff), s, t)
	w.shift(8, t, u)
	w.xor(u, t, t)
	w.shift(16, t, u)
	w.xor(u, t, t)
	w.shift(4, t, u)
	w.xor(u, t, t)
	if w.width == 64 {
		w.VPTERNLOGD(operand.U8(0xd8), w.constant(0xf0000000), t, s)
	} else {
		w.and(w.dwords(0x0fffffff), s, s)
		w.andOr(t, 0xf0000000, s)
	}
	w.signs[h] = s
	if w.width == 64 {
		w.up[h] = w.vec()
		w.shift(-2, s, w.up[h])
	}
}

var iq2Scale = scaled{name: "iq2", unit: 0.25, bits: 4}

// levels16 are the levels of IQ2 as a table for VPSHUFB: magnitudes, or where the sign is bit 2 codes with a bias of 128.
func levels16(biased bool) []byte {
	return bytes64(func(i int) byte {
		v := 0
		if l := i & 3; l < 3 {
			v = int([3]int{8, 25, 43}[l])
		}
		switch {
		case !biased:
			return byte(v)
		case i&4 != 0:
			return byte(128 - v)
		}
		return byte(128 + v)
	})
}

// iq2levels is a type of IQ2 with levels in place of its index.
func iq2levels(layout string) booked {
	f := booked{layout: layout, s0: tile.IQx16D, s1: tile.IQ2Lx16Block, bits: 8, bias: 128, groups: 2, magnitude: true}
	f.consts = func(w *state, n int) {
		w.scaleConsts(iq2Scale)
		if w.width == 64 {
			w.codeConsts("iq2", tile.BookIQ2S.Levels, 2, levelPlace, n < 5)
			return
		}
		m := w.table("iq2_levels", levels16(false))
		if w.vnni {
			m = w.table("iq2_biased", levels16(true))
		}
		w.tables = []operand.Op{w.keep(m, true)}
	}
	f.head = func(w *state, h int) { w.loadD(h) }
	f.begin = func(w *state, j, h int) { w.loadSigns(tile.IQ2LHead+tile.IQ2LSub*j+128, h) }
	f.code = func(w *state, j, t, h int, dst vec) {
		at, p := w.q(tile.IQ2LHead+tile.IQ2LSub*j+t>>2*64, h), tile.IQSign(t)
		if w.width == 64 {
			w.shift(levelPlace[t&3]-tile.IQField(t), at, dst)
			w.signed(t, h, dst)
			return
		}
		w.shift(-tile.IQField(t), at, dst)
		w.and(w.dwords(0x03030303), dst, dst)
		s := w.vec()
		if w.vnni {
			w.shift(2-p, w.signs[h], s)
			w.andOr(s, 0x04040404, dst)
		} else {
			w.shift(7-p, w.signs[h], s)
			w.or(w.dwords(0x01010101), s, s)
			w.sign = s
		}
		w.VPSHUFB(dst, w.reg(w.tables[0]), dst)
	}
	f.scale = func(w *state, j, k, h int, dst vec) { w.nibbleScale(iq2Scale, j>>2*64, 2*(j&3)+k, h, dst) }
	return f
}

// bookConsts makes the tables of the two bytes of a point, 64 points each.
func (w *state) bookConsts(name string, b *tile.Book, plane func(p uint16, i int) byte, keep int) {
	for i := range 2 {
		w.books[i] = nil
		for q := range len(b.Points) / 64 {
			t := bytes64(func(x int) byte { return plane(b.Points[64*q+x], i) })
			m := w.table("book_"+name+"_"+string('0'+rune(i))+string('0'+rune(q)), t)
			w.books[i] = append(w.books[i], w.keep(m, keep > 0))
			keep--
		}
	}
}

// indexMasks emits the masks of bits 6 and 7 of an index.
func (w *state) indexMasks(idx vec) {
	t := w.vec()
	k6, k7 := w.K(), w.K()
	w.VPADDB(idx, idx, t)
	w.VPMOVB2M(idx, k7)
	w.VPMOVB2M(t, k6)
	w.k = append(w.k[:0], k6, k7)
}

// lookup emits what the tables have for an index, whose bits from the sixth on choose among tables by the masks in w.k.
func (w *state) lookup(tables []operand.Op, idx vec) vec {
	if len(tables) == 2 {
		v := w.vec()
		w.VPERMB(tables[0], idx, v)
		w.VPERMB(tables[1], idx, w.k[0], v)
		return v
	}
	n := len(tables) / 2
	a, b := w.lookup(tables[:n], idx), w.lookup(tables[n:], idx)
	w.VMOVDQU8(b, w.k[map[int]int{2: 1, 4: 2}[n]], a)
	return a
}

// multishift makes the control of VPMULTISHIFTQB that moves bit at(i) of a dword to bit 0 of byte i.
func multishift(at func(i int) int) []byte {
	return bytes64(func(x int) byte { return byte((x&4*8 + at(x&3)) & 63) })
}

// iq2index is a type of IQ2 with its index.
func iq2index(layout, name string, b *tile.Book, s1, head, groups int, p points) booked {
	f := booked{layout: layout, s0: tile.IQx16D, s1: s1, bits: 8, bias: 128, groups: groups, points: &p}
	large := len(b.Points) > 256
	f.consts = func(w *state, n int) {
		w.scaleConsts(iq2Scale)
		if w.width == 32 {
			w.zero = w.vec()
			w.gen.zero(w.zero)
			return
		}
		w.codeConsts("iq2", b.Levels, 2, levelPlace, n < 4)
		w.ctrl = nil
		for t := range 8 {
			c := multishift(func(i int) int { return 8*(t>>1) + 2*i - levelPlace[t&3] })
			w.ctrl = append(w.ctrl, w.keep(w.table("levels_at_"+string('0'+rune(t)), c), n < 4))
		}
		if large {
			w.ctrl = append(w.ctrl, w.keep(w.table("ninth_at", multishift(func(i int) int { return 21 + i })), n == 1))
		}
		w.bookConsts(name, b, func(p uint16, i int) byte { return byte(p >> (8 * i)) }, 0)
	}
	f.head = func(w *state, h int) { w.loadD(h) }
	f.begin = func(w *state, j, h int) {
		at := head + tile.IQ2Sub*j
		w.loadEvenSigns(at+64, h)
		if w.width == 32 {
			return
		}
		idx := w.vec()
		w.load(w.q(at, h), idx)
		w.indexMasks(idx)
		if large {
			ninth, k8 := w.vec(), w.K()
			w.VPMULTISHIFTQB(w.q(at+64, h), w.reg(w.ctrl[8]), ninth)
			w.VPMOVB2M(ninth, k8)
			w.k = append(w.k, k8)
		}
		for i := range 2 {
			w.level[h][i] = w.lookup(w.books[i], idx)
		}
	}
	f.code = func(w *state, j, t, h int, dst vec) {
		w.VPMULTISHIFTQB(w.level[h][t&1], w.reg(w.ctrl[t]), dst)
		w.signed(t, h, dst)
	}
	f.scale = func(w *state, j, k, h int, dst vec) {
		if groups == 1 {
			w.nibbleScale(iq2Scale, head+tile.IQ2Sub*j+64, 7, h, dst)
			return
		}
		w.nibbleScale(iq2Scale, j>>2*64, 2*(j&3)+k, h, dst)
	}
	return f
}

func iq3xxs() booked {
	b := tile.BookIQ3XXS
	s := scaled{name: "iq3_xxs", unit: 0.5, bits: 4}
	f := booked{layout: "iq3_xxsx16", s0: tile.IQx16D, s1: tile.IQ3_XXSx16Block, bits: 8, bias: 128, groups: 1,
		points: &points{book: b, sub: tile.IQ3Sub, fours: true, signAt: 128}}
	f.consts = func(w *state, n int) {
		w.scaleConsts(s)
		if w.width == 32 {
			w.zero = w.vec()
			w.gen.zero(w.zero)
			return
		}
		w.codeConsts("iq3_xxs", b.Levels, 3, eightPlace, n < 5)
		w.ctrl = nil
		for t := range 4 {
			c := multishift(func(i int) int { return 8*t + 3*(i&1) - eightPlace[t] })
			w.ctrl = append(w.ctrl, w.keep(w.table("eights_at_"+string('0'+rune(t)), c), n < 7))
		}
		r := w.GP64()
		w.MOVQ(operand.U64(0xcccccccccccccccc), r)
		w.upper = w.K()
		w.KMOVQ(r, w.upper)
		w.bookConsts("iq3_xxs", b, func(p uint16, i int) byte { return byte(p >> (6 * i) & 63) }, max(0, 8-3*(n-1)))
	}
	f.head = func(w *state, h int) { w.loadD(h) }
	f.begin = func(w *state, j, h int) {
		at := tile.IQ3Sub * j
		w.loadEvenSigns(at+128, h)
		for m := range 2 {
			if w.width == 32 {
				break
			}
			idx := w.vec()
			w.load(w.q(at+64*m, h), idx)
			w.indexMasks(idx)
			for i := range 2 {
				w.level[h][2*m+i] = w.lookup(w.books[i], idx)
			}
		}
	}
	f.code = func(w *state, j, t, h int, dst vec) {
		c, m := w.reg(w.ctrl[t&3]), t>>2
		w.VPMULTISHIFTQB(w.level[h][2*m], c, dst)
		w.VPMULTISHIFTQB(w.level[h][2*m+1], c, w.upper, dst)
		w.signed(t, h, dst)
	}
	f.scale = func(w *state, j, _, h int, dst vec) { w.nibbleScale(s, tile.IQ3Sub*j+128, 7, h, dst) }
	return f
}

// iq3s takes twice the nibble for the code: its value and 15.
func iq3s() booked {
	s := scaled{name: "iq3_s", unit: 1, odd: true, bits: 4}
	f := booked{layout: "iq3_sx16", s0: tile.IQx16D, s1: tile.IQ3_Sx16Block, bits: 5, bias: 15, groups: 1, lift: 1}
	f.consts = func(w *state, n int) {
		w.scaleConsts(s)
		w.hold(0x1e1e1e1e)
	}
	f.head = func(w *state, h int) { w.loadD(h) }
	f.begin = func(*state, int, int) {}
	f.code = func(w *state, j, t, h int, dst vec) {
		w.shift(1-t>>2*4, w.q(tile.IQ3_SHead+tile.IQ3SSub*j+t&3*64, h), dst)
		w.and(w.constant(0x1e1e1e1e), dst, dst)
	}
	f.scale = func(w *state, j, _, h int, dst vec) { w.nibbleScale(s, 0, j, h, dst) }
	return f
}

var bookeds = []booked{
	iq1s(), iq1m(),
	iq2index("iq2_xxsx16", "iq2_xxs", tile.BookIQ2XXS, tile.IQ2_XXSx16Block, 0, 1,
		points{book: tile.BookIQ2XXS, sub: tile.IQ2Sub, signAt: 64}),
	iq2index("iq2_xsx16", "iq2_xs", tile.BookIQ2XS, tile.IQ2_XSx16Block, tile.IQ2_XSHead, 2,
		points{book: tile.BookIQ2XS, at: tile.IQ2_XSHead, sub: tile.IQ2Sub, signAt: 64}),
	iq2levels("iq2_sx16"),
	iq3xxs(), iq3s(),
}
