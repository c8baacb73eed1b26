package main

// halves converts sixteen halves.
func (g *gen) halves(p R, off int) []V {
	a, b, d := g.v(), g.v(), g.vs(4)
	g.ldq(a, p, off)
	g.ldq(b, p, off+16)
	g.un("fcvtl", d[0], a)
	g.un("fcvtl2", d[1], a)
	g.un("fcvtl", d[2], b)
	g.un("fcvtl2", d[3], b)
	g.put(a, b)
	return d
}

func (g *gen) scaleBy(d []V, x uint32) {
	t := g.v()
	g.word32(t, x)
	for _, v := range d {
		g.op("fmul.4s", v, v, t)
	}
	g.put(t)
}

// putScale stores quarter r of scale group i of 32 columns sub; offsets follow the scales.
func (g *gen) putScale(v V, sub, i, r int) { g.stq(v, g.dst, sub*g.subBytes()+64*i+16*r) }

// sameScales: one half a block.
func sameScales(g *gen) {
	d := g.halves(g.p0, 0)
	for s := range g.subs() {
		for r := range 4 {
			g.putScale(d[r], s, 0, r)
		}
	}
	g.put(d...)
}

// scaleMin: two halves a block.
func scaleMin(g *gen) {
	for i := range 2 {
		d := g.halves(g.p0, 32*i)
		for r := range 4 {
			g.putScale(d[r], 0, i, r)
		}
		g.put(d...)
	}
}

// unsigned and signed extract a field of words, convert it and multiply it with d into t.
func (g *gen) unsigned(t, w, d V, at int, mask V) {
	s := w
	if at > 0 {
		g.ushr("4s", t, w, at)
		s = t
	}
	g.op("and.16b", t, s, mask)
	g.un("ucvtf", t, t)
	g.op("fmul.4s", t, t, d)
}

func (g *gen) signed(t, w, d V, at int) {
	s := w
	if at < 24 {
		g.shl("4s", t, w, 24-at)
		s = t
	}
	g.sshr("4s", t, s, 24)
	g.un("scvtf", t, t)
	g.op("fmul.4s", t, t, d)
}

// scalesK: the 6-bit scales and minima of Q4_K and Q5_K, four to a word: see tile's codec.
func scalesK(g *gen) {
	d, m := g.halves(g.p1, 0), g.halves(g.p1, 32)
	mask := g.v()
	g.word32(mask, 0xff)
	for r := range 4 {
		g.un("fneg", m[r], m[r])
	}
	for r := range 4 {
		w, a := g.vs(3), g.vs(4)
		six, four := g.v(), g.v()
		g.movi(six, 0x3f)
		g.movi(four, 0x0f)
		for i := range w {
			g.ldq(w[i], g.p1, 64+64*i+16*r)
		}
		g.op("and.16b", a[0], w[0], six)
		g.op("and.16b", a[1], w[1], six)
		g.op("and.16b", a[2], w[2], four)
		g.ushr("16b", a[3], w[2], 4)
		g.movi(six, 0x30)
		for i := range 2 {
			g.ushr("16b", w[i], w[i], 2)
			g.op("bit.16b", a[2+i], w[i], six)
		}
		t := four
		for s := range 8 {
			g.unsigned(t, a[s>>2*2], d[r], s&3*8, mask)
			g.putScale(t, s, 0, r)
			g.unsigned(t, a[s>>2*2+1], m[r], s&3*8, mask)
			g.putScale(t, s, 1, r)
		}
		g.put(w...)
		g.put(a...)
		g.put(six, four)
	}
	g.put(d...)
	g.put(m...)
	g.put(mask)
}

func scalesQ6K(g *gen) {
	d := g.halves(g.p0, 0)
	w, t := g.v(), g.v()
	for r := range 4 {
		for i := range 4 {
			g.ldq(w, g.p1, 64*i+16*r)
			for b := range 4 {
				g.signed(t, w, d[r], 8*b)
				g.putScale(t, 2*i+b>>1, b&1, r)
			}
		}
	}
	g.put(d...)
	g.put(w, t)
}

func scalesQ3K(g *gen) {
	d := g.halves(g.p0, 0)
	w, c := g.vs(3), g.vs(3)
	g.movi(c[0], 0x0f)
	g.movi(c[1], 0x30)
	g.movi(c[2], 32)
	a, t := g.v(), g.v()
	for r := range 4 {
		for i := range w {
			g.ldq(w[i], g.p1, 64*i+16*r)
		}
		for q := range 4 {
			s := g.shift("16b", a, w[q&1], q>>1*4, 0)
			g.op("and.16b", a, s, c[0])
			s = g.shift("16b", t, w[2], 2*q, 4)
			g.op("bit.16b", a, s, c[1])
			g.op("sub.16b", a, a, c[2])
			for b := range 4 {
				g.signed(t, a, d[r], 8*b)
				g.putScale(t, 2*q+b>>1, b&1, r)
			}
		}
	}
	g.put(d...)
	g.put(w...)
	g.put(c...)
	g.put(a, t)
}

func scalesQ2K(g *gen) {
	d, m := g.halves(g.p1, 0), g.halves(g.p1, 32)
	mask, w, t := g.v(), g.v(), g.v()
	g.word32(mask, 15)
	for r := range 4 {
		g.un("fneg", m[r], m[r])
		for i := range 4 {
			g.ldq(w, g.p1, 64+64*i+16*r)
			for b := range 4 {
				g.unsigned(t, w, d[r], 8*b, mask)
				g.putScale(t, 2*i+b>>1, b&1, r)
				g.unsigned(t, w, m[r], 8*b+4, mask)
				g.putScale(t, 2*i+b>>1, 2+b&1, r)
			}
		}
	}
	g.put(d...)
	g.put(m...)
	g.put(mask, w, t)
}

func scalesIQ4XS(g *gen) {
	d := g.halves(g.p1, 0)
	w, h, a, t := g.v(), g.v(), g.v(), g.v()
	c := g.vs(3)
	g.word32(c[0], 15)
	g.word32(c[1], 0x30)
	g.word32(c[2], 32)
	for r := range 4 {
		g.ldd(h, g.p1, 32+8*r)
		g.un("uxtl.4s", h, h)
		g.ldq(w, g.p1, 64+16*r)
		for s := range 8 {
			v := g.shift("4s", a, w, 4*s, 0)
			g.op("and.16b", a, v, c[0])
			v = g.shift("4s", t, h, 2*s, 4)
			g.op("bit.16b", a, v, c[1])
			g.op("sub.4s", a, a, c[2])
			g.un("scvtf", a, a)
			g.op("fmul.4s", a, a, d[r])
			g.putScale(a, s, 0, r)
		}
	}
	g.put(d...)
	g.put(c...)
	g.put(w, h, a, t)
}

// sixteenBytes widens sixteen bytes, a row each, to words.
func (g *gen) sixteenBytes(p R, off int) []V {
	w := g.vs(4)
	h := g.v()
	g.ldq(h, p, off)
	g.un("uxtl.8h", w[0], h)
	g.un("uxtl2.8h", w[2], h)
	g.un("uxtl2.4s", w[1], w[0])
	g.un("uxtl.4s", w[0], w[0])
	g.un("uxtl2.4s", w[3], w[2])
	g.un("uxtl.4s", w[2], w[2])
	g.put(h)
	return w
}

func scalesMXFP4(g *gen) {
	w := g.sixteenBytes(g.p0, 0)
	one, a, b := g.v(), g.v(), g.v()
	g.word32(one, 1)
	for r := range 4 {
		g.op("sub.4s", a, w[r], one)
		g.shl("4s", a, a, 23)
		g.op("add.4s", b, w[r], one)
		g.shl("4s", b, b, 21)
		g.op("cmgt.4s", w[r], w[r], one)
		g.op("bsl.16b", w[r], a, b)
		g.putScale(w[r], 0, 0, r)
	}
	g.put(w...)
	g.put(one, a, b)
}

func scalesNVFP4(g *gen) {
	c := g.vs(5)
	g.word32(c[0], 0x7f)
	g.word32(c[1], 119<<23)
	g.word32(c[2], 7)
	g.word32(c[3], 0x3a800000) // 2⁻¹⁰
	g.word32(c[4], 0x78)
	n, s, m := g.v(), g.v(), g.v()
	for i := range 4 {
		w := g.sixteenBytes(g.p0, 16*i)
		for r := range 4 {
			g.op("and.16b", n, w[r], c[0])
			g.shl("4s", n, n, 20)
			g.op("add.4s", n, n, c[1])
			g.op("and.16b", s, w[r], c[2])
			g.un("ucvtf", s, s)
			g.op("fmul.4s", s, s, c[3])
			g.op("cmtst.4s", m, w[r], c[4])
			g.op("bsl.16b", m, n, s) // subnormal where no bit of the exponent is set
			g.op("cmeq.4s", n, w[r], c[0])
			g.op("bic.16b", m, m, n) // 127 is 0
			g.putScale(m, i>>1, i&1, r)
		}
		g.put(w...)
	}
	g.put(c...)
	g.put(n, s, m)
}

// oddScales: d·(2s+1)·factor, s being a nibble (or its lowest three bits) of the words at off, one for each group of sixteen columns or each 32.
func oddScales(off, bits int, factor uint32) func(g *gen) {
	return func(g *gen) {
		d := g.halves(g.p0, 0)
		if factor != 0x3f800000 {
			g.scaleBy(d, factor)
		}
		per := 32 / g.group
		w, t, mask, one := g.v(), g.v(), g.v(), g.v()
		g.word32(mask, 2<<bits-2)
		g.word32(one, 1)
		for r := range 4 {
			for i := range 8 * per {
				if i&7 == 0 {
					g.ldq(w, g.p1, off+i>>3*64+16*r)
				}
				s := g.shift("4s", t, w, i&7*4, 1)
				g.op("and.16b", t, s, mask)
				g.op("orr.16b", t, t, one)
				g.un("ucvtf", t, t)
				g.op("fmul.4s", t, t, d[r])
				g.putScale(t, i/per, i%per, r)
			}
		}
		g.put(d...)
		g.put(w, t, mask, one)
	}
}
