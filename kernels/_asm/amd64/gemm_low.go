package main

import (
	"fmt"
	"math/bits"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"

	"jns/kernels/tile"
)

var _ = func() int {
	for _, s := range isas {
		for _, f := range lows {
			emit(source{"gemm_" + f.layout + "_" + s.name, "GemmArgs", s.width == 32, func(c *build.Context) {
				g := newGen(c, s)
				cols := []int{1, 2}
				if f.pair != nil {
					cols = cols[:1] // eight vectors of trits leave no room for more
				}
				if s == avx512vnni {
					cols = []int{1, 2, 3, 4, 5, 6, 8}
				}
				for _, n := range cols {
					g.gemvLow(f, n)
				}
				g.expandLow(f)
				g.prepare(f.layout, f.short, f.subs)
			}})
		}
	}
	emit(source{"gemm_halves_avx2", "GemmArgs", true, func(c *build.Context) { newGen(c, avx2).halves16() }})
	emit(source{"gemm_words_avx2", "GemmArgs", true, func(c *build.Context) { newGen(c, avx2).words16() }})
	return 0
}()

// halves16 copies activation blocks, putting −d·Σq of each half in place of c0 and c, as halfSum says. −128·Σq gives −Σq by a shift; a
// product with d is rounded alike for either sign.
func (g *gen) halves16() {
	a := g.begin("Expand_halves_q8x_1x32_avx2", "copies blocks of quantised activations with the sums of their halves.")
	x, y, blocks := g.field(a, argX), g.field(a, argY), g.field(a, argBlocks)
	zero := g.XMM()
	g.VPXOR(zero, zero, zero)
	g.Label("block")
	q, tail, t, u := g.YMM(), g.XMM(), g.XMM(), g.XMM()
	g.VMOVDQU(mem(x, 0), q)
	g.VMOVDQU(mem(x, tile.Q8XD), tail)
	g.Comment("c0 and c, less 0 and c0")
	g.VPSHUFD(operand.U8(0xb0), tail, t)
	g.VPBLENDD(operand.U8(8), tail, zero, u)
	g.VPSUBD(u, t, t)
	g.VPSRAD(operand.U8(7), t, t)
	g.VCVTDQ2PS(t, t)
	g.VBROADCASTSS(mem(x, tile.Q8XD), u)
	g.VMULPS(u, t, t)
	g.VPBLENDD(operand.U8(12), t, tail, tail)
	g.VMOVDQU(q, mem(y, 0))
	g.VMOVDQU(tail, mem(y, tile.Q8XD))
	g.ADDQ(imm(tile.Q8XBytes), x)
	g.ADDQ(imm(tile.Q8XBytes), y)
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef("block"))
	g.end()
}

// words16 copies activation blocks with quants of 16 bits in the order of storeWords: 64 bytes, then the tail.
func (g *gen) words16() {
	a := g.begin("Expand_words_q8x_1x32_avx2", "copies blocks of quantised activations with quants of 16 bits.")
	x, y, blocks := g.field(a, argX), g.field(a, argY), g.field(a, argBlocks)
	g.Label("block")
	odd, even, low := g.YMM(), g.YMM(), g.YMM()
	g.VMOVDQU(mem(x, 0), odd)
	g.VPSLLW(operand.U8(8), odd, even)
	g.VPSRAW(operand.U8(8), even, even)
	g.VPSRAW(operand.U8(8), odd, odd)
	g.VPUNPCKLDQ(odd, even, low)
	g.VPUNPCKHDQ(odd, even, odd)
	g.VMOVDQU(low.AsX(), mem(y, 0))
	g.VMOVDQU(odd.AsX(), mem(y, 16))
	g.VEXTRACTI128(operand.U8(1), low, mem(y, 32))
	g.VEXTRACTI128(operand.U8(1), odd, mem(y, 48))
	tail := g.XMM()
	g.VMOVDQU(mem(x, tile.Q8XD), tail)
	g.VMOVDQU(tail, mem(y, tile.Q8XD+wordsMore))
	g.ADDQ(imm(tile.Q8XBytes), x)
	g.ADDQ(imm(tile.Q8XBytes+wordsMore), y)
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef("block"))
	g.end()
}

// wordsMore is how much longer blocks of words16 are.
const wordsMore = 32

// gemvLow is gemv for formats of few bits.
func (g *gen) gemvLow(f low, n int) {
	a := g.begin(fmt.Sprintf("Gemv_%s_q8x_16x%d_%s", f.layout, n, g.name),
		fmt.Sprintf("multiplies %s weights with %d quantised rows of activations.", f.layout, n))
	hs := g.halves()
	y := g.field(a, argY)
	tiles := g.field(a, argTiles)
	w := &weights{gen: g}
	w.few.tight = g.width == 32 && n > 1
	switch {
	case g.isShort(f.short) && n == 1:
		f.shortConsts(w)
	case !g.inParts(f.parts, n):
		f.consts(w)
	}

	g.Label("tile")
	w.p0, w.p1, w.ahead = g.field(a, argP0), g.field(a, argP1), g.ahead(a)
	x := g.columns(g.field(a, argX), g.field(a, argXStride), n)
	blocks := g.field(a, argBlocks)
	acc := make([][]vec, hs)
	for h := range acc {
		acc[h] = g.vecs(n)
		for _, v := range acc[h] {
			g.zero(v)
		}
	}

	together := [][]int{{0}, {1}}[:hs]
	if hs == 2 && (f.together || g.inParts(f.parts, n)) && n == 1 {
		together = [][]int{{0, 1}}
	}
	w.ahead.blocks(n, blocks, func() {
		for i, half := range together {
			g.lowBlock(f, w, x, n, half, pace{i, len(together)}, acc)
		}
		g.advance(x, f.subs*g.block(f.short))
		if f.s0 != 0 {
			g.ADDQ(imm(f.s0), w.p0)
		}
		g.ADDQ(imm(f.s1), w.p1)
	})

	out := g.columns(y, g.field(a, argYStride), n)
	for h := range hs {
		for c := range n {
			g.VMOVUPS(acc[h][c], out.at(c, h*g.width))
		}
	}
	g.ADDQ(imm(64), y)
	g.nextTile(a)
	g.DECQ(tiles)
	g.JNZ(operand.LabelRef("tile"))
	g.end()
}

// lowBlock adds the products of one source block to acc[half][column].
func (g *gen) lowBlock(f low, w *weights, x columns, n int, halves []int, p pace, acc [][]vec) {
	for _, h := range halves {
		f.head(w, h)
	}
	lines := (f.s0 + f.s1 + 63) / 64
	line := p.line(lines, f.subs*8, 0)
	steps := 8 / f.groups
	ahead := func(item int) {
		for ; line < p.line(lines, f.subs*8, item+1); line++ {
			w.ahead.line(line * 64)
		}
	}
	for j := range f.subs {
		xd := j * g.block(f.short)
		if g.isShort(f.short) && n == 1 {
			at := func(off int) operand.Mem { return x.at(0, xd+off) }
			g.Commentf("sub-block %d", j)
			for _, h := range halves {
				g.addTerms(f.terms(w, at, j, h, func(item int) { ahead(j*8 + item) }), at(tile.Q8XD), acc[h][0])
			}
			continue
		}
		for _, h := range halves {
			if f.begin != nil {
				f.begin(w, j, h)
			}
		}
		if g.inParts(f.parts, n) {
			g.Commentf("sub-block %d", j)
			g.addParts(f.format, w, func(off int) operand.Mem { return x.at(0, xd+off) }, j, halves, func(item int) { ahead(j*8 + item) }, acc)
			continue
		}
		for k := range f.groups {
			g.Commentf("sub-block %d, scale %d", j, k)
			var sums []vec
			if f.pair != nil && g.vnni && n <= 2 {
				sums = g.sumPairs(f, w, x, j, halves[0], n, ahead)
			} else {
				sums = g.sumGroup(f, w, x, j, k, halves, n, ahead, steps)
			}
			for i, h := range halves {
				s := g.vec()
				f.scale(w, j, k, h, s)
				for c := range n {
					t := g.vec()
					g.scaleBy(x.at(c, xd+tile.Q8XD), s, t)
					g.VCVTDQ2PS(sums[i*n+c], sums[i*n+c])
					g.VFMADD231PS(t, sums[i*n+c], acc[h][c])
				}
			}
		}
		for k := 0; f.off16 && k < 2; k++ {
			for _, h := range halves {
				s := g.vec()
				min16(w, j, k, h, s)
				for c := range n {
					g.offset(added, x.at(c, xd+halfSum+4*k), s, acc[h][c])
				}
			}
		}
	}
}

// halfSum is where activations for formats with offset16 have −d·Σq of the halves of a block, in place of the starts of sums.
const halfSum = tile.Q8XC

// biasTimes emits the start of a sum of codes that lie bias above their value and are multiplied by 2^weight.
func (g *gen) biasTimes(f low, weight int, at func(off int) operand.Mem, k int) func(acc vec) {
	if f.bias == 0 {
		return nil
	}
	n := bits.Len(uint(f.bias)) - 1 + weight - 7
	start := g.biasStart(128, at, f.groups, k)
	return func(acc vec) {
		start(acc)
		switch {
		case n > 0:
			g.VPSLLD(operand.U8(n), acc, acc)
		case n < 0:
			g.VPSRAD(operand.U8(-n), acc, acc)
		}
	}
}

// sumGroup emits the integer sums of group k of sub-block j, by half and column.
func (g *gen) sumGroup(f low, w *weights, x columns, j, k int, halves []int, n int, ahead func(int), steps int) []vec {
	nh := len(halves)
	weigh := func(item int) int {
		if f.heavy == nil {
			return 0
		}
		return f.weight(g, j, item)
	}
	emit := f.code
	if f.heavy != nil {
		emit = f.heavy
	}
	// A sum waits for its last product, so few columns are summed in two parts.
	parts := 1
	if g.vnni && n*nh <= 3 && steps == 8 {
		parts = 2
	}
	d := make([]*dot, parts)
	weight := make([]int, parts)
	for p := range d {
		weight[p] = weigh(k*steps + p*steps/parts)
		d[p] = g.dot(f.bits, nh*n)
		for c := range n {
			at := func(off int) operand.Mem { return x.at(c, j*g.block(f.short)+off) }
			for i := range nh {
				switch {
				case p > 0:
					d[p].start(i*n+c, nil)
				case g.vnni:
					d[p].start(i*n+c, g.biasTimes(f, weight[p], at, k))
				default:
					d[p].start(i*n+c, g.biasTimes(f, 0, at, k))
				}
			}
		}
	}
	words := g.words(nh*n, f.most)
	for t := range steps {
		item := k*steps + t
		ahead(j*8 + item)
		p := t * parts / steps
		if to := weigh(item); g.vnni {
			d[p].lighten(weight[p] - to)
			weight[p] = to
		} else {
			words.weigh(to)
		}
		codes := g.vecs(nh)
		for i, h := range halves {
			emit(w, j, item, h, codes[i])
		}
		for c := range n {
			m := x.at(c, j*g.block(f.short)+item*4)
			if g.width == 64 {
				g.dpbusd(m, codes[0], d[p].acc[c])
				continue
			}
			v := g.vec()
			g.VPBROADCASTD(m, v)
			for i := range nh {
				switch {
				case g.vnni:
					g.dpbusd(v, codes[i], d[p].acc[i*n+c])
				case f.level:
					abs := g.vec()
					g.VPABSB(codes[i], abs)
					d[p].add(i*n+c, codes[i], abs, v, t, steps)
				default:
					words.add(d[p], i*n+c, codes[i], v, t == steps-1)
				}
			}
		}
		words.step++
	}
	for p := parts - 1; p >= 0; p-- {
		to := 0
		if p > 0 {
			to = weight[p-1]
			to = min(to, weight[p])
			d[p-1].lighten(weight[p-1] - to)
			weight[p-1] = to
		}
		if g.vnni {
			d[p].lighten(weight[p] - to)
		}
		if p > 0 {
			for i := range d[p].acc {
				g.VPADDD(d[p].acc[i], d[p-1].acc[i], d[p-1].acc[i])
			}
		}
	}
	return d[0].acc
}

// lighten divides sums by 2^n.
func (d *dot) lighten(n int) {
	for _, v := range d.acc {
		if n != 0 {
			d.VPSRAD(operand.U8(n), v, v)
		}
	}
}

// words is sums of 16 bits, of pairs of products, which go to a dot before they can overflow.
type words struct {
	*gen
	sum    []vec
	most   int // code
	weight int
	bound  int // of the sums
	step   int
	last   int // step of the last add
}

func (g *gen) words(n, most int) *words {
	return &words{gen: g, sum: make([]vec, n), most: most, last: -1}
}

// weigh says that codes are now multiplied by 2^to, not more than before.
func (s *words) weigh(to int) {
	if s.bound > 0 && to != s.weight {
		for _, v := range s.sum {
			s.VPSRAW(operand.U8(s.weight-to), v, v)
		}
		s.bound >>= s.weight - to
	}
	s.weight = to
}

// add adds the products of a code vector and activations to sum i; flush: it is the last of the group.
func (s *words) add(d *dot, i int, w, x vec, flush bool) {
	pair := s.most << s.weight * 254
	if s.last != s.step {
		s.last = s.step
		s.bound += pair
		if s.bound > 32767 {
			panic("sums of 16 bits overflow")
		}
	}
	if s.sum[i] == nil {
		s.sum[i] = s.vec()
		s.VPMADDUBSW(x, w, s.sum[i])
	} else {
		t := s.vec()
		s.VPMADDUBSW(x, w, t)
		s.VPADDW(t, s.sum[i], s.sum[i])
	}
	if flush || s.bound+pair > 32767 {
		if s.weight > 0 {
			s.VPSRAW(operand.U8(s.weight), s.sum[i], s.sum[i])
		}
		d.sum16(i, s.sum[i])
		s.sum[i] = nil
		if i == len(s.sum)-1 {
			s.bound = 0
		}
	}
}

// sumPairs emits the integer sums of sub-block j by f.pair: two products instead of taking codes apart.
func (g *gen) sumPairs(f low, w *weights, x columns, j, h, n int, ahead func(int)) []vec {
	a, b := g.vecs(n), g.vecs(n)
	for c := range n {
		// Thrice this less once this is 256 times the −Σq that a bias of 1 takes.
		g.VPBROADCASTD(x.at(c, j*g.block(f.short)+tile.Q8XC), a[c])
		g.move(a[c], b[c])
	}
	for t := range 8 {
		ahead(j*8 + t)
		v, next := f.pair(w, j, t, h)
		for c := range n {
			m := x.at(c, j*g.block(f.short)+t*4)
			if g.width == 64 {
				g.dpbusd(m, v, a[c])
				g.dpbusd(m, next, b[c])
				continue
			}
			r := g.vec()
			g.VPBROADCASTD(m, r)
			g.dpbusd(r, v, a[c])
			g.dpbusd(r, next, b[c])
		}
	}
	for c := range n {
		t := g.vec()
		g.VPADDD(a[c], a[c], t)
		g.VPSUBD(b[c], a[c], a[c])
		g.VPADDD(t, a[c], a[c])
		g.VPSRAD(operand.U8(8), a[c], a[c])
	}
	return a
}

// expandLow is expand for formats of few bits: scales as they are used, offsets after them, codes with the bias that panels want.
func (g *gen) expandLow(f low) {
	a := g.begin(fmt.Sprintf("Expand_%s_codes_16x32_%s", f.layout, g.name),
		fmt.Sprintf("expands blocks of one tile row of %s weights.", f.layout))
	w := &weights{gen: g, p0: g.field(a, argP0), p1: g.field(a, argP1)}
	codes, scales := g.field(a, argCodes), g.field(a, argScales)
	blocks := g.field(a, argBlocks)
	add := f.lift
	if g.vnni && f.bias != 0 {
		add = 128 - f.bias
	}
	block := 512
	words16 := f.level && !g.vnni
	if words16 {
		block = 1024
	}
	words := f.groups * 64
	if f.off16 {
		words = 256
	}
	f.consts(w)
	if add != 0 {
		g.hold(uint32(add) * 0x01010101)
	}

	g.Label("block")
	line := 0
	for h := range g.halves() {
		f.head(w, h)
		for j := range f.subs {
			if f.begin != nil {
				f.begin(w, j, h)
			}
			for k := range f.groups {
				s := g.vec()
				f.scale(w, j, k, h, s)
				g.VMOVUPS(s, mem(scales, j*words+k*64+h*g.width))
				if f.off16 {
					m := g.vec()
					min16(w, j, k, h, m)
					g.VMOVUPS(m, mem(scales, j*words+128+k*64+h*g.width))
				}
			}
			for t := range 8 {
				for want := (j*8 + t + 1) * (f.s1 / 64) / (f.subs * 8); h == 0 && line < want; line++ {
					g.PREFETCHT0(mem(w.p1, expandNear+line*64))
				}
				v := g.vec()
				f.code(w, j, t, h, v)
				if words16 {
					g.storeWords(v, codes, j*block+t*128+h*g.width)
					continue
				}
				if add != 0 {
					g.VPADDB(g.constant(uint32(add)*0x01010101), v, v)
				}
				g.load(v, mem(codes, j*512+t*64+h*g.width))
			}
		}
	}
	if f.s0 != 0 {
		g.ADDQ(imm(f.s0), w.p0)
	}
	g.ADDQ(imm(f.s1), w.p1)
	g.ADDQ(imm(f.subs*block), codes)
	g.ADDQ(imm(f.subs*words), scales)
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef("block"))
	g.end()
}
