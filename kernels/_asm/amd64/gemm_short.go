package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"jns/kernels/tile"
)

// A kernel for one activation row is short where sums need neither a start that depends on the activations nor a conversion: a sum starts at the bits
// of a float whose last place counts for one, so it is one already; what it began with and the bias of the codes go in one subtraction of a number that
// depends on the activations alone. Those are rewritten once for all tile rows: shortBytes a block, the quants, d, m, c, c0 and then
//
//	offset 48  float32   add + mul · Σq, see short
//	offset 52  float32   the same of q[0:16]
//	offset 56  float32   the same of q[16:32]
//	offset 60  unused
//
// All of them are integers or multiples of the sum's last place, and below 2²⁴ of these: exact, so bits are those of the definition.
const (
	shortBytes = 64
	shortAll   = 48
	shortHalf  = 52
	shortLast  = 60
)

// short is how a format takes one activation row in sets with AVX-512.
type short struct {
	// mul and add, by sub-block, make the numbers that are subtracted.
	mul float32
	add [8]float32
	// order, if set, is of the quants: which element byte i is.
	order func(i int) int
	// words: the sums of the groups of eight, two words at shortAll and two at shortLast, take these places.
	words bool
}

// term is a float sum of integers and its scale before d of the activations.
type term struct{ sum, scale vec }

// startBits are the bits of 1.5·2^(23−k): an integer added to them adds itself times 2^−k to the float.
func startBits(k int) uint32 { return uint32(0x4b400000 - k<<23) }

func startFloat(k int) float32 { return math.Float32frombits(startBits(k)) }

// isShort reports whether a set has the operations that short kernels are made of.
func (g *gen) isShort(s *short) bool { return s != nil && g.width == 64 }

// block is the size of a block of activations.
func (g *gen) block(s *short) int {
	if g.isShort(s) {
		return shortBytes
	}
	return tile.Q8XBytes
}

// start sets a sum to what it begins with, moved right by n bits if it is yet to be moved left.
func (g *gen) start(k, n int, acc vec) {
	if v, ok := g.constant(startBits(k) >> n).(vec); ok {
		g.move(v, acc)
		return
	}
	g.load(g.dwords(startBits(k)>>n), acc)
}

// prepare emits the function that rewrites activations.
func (g *gen) prepare(layout string, s *short, subs int) {
	if !g.isShort(s) {
		return
	}
	a := g.begin("Expand_sums_"+layout+"_q8x_1x32_"+g.name, "copies blocks of quantised activations with what "+layout+" subtracts from sums.")
	x, y, blocks := g.field(a, argX), g.field(a, argY), g.field(a, argBlocks)
	zero, mul := g.XMM(), g.XMM()
	g.VPXOR(zero, zero, zero)
	g.VBROADCASTSS(g.dwords(math.Float32bits(-s.mul)), mul)
	var order reg.VecVirtual
	if s.order != nil {
		order = g.YMM()
		g.VMOVDQU(g.table("order_"+layout, bytes64(func(i int) byte { return byte(s.order(i & 31)) })), order)
	}
	g.Label("each")
	for j := range subs {
		from, to := j*tile.Q8XBytes, j*shortBytes
		q, tail, t, u := g.YMM(), g.XMM(), g.XMM(), g.XMM()
		if s.order != nil {
			g.VPERMB(mem(x, from), order, q)
		} else {
			g.VMOVDQU(mem(x, from), q)
		}
		g.VMOVDQU(mem(x, from+tile.Q8XD), tail)
		g.VMOVDQU(q, mem(y, to))
		g.VMOVDQU(tail, mem(y, to+tile.Q8XD))
		g.Comment("c, c0, c less 0, 0, c0")
		g.VPSHUFD(operand.U8(0xae), tail, t)
		g.VPSHUFD(operand.U8(0xb0), tail, u)
		g.VPBLENDD(operand.U8(12), u, zero, u)
		g.VPSUBD(u, t, t)
		g.VPSRAD(operand.U8(7), t, t)
		g.VCVTDQ2PS(t, t)
		add := g.XMM()
		g.VBROADCASTSS(g.dwords(math.Float32bits(s.add[j])), add)
		g.VFMADD213PS(add, mul, t)
		g.VMOVDQU(t, mem(y, to+shortAll))
		if s.words {
			z := g.YMM()
			g.VPXOR(z, z, z)
			g.VPXOR(g.dwords(0x80808080), q, q)
			g.VPSADBW(z, q, q)
			g.VPMOVQW(q, t)
			g.VPSUBW(g.dwords(0x04000400), t, t)
			g.VMOVD(t, mem(y, to+shortAll))
			g.VPEXTRD(operand.U8(1), t, mem(y, to+shortLast))
		}
	}
	g.ADDQ(imm(subs*tile.Q8XBytes), x)
	g.ADDQ(imm(subs*shortBytes), y)
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef("each"))
	g.end()
}

// addTerms adds the terms of half h of a sub-block to acc.
func (g *gen) addTerms(terms []term, d operand.Mem, acc vec) {
	for _, t := range terms {
		g.scaleBy(d, t.scale, t.scale)
		g.VFMADD231PS(t.scale, t.sum, acc)
	}
}

// bitTo is the matrix of VGF2P8AFFINEQB that moves bit from of every byte to bit to and clears the others.
func (g *gen) bitTo(from, to int) operand.Mem {
	var m [8]byte
	m[7-to] = 1 << from
	return g.table("bit_"+string('0'+rune(from))+"_to_"+string('0'+rune(to)), bytes64(func(i int) byte { return m[i&7] }))
}

// byteOfDword is the control of a shuffle that takes byte j of every dword to its byte 2.
func (g *gen) byteOfDword(j int) operand.Mem { return g.shuffle([4]int{-1, -1, j, -1}) }

// shortNarrow is Q1_0 and Q2_0: the lower pieces first, then the sum is moved to count as the upper ones.
func shortNarrow(f *low, n int) {
	k := func(j int) int { return 2*j*n + 2*(n-1) }
	f.short = &short{mul: 1}
	for j := range f.subs {
		f.short.add[j] = startFloat(k(j))
	}
	f.shortConsts = func(w *weights) {
		for j := range f.subs {
			w.hold(startBits(k(j)) >> n)
		}
		for b := 0; b < 8; b += n {
			w.hold(uint32(1<<n-1) << b * 0x01010101)
		}
	}
	f.terms = func(w *weights, at func(off int) operand.Mem, j, h int, ahead func(item int)) []term {
		acc, v, s := w.vec(), w.vec(), w.vec()
		w.start(k(j), n, acc)
		for i := range 8 {
			ahead(i)
			t := (i + 4) & 7
			if i == 4 {
				w.VPSLLD(operand.U8(n), acc, acc)
			}
			w.bitsOf(t&3*64, h, 0, uint32(1<<n-1)<<((2*j+1-t>>2)*n), v)
			w.dpbusd(at(4*t), v, acc)
		}
		w.VSUBPS_BCST(at(shortAll), acc, acc)
		f.scale(w, j, 0, h, s)
		return []term{{acc, s}}
	}
}

// shortTQ1 has (3v − v′)/256 of pair in one operation on sums that count 1/256.
func shortTQ1(f *low) {
	f.short = &short{mul: 1}
	for j := range f.short.add {
		f.short.add[j] = 2 * startFloat(8)
	}
	three := math.Float32bits(3)
	f.shortConsts = func(w *weights) { w.hold(three, startBits(8)) }
	f.terms = func(w *weights, at func(off int) operand.Mem, j, h int, ahead func(item int)) []term {
		a, b, s := w.vec(), w.vec(), w.vec()
		w.start(8, 0, a)
		w.start(8, 0, b)
		for t := range 8 {
			ahead(t)
			v, next := f.pair(w, j, t, h)
			w.dpbusd(at(4*t), v, a)
			w.dpbusd(at(4*t), next, b)
		}
		w.VFMSUB231PS(w.constant(three), a, b)
		w.VSUBPS_BCST(at(shortAll), b, b)
		f.scale(w, j, 0, h, s)
		return []term{{b, s}}
	}
}

// shortQ3 puts the third bit above the other two by one operation, and makes scales as 128 + s + 32 in the upper bytes of floats.
func shortQ3(f *low) {
	k := func(j int) int { return min(j&3*2, 4) }
	f.short = &short{mul: 4}
	for j := range 8 {
		f.short.add[j] = startFloat(k(j))
	}
	const least, most = 0x43000000, 0x43200000 // 128, 160
	var bits [8]operand.Op
	var bytes [4]operand.Op
	var third reg.OpmaskVirtual
	f.shortConsts = func(w *weights) {
		w.hold(0x03030303, 0x0c0c0c0c, 0x30303030, 0x0f0f0f0f, startBits(0), startBits(2), startBits(4), least)
		keep := func(m operand.Mem) operand.Op {
			v := w.vec()
			w.load(m, v)
			return v
		}
		for j := range bits {
			bits[j] = keep(w.bitTo(j, min(j&3*2+2, 6)))
		}
		for i := range bytes {
			bytes[i] = keep(w.byteOfDword(i))
		}
		r := w.GP64()
		w.MOVQ(operand.U64(0x4444444444444444), r)
		third = w.K()
		w.KMOVQ(r, third)
	}
	f.terms = func(w *weights, at func(off int) operand.Mem, j, h int, ahead func(item int)) (terms []term) {
		if j == 0 {
			w.m[h] = w.vec()
			w.VMULPS_BCST(w.dwords(most), w.d[h], w.m[h])
		}
		if j&1 == 0 {
			a := j >> 1
			s, t := w.vec(), w.vec()
			w.nibble(a&1*64, h, a > 1, s)
			w.shift(4-2*a, w.q(128, h), t)
			w.andOr(t, 0x30303030, s)
			w.sc[h][0] = s
		}
		s := j & 3
		for group := range 2 {
			acc := w.vec()
			w.start(k(j), 0, acc)
			for t := 4 * group; t < 4*group+4; t++ {
				ahead(t)
				x := w.vec()
				w.load(w.q(tile.Q3_Kx16High+64*t, h), x)
				w.VGF2P8AFFINEQB(operand.U8(0), bits[j], x, x)
				crumbs := w.q(tile.Q3_Kx16Quants+(8*(j>>2)+t)*64, h)
				if s < 3 {
					w.VPTERNLOGD(operand.U8(0xf8), crumbs, w.constant(0x03030303<<(2*s)).(vec), x)
				} else {
					y := w.vec()
					w.shift(-2, crumbs, y)
					w.VPTERNLOGD(operand.U8(0xf8), y, w.constant(0x30303030).(vec), x)
				}
				w.dpbusd(at(4*t), x, acc)
			}
			w.VSUBPS_BCST(at(shortHalf+4*group), acc, acc)
			scale := w.vec()
			w.move(w.constant(least).(vec), scale)
			w.VPSHUFB(bytes[2*(j&1)+group], w.sc[h][0], third, scale)
			w.VFMSUB213PS(w.m[h], w.d[h], scale)
			terms = append(terms, term{acc, scale})
		}
		return terms
	}
}

// floatTable is a table of 16 floats in a register.
func (w *state) floatTable(name string, f func(i int) float32) vec {
	return w.keep(w.table(name, floats16(f)), true).(vec)
}

// shortIQ1 is IQ1_S and IQ1_M: sums of level numbers, four of eight vectors moved up by four bits so that two masks are enough, and what
// shifts add apart from them: 8·level ± 1 is 8·number + 2·up − 9.
func shortIQ1(f *booked, head int) {
	groups := f.groups
	f.short = &short{mul: 1}
	if groups == 2 {
		f.short = &short{mul: 9, words: true}
		for j := range 8 {
			f.short.add[j] = startFloat(3)
		}
	}
	var ups vec
	var controls [8]vec
	f.shortConsts = func(w *state) {
		w.hold(0x30303030, 0xc0c0c0c0, startBits(3)>>2)
		if groups == 1 {
			ups = w.floatTable("iq1_up", func(i int) float32 { return float32(i>>3*2 - 9) })
			w.hold(startBits(3))
			return
		}
		w.hold(0x00040004, 0x00100010)
		for j := range controls {
			controls[j] = w.keep(w.table("ups_at_"+string('0'+rune(j)), multishift(func(i int) int { return 4*j - 2 + i>>1 })), true).(vec)
		}
	}
	f.terms = func(w *state, at func(off int) operand.Mem, j, h int, ahead func(item int)) (terms []term) {
		line := func(l int, low bool) [2]vec { // vectors 4l+0 and 4l+1 at bit 4, or 4l+2 and 4l+3 at bit 6
			m := w.q(head+128*j+64*l, h)
			v := [2]vec{w.vec(), w.vec()}
			mask := w.constant(0x30303030)
			if !low {
				mask = w.constant(0xc0c0c0c0)
			}
			w.and(m, mask.(vec), v[0])
			w.and(w.level[h][l], mask.(vec), v[1])
			return v
		}
		for l := range 2 {
			w.level[h][l] = w.vec()
			w.shift(4, w.q(head+128*j+64*l, h), w.level[h][l])
		}
		var up vec
		if groups == 2 {
			up = w.vec()
			w.VPMULTISHIFTQB(w.q(tile.IQ1_MUp, h), controls[j], up)
		}
		for g := range groups {
			acc := w.vec()
			w.start(3, 2, acc)
			lines := []int{g}
			if groups == 1 {
				lines = []int{0, 1}
			}
			shifts := func(mask uint32, off int) {
				t := w.vec()
				w.and(up, w.constant(mask).(vec), t)
				w.VPDPWSSD_BCST(at(off), t, acc)
			}
			for _, low := range []bool{true, false} {
				for _, l := range lines {
					first := 4 * l
					if !low {
						first += 2
					}
					v := line(l, low)
					for i := range 2 {
						ahead(first + i)
						w.dpbusd(at(4*(first+i)), v[i], acc)
					}
				}
				switch {
				case low:
					if groups == 2 && g == 0 {
						shifts(0x00040004, shortAll)
					}
					w.VPSLLD(operand.U8(2), acc, acc)
				case groups == 2 && g == 1:
					shifts(0x00100010, shortLast)
				}
			}
			i := j
			if groups == 2 {
				i = 2*j + g
			}
			scale := w.vec()
			w.shift(-4*(i&7), w.q(i>>3*64, h), scale)
			if groups == 1 {
				u := w.vec()
				w.VPERMPS(ups, scale, u)
				w.VSUBPS(w.constant(startBits(3)), acc, acc)
				w.VFMADD231PS_BCST(at(shortAll), u, acc)
			} else {
				w.VSUBPS_BCST(at(shortHalf+4*g), acc, acc)
			}
			w.VPERMPS(w.floats, scale, scale)
			w.VMULPS(w.d[h], scale, scale)
			terms = append(terms, term{acc, scale})
		}
		return terms
	}
}

// shortPoints is IQ2_XXS and IQ3_XXS by index: activations are put into the order of the lookup once.
func shortPoints(f *booked) {
	f.short = &short{mul: 128, order: f.points.order}
	for j := range 8 {
		f.short.add[j] = startFloat(0)
	}
	f.shortConsts = func(w *state) { w.hold(startBits(0)) }
	f.terms = func(w *state, at func(off int) operand.Mem, j, h int, ahead func(item int)) []term {
		acc, s := w.vec(), w.vec()
		w.start(0, 0, acc)
		for t := range 8 {
			ahead(t)
			v := w.vec()
			f.points.plane(w, t, h, v)
			w.dpbusd(at(4*t), v, acc)
		}
		w.VSUBPS_BCST(at(shortAll), acc, acc)
		f.scale(w, j, 0, h, s)
		return []term{{acc, s}}
	}
}
