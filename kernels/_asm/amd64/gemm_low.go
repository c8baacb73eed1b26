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
				cols := []int{1}
				if s == avx512vnni {
					cols = []int{1, 2, 3, 4, 5, 6, 8}
				}
				for _, n := range cols {
					g.gemvLow(f, n)
				}
				g.expandLow(f)
			}})
		}
	}
	return 0
}()

// gemvLow is gemv for formats of few bits.
func (g *gen) gemvLow(f low, n int) {
	a := g.begin(fmt.Sprintf("Gemv_%s_q8x_16x%d_%s", f.layout, n, g.name),
		fmt.Sprintf("multiplies %s weights with %d quantised rows of activations.", f.layout, n))
	hs := g.halves()
	y := g.field(a, argY)
	tiles := g.field(a, argTiles)
	p0, p1 := g.field(a, argP0), g.field(a, argP1)
	w := &weights{gen: g, p0: g.GP64(), p1: g.GP64()}
	f.consts(w)

	g.Label("tile")
	g.MOVQ(p0, w.p0)
	g.MOVQ(p1, w.p1)
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
	if hs == 2 && f.together && n == 1 {
		together = [][]int{{0, 1}}
	}
	g.Label("block")
	for i, half := range together {
		g.lowBlock(f, w, x, n, half, i == 0, acc)
	}
	g.advance(x, f.subs*tile.Q8XBytes)
	if f.s0 != 0 {
		g.ADDQ(imm(f.s0), w.p0)
	}
	g.ADDQ(imm(f.s1), w.p1)
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef("block"))

	out := g.columns(y, g.field(a, argYStride), n)
	for h := range hs {
		for c := range n {
			g.VMOVUPS(acc[h][c], out.at(c, h*g.width))
		}
	}
	g.ADDQ(imm(64), y)
	g.ADDQ(mem(a, argStride), p0)
	g.ADDQ(mem(a, argStride), p1)
	g.DECQ(tiles)
	g.JNZ(operand.LabelRef("tile"))
	g.end()
}

// lowBlock adds the products of one source block to acc[half][column].
func (g *gen) lowBlock(f low, w *weights, x columns, n int, halves []int, first bool, acc [][]vec) {
	for _, h := range halves {
		f.head(w, h)
	}
	line := 0
	steps := 8 / f.groups
	ahead := func(item int) {
		for want := (item + 1) * (f.s1 / 64) / (f.subs * 8); first && line < want; line++ {
			g.ahead(func(d int) operand.Mem { return mem(w.p1, d) }, line*64, 1)
		}
	}
	for j := range f.subs {
		xd := j * tile.Q8XBytes
		for _, h := range halves {
			if f.begin != nil {
				f.begin(w, j, h)
			}
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
		if !f.off16 {
			continue
		}
		for k := range 2 {
			for _, h := range halves {
				s := g.vec()
				min16(w, j, k, h, s)
				for c := range n {
					g.VFMADD231PS(g.minusHalfSum(x, c, xd, k), s, acc[h][c])
				}
			}
		}
	}
}

// minusHalfSum is −d·Σq of half k of an activation block, whose −128·Σq are c0 and c − c0; negating changes no rounding.
func (g *gen) minusHalfSum(x columns, c, xd, k int) vec {
	v := g.vec()
	if k == 0 {
		g.VPBROADCASTD(x.at(c, xd+tile.Q8XC0), v)
	} else {
		t := g.vec()
		g.VPBROADCASTD(x.at(c, xd+tile.Q8XC0), t)
		g.VPBROADCASTD(x.at(c, xd+tile.Q8XC), v)
		g.VPSUBD(t, v, v)
	}
	g.VPSRAD(operand.U8(7), v, v)
	g.VCVTDQ2PS(v, v)
	if g.width == 64 {
		g.VMULPS_BCST(x.at(c, xd+tile.Q8XD), v, v)
		return v
	}
	t := g.vec()
	g.VBROADCASTSS(x.at(c, xd+tile.Q8XD), t)
	g.VMULPS(t, v, v)
	return v
}

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
	heavy := g.vnni && f.heavy != nil
	weight := 0
	if heavy {
		weight = f.weight(j, k*steps)
	}
	d := g.dot(f.bits, nh*n)
	for c := range n {
		at := func(off int) operand.Mem { return x.at(c, j*tile.Q8XBytes+off) }
		for i := range nh {
			d.start(i*n+c, g.biasTimes(f, weight, at, k))
		}
	}
	lighten := func(to int) {
		if weight != to {
			for _, v := range d.acc {
				g.VPSRAD(operand.U8(weight-to), v, v)
			}
			weight = to
		}
	}
	for t := range steps {
		item := k*steps + t
		ahead(j*8 + item)
		codes, abs := g.vecs(nh), make([]vec, nh)
		for i, h := range halves {
			switch {
			case heavy:
				if i == 0 {
					lighten(f.weight(j, item))
				}
				f.heavy(w, j, item, h, codes[i])
			default:
				f.code(w, j, item, h, codes[i])
				if f.level && !g.vnni {
					abs[i] = g.vec()
					g.VPABSB(codes[i], abs[i])
				}
			}
		}
		for c := range n {
			m := x.at(c, j*tile.Q8XBytes+item*4)
			if g.width == 64 {
				d.add(c, codes[0], nil, m, t, steps)
				continue
			}
			v := g.vec()
			g.VPBROADCASTD(m, v)
			for i := range nh {
				d.add(i*n+c, codes[i], abs[i], v, t, steps)
			}
		}
	}
	if heavy {
		lighten(0)
	}
	return d.acc
}

// sumPairs emits the integer sums of sub-block j by f.pair: two products instead of taking codes apart.
func (g *gen) sumPairs(f low, w *weights, x columns, j, h, n int, ahead func(int)) []vec {
	a, b := g.vecs(n), g.vecs(n)
	for c := range n {
		// Thrice this less once this is 256 times the −Σq that a bias of 1 takes.
		g.VPBROADCASTD(x.at(c, j*tile.Q8XBytes+tile.Q8XC), a[c])
		g.move(a[c], b[c])
	}
	for t := range 8 {
		ahead(j*8 + t)
		v, next := f.pair(w, j, t, h)
		for c := range n {
			m := x.at(c, j*tile.Q8XBytes+t*4)
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
	switch {
	case g.vnni && f.bias != 0:
		add = 128 - f.bias
	case f.level && !g.vnni:
		add = 128
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
					g.PREFETCHT0(mem(w.p1, prefetchNear+line*64))
				}
				v := g.vec()
				f.code(w, j, t, h, v)
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
	g.ADDQ(imm(f.subs*512), codes)
	g.ADDQ(imm(f.subs*words), scales)
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef("block"))
	g.end()
}
