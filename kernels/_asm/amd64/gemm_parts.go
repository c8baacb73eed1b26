package main

import (
	"math/bits"

	"github.com/mmcloughlin/avo/operand"

	"jns/kernels/tile"
)

// parts is a code as a sum of pieces that stay where they lie in their bytes: VPDPBUSD takes any byte, so a mask is all that a piece costs, and what its
// place makes it count too much or too little is put right by one shift of the sum of a whole group. No shift loses a bit: all terms of a sum are multiples
// of what its pieces are.
type parts struct {
	of   func(j, t int) []part // of code vector t of sub-block j
	bias int                   // what the code is above its value
}

// part is the piece under mask of the bytes at off, whose value times 2^shift counts.
type part struct {
	off, mask, shift int
}

// inParts reports whether a kernel for n activation rows takes codes in parts.
func (g *gen) inParts(p *parts, n int) bool { return p != nil && g.vnni && g.width == 32 && n == 1 }

// keepMasks is hold for sets with sixteen registers.
func (g *gen) keepMasks(masks ...uint32) {
	for _, v := range masks {
		r := g.vec()
		g.load(g.dwords(v), r)
		g.held[v] = r
	}
}

// sumParts emits the sums of group k of sub-block j by half: a sum for each piece, since one of all of them would be twice as long a chain.
func (g *gen) sumParts(f format, w *weights, at func(off int) operand.Mem, j, k int, halves []int, masks []vec, ahead func(item int)) []vec {
	steps, nh := 8/f.groups, len(halves)
	sums := g.vecs(nh * len(masks)) // piece by piece
	for p, piece := range f.parts.of(j, 0) {
		for i := range nh {
			switch {
			case f.parts.bias == 0 || p > 0:
				g.zero(sums[p*nh+i])
			case i > 0:
				g.move(sums[0], sums[i])
			default:
				g.biasStart(128, at, f.groups, k)(sums[0])
				g.moveSum(bits.Len(uint(f.parts.bias))-1-7-piece.shift, sums[0])
			}
		}
	}
	for t := k * steps; t < (k+1)*steps; t++ {
		ahead(t)
		x := g.vec()
		g.VPBROADCASTD(at(4*t), x)
		for p, piece := range f.parts.of(j, t) {
			for i, h := range halves {
				v := g.vec()
				g.VPAND(w.q(piece.off, h), masks[p], v)
				g.dpbusd(x, v, sums[p*nh+i])
			}
		}
	}
	for p, piece := range f.parts.of(j, 0) {
		for i := range nh {
			g.moveSum(piece.shift, sums[p*nh+i])
			if p > 0 {
				g.VPADDD(sums[p*nh+i], sums[i], sums[i])
			}
		}
	}
	return sums[:nh]
}

// maskOf is a mask of bytes in a register.
func (g *gen) maskOf(mask int) vec {
	v := uint32(mask) * 0x01010101
	if r, ok := g.held[v]; ok {
		return r
	}
	r := g.vec()
	g.load(g.dwords(v), r)
	return r
}

// moveSum multiplies a sum by 2^n.
func (g *gen) moveSum(n int, sum vec) {
	switch {
	case n > 0:
		g.VPSLLD(operand.U8(n), sum, sum)
	case n < 0:
		g.VPSRAD(operand.U8(-n), sum, sum)
	}
}

// addParts adds the products of a sub-block with one activation row to acc, by half.
func (g *gen) addParts(f format, w *weights, at func(off int) operand.Mem, j int, halves []int, ahead func(item int), acc [][]vec) {
	var masks []vec
	for _, p := range f.parts.of(j, 0) {
		masks = append(masks, g.maskOf(p.mask))
	}
	var d vec
	for k := range f.groups {
		sums := g.sumParts(f, w, at, j, k, halves, masks, ahead)
		if k == 0 {
			d = g.vec()
			g.VBROADCASTSS(at(tile.Q8XD), d)
		}
		for i, h := range halves {
			s := g.vec()
			f.scale(w, j, k, h, s)
			g.VMULPS(d, s, s)
			g.VCVTDQ2PS(sums[i], sums[i])
			g.VFMADD231PS(s, sums[i], acc[h][0])
		}
	}
}
