package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"jns/kernels/tile"
)

// panelKind is a product of expanded weights: a kind of code and scale, and a block of outputs held in registers.
type panelKind struct {
	kind   string // in the name: u8s, u4m …: width of codes, s: scale, m: scale and offset, g: two scales, n: two scales and offsets
	bits   int    // bound of the codes
	bias   int
	groups int
	off    bool
	off16  bool // two offsets, of 16 elements each
	vecs   int  // vectors of rows: of tile rows in AVX-512, of the halves of one otherwise
	cols   int
}

// panels lists the kernels of a set. Sets with VPDPBUSD take all biased codes as 128 above their value; AVX2 profits from narrow codes.
func panels(s isa) []panelKind {
	kinds := []panelKind{
		{kind: "u8s", bits: 8, bias: 128, groups: 1},
		{kind: "u8m", bits: 7, groups: 1, off: true},
		{kind: "u8g", bits: 8, bias: 128, groups: 2},
		{kind: "u7n", bits: 7, groups: 2, off16: true},
	}
	cols := map[int][]int{2: {1, 2, 3}} // fewer loads of activations than one half of six columns
	switch s {
	case avx512vnni:
		cols = map[int][]int{1: {1, 2, 4, 8}, 2: {1, 2, 4, 6}}
	case avx2:
		kinds = []panelKind{
			{kind: "s16s", bits: 16, groups: 1},
			{kind: "u4s", bits: 4, bias: 8, groups: 1},
			{kind: "u5s", bits: 5, bias: 16, groups: 1},
			{kind: "u4m", bits: 4, groups: 1, off: true},
			{kind: "u5m", bits: 5, groups: 1, off: true},
			{kind: "u6g", bits: 6, bias: 32, groups: 2},
			{kind: "u5g", bits: 5, bias: 16, groups: 2},
			{kind: "u7s", bits: 7, bias: 64, groups: 1},
			{kind: "u7g", bits: 7, bias: 64, groups: 2},
			{kind: "u4g", bits: 4, bias: 8, groups: 2},
			{kind: "u4n", bits: 4, groups: 2, off16: true},
		}
	}
	var all []panelKind
	for _, k := range kinds {
		cols := cols
		if s == avx2 && k.runs() == 2 {
			cols = map[int][]int{2: {1, 2}} // sums of the first run take the registers of a third column
		}
		for v := 1; v <= 2; v++ {
			for _, c := range cols[v] {
				k.vecs, k.cols = v, c
				all = append(all, k)
			}
		}
	}
	return all
}

// runs is in how many parts the 16-bit sums of a group are taken where there is no VPDPBUSD; 0 for codes of 16 bits.
func (p panelKind) runs() int {
	if p.bits == 16 {
		return 0
	}
	return max(1, 8/p.groups/runOf[p.bits])
}

// panel computes column panels of some rows over a range of blocks.
func (g *gen) panel(p panelKind) {
	rows := p.vecs * g.width / 4
	a := g.begin(fmt.Sprintf("Panel_%s_q8x_%dx%d_%s", p.kind, rows, p.cols, g.name),
		fmt.Sprintf("multiplies expanded weights of %d rows with panels of %d quantised rows of activations.", rows, p.cols))
	words := 64
	if p.groups == 2 || p.off {
		words = 128
	}
	if p.off16 {
		words = 256
	}
	y, x0, xs := g.field(a, argY), g.field(a, argX), g.field(a, argXStride)
	ahead := []reg.GPVirtual{g.field(a, argP1)}
	two := p.vecs == 2 && g.width == 64 // tile rows
	if two {
		ahead = append(ahead, g.GP64())
		g.MOVQ(ahead[0], ahead[1])
		g.ADDQ(mem(a, argStride), ahead[1])
	}
	xb := g.GP64()
	g.MOVQ(x0, xb)
	x := g.columns(xb, xs, p.cols)

	g.Label("panel")
	g.MOVQ(x0, x.base)
	g.place(x)
	acc := make([][]vec, p.vecs)
	for v := range acc {
		acc[v] = g.vecs(p.cols)
		for _, r := range acc[v] {
			g.zero(r)
		}
	}
	g.CMPQ(mem(a, argLoad), operand.U8(0))
	g.JEQ(operand.LabelRef("start"))
	out := g.columns(y, g.field(a, argYStride), p.cols)
	for v := range p.vecs {
		for c := range p.cols {
			g.VMOVUPS(out.at(c, v*g.width), acc[v][c])
		}
	}

	g.Label("start")
	codes, scales := []reg.GPVirtual{g.field(a, argCodes)}, []reg.GPVirtual{g.field(a, argScales)}
	if two {
		codes, scales = append(codes, g.GP64()), append(scales, g.GP64())
		g.MOVQ(codes[0], codes[1])
		g.ADDQ(mem(a, argCStride), codes[1])
		g.MOVQ(scales[0], scales[1])
		g.ADDQ(mem(a, argSStride), scales[1])
	}
	blocks := g.field(a, argBlocks)
	at := func(base []reg.GPVirtual, v, disp int) operand.Mem {
		if two {
			return mem(base[v], disp)
		}
		return mem(base[0], disp+v*g.width)
	}
	items, tail := 8, 0
	if p.bits == 16 {
		items, tail = 16, wordsMore
	}

	g.Label("block")
	g.Comment("the weights of the next chunk, into the second-level cache")
	for _, r := range ahead {
		g.PREFETCHT1(mem(r, 0))
		if g.width*p.vecs >= 64 {
			g.PREFETCHT1(mem(r, 64))
		}
		g.ADDQ(mem(a, argAhead), r)
	}
	for k := range p.groups {
		d := g.dot(p.bits, p.vecs*p.cols)
		d.whole = !g.vnni && p.runs() == 1
		bias := func(c int) func(acc vec) {
			return g.biasStart(p.bias, func(off int) operand.Mem { return x.at(c, off) }, p.groups, k)
		}
		for c := 0; c < p.cols && !d.whole; c++ {
			init := bias(c)
			d.start(c, init)
			for v := 1; v < p.vecs; v++ {
				if init == nil {
					d.start(v*p.cols+c, nil)
					continue
				}
				d.start(v*p.cols+c, func(acc vec) { g.move(d.acc[c], acc) })
			}
		}
		steps := items / p.groups
		for t := range steps {
			if p.bits == 16 {
				for c := range p.cols {
					r := g.vec()
					g.VPBROADCASTD(x.at(c, (k*steps+t)*4), r)
					for v := range p.vecs {
						d.words(v*p.cols+c, at(codes, v, (k*steps+t)*64), r)
					}
				}
				continue
			}
			w, abs := g.vecs(p.vecs), make([]vec, p.vecs)
			for v := range w {
				g.load(at(codes, v, (k*steps+t)*64), w[v])
				w[v], abs[v] = d.prepare(w[v])
			}
			for c := range p.cols {
				m := x.at(c, (k*steps+t)*4)
				if p.vecs == 1 && g.width == 64 {
					d.add(c, w[0], nil, m, t, steps)
					continue
				}
				r := g.vec()
				g.VPBROADCASTD(m, r)
				for v := range w {
					d.add(v*p.cols+c, w[v], abs[v], r, t, steps)
				}
			}
		}
		for c := 0; c < p.cols && d.whole && p.bias != 0; c++ {
			r := g.vec()
			bias(c)(r)
			for v := range p.vecs {
				g.VPADDD(r, d.acc[v*p.cols+c], d.acc[v*p.cols+c])
			}
		}
		for c := range p.cols {
			r := g.vec()
			g.VBROADCASTSS(x.at(c, tile.Q8XD+tail), r)
			for v := range p.vecs {
				t := r
				if v < p.vecs-1 {
					t = g.vec()
				}
				i := v*p.cols + c
				g.VMULPS(at(scales, v, k*64), r, t)
				g.VCVTDQ2PS(d.acc[i], d.acc[i])
				g.VFMADD231PS(t, d.acc[i], acc[v][c])
			}
		}
	}
	if p.off {
		for c := range p.cols {
			r := g.vec()
			g.VBROADCASTSS(x.at(c, tile.Q8XM+tail), r)
			for v := range p.vecs {
				g.VFMADD231PS(at(scales, v, 64), r, acc[v][c])
			}
		}
	}
	for k := range 2 {
		for c := 0; p.off16 && c < p.cols; c++ {
			r := g.vec()
			g.VBROADCASTSS(x.at(c, halfSum+4*k), r)
			for v := range p.vecs {
				g.VFMADD231PS(at(scales, v, 128+k*64), r, acc[v][c])
			}
		}
	}
	for v := range codes {
		g.ADDQ(imm(items*64), codes[v])
		g.ADDQ(imm(words), scales[v])
	}
	g.advance(x, tile.Q8XBytes+tail)
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef("block"))

	out = g.columns(y, g.field(a, argYStride), p.cols) // again, not to hold registers in the loop
	for v := range p.vecs {
		for c := range p.cols {
			g.VMOVUPS(acc[v][c], out.at(c, v*g.width))
		}
	}
	g.Commentf("the next %d columns", p.cols)
	for range p.cols {
		g.ADDQ(xs, x0)
		g.ADDQ(mem(a, argYStride), y)
	}
	g.DECQ(mem(a, argPanels))
	g.JNZ(operand.LabelRef("panel"))
	g.end()
}
