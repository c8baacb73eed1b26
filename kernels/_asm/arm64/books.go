package main

import "jns/kernels/tile"

// Layouts that keep indices into a book of 256 points: a point is loaded for each row, from a table that stays in the first-level cache, and its signs are applied four bytes
// at a time. Made for AVX-512 and slow here; a container that another machine's target was meant for still runs.

// book makes the table of points of n elements, the patterns that spread byte i of a word over it, and the masks of the sign bits.
func (g *gen) book(b *tile.Book, n int, place func(h, i int) int) {
	var raw []byte
	for _, p := range b.Points {
		for e := range n {
			raw = append(raw, byte(b.Levels[int(p)>>(e*b.Bits)&(1<<b.Bits-1)]))
		}
	}
	g.points = g.address(raw)
	for i := range 4 {
		var t [16]byte
		for j := range t {
			t[j] = byte(j&^3 + i)
		}
		g.k["spread"+string(rune('0'+i))] = g.table(t)
	}
	for h := range 2 {
		var t [16]byte
		for j := range t {
			t[j] = 1 << place(h, j&3)
		}
		g.k["signs"+string(rune('0'+h))] = g.table(t)
	}
}

// rowsOf loads the points of four rows, whose indices are every fourth byte from off on.
func (g *gen) rowsOf(off, log int) []V {
	v := g.vs(4)
	i := g.r()
	for row := range v {
		g.ins("MOVBU %d(R%d), R%d", off+4*row, g.p1, i)
		if log == 3 {
			g.ins("FMOVD (R%d)(R%d<<3), F%d", g.points, i, v[row])
		} else {
			g.ins("FMOVS (R%d)(R%d<<2), F%d", g.points, i, v[row])
		}
	}
	g.putR(i)
	return v
}

// negate applies signs: byte c of the sign words holds those of half h.
func (g *gen) negate(v V, off, c, h int) {
	s := g.v()
	g.ldq(s, g.p1, off)
	g.tbl(s, s, g.con("spread"+string(rune('0'+c))))
	g.op("cmtst.16b", s, s, g.con("signs"+string(rune('0'+h))))
	g.op("eor.16b", v, v, s)
	g.op("sub.16b", v, v, s)
	g.put(s)
}

func pointsOfEight(g *gen, sub, l, r int) []V {
	off := tile.IQ2IHead + tile.IQ2ISub*sub
	v := g.rowsOf(off+16*r+l, 3)
	g.op("zip1.2d", v[0], v[0], v[1])
	g.op("zip1.2d", v[2], v[2], v[3])
	g.op("uzp1.4s", v[1], v[0], v[2])
	g.op("uzp2.4s", v[3], v[0], v[2])
	g.put(v[0], v[2])
	g.negate(v[1], off+64+16*r, l, 0)
	g.negate(v[3], off+64+16*r, l, 1)
	return []V{v[1], v[3]}
}

func pointsOfFour(g *gen, sub, t, r int) []V {
	off := tile.IQ3IHead + tile.IQ3ISub*sub
	v := g.rowsOf(off+64*(t>>2)+16*r+t&3, 2)
	g.op("zip1.4s", v[0], v[0], v[1])
	g.op("zip1.4s", v[2], v[2], v[3])
	g.op("zip1.2d", v[0], v[0], v[2])
	g.put(v[1:]...)
	g.negate(v[0], off+128+16*r, t&3, t>>2)
	return v[:1]
}
