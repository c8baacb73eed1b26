package main

import "fmt"

// Offsets in arm64.GemmArgs.
const (
	gaP0 = 8 * iota
	gaP1
	gaStride
	gaTiles
	gaBlocks
	gaX
	gaXStride
	gaY
	gaYStride
	gaCodes
	gaScales
	gaPanels
	gaLoad
	gaAhead
)

// Offsets in a Q8X block.
const (
	q8xBytes = 48
	q8xMeta  = 32 // d, m, c, c0 are one register
	metaD    = 0
	metaM    = 1
)

// gemmFile writes the kernels of a layout: products of one and two activation rows with the weights as they lie, and expansion for the panels of both sets.
func gemmFile(ft *format) {
	s := newSource("gemm_"+ft.name, "GemmArgs")
	for _, n := range []int{1, 2} {
		f := s.fn(fmt.Sprintf("Gemv_%s_q8x_16x%d_dotprod", ft.name, n),
			fmt.Sprintf("multiplies Tiles tile rows with %d activation rows.", n))
		gemv(&gen{fn: f, format: ft, k: map[string]V{}}, n)
	}
	for _, set := range []string{"dotprod", "i8mm"} {
		f := s.fn(fmt.Sprintf("Expand_%s_codes_16x32_%s", ft.name, set), "expands Blocks blocks of a tile row to signed codes and float scales.")
		expand(&gen{fn: f, format: ft, k: map[string]V{}}, set == "i8mm")
	}
}

// step repeats what takes a block.
func (g *gen) step(blocks R, body func()) {
	g.loop(blocks, func() { g.measure(16*g.elems, g.s0+g.s1, body) })
}

// expand writes codes as [item][16 rows][4 k], or zipped as [8 k][pair of rows][2 rows][8 k] for SMMLA.
func expand(g *gen, zip bool) {
	g.p0, g.p1 = g.field(gaP0), g.field(gaP1)
	blocks, codes, scales := g.field(gaBlocks), g.field(gaCodes), g.field(gaScales)
	g.dst = scales
	g.consts(g)
	if g.bias > 0 {
		g.bytes("bias", byte(g.bias))
	}
	g.step(blocks, func() {
		g.scales(g)
		for sub := range g.subs() {
			for u := 0; u < g.units(); u += 2 {
				for r := range 4 {
					if it := g.items(u); len(it) == 2 && it[1] == it[0]+1 {
						for v := u; v < u+2; v++ {
							a := g.code(g, sub, v, r)
							g.pair(codes, a[0], a[1], g.items(v)[0], r, sub, zip)
						}
						continue
					}
					a, b := g.code(g, sub, u, r), g.code(g, sub, u+1, r)
					for i, item := range g.items(u) {
						if g.items(u + 1)[i] != item+1 {
							panic("items of two units are not neighbours")
						}
						g.pair(codes, a[i], b[i], item, r, sub, zip)
					}
				}
			}
		}
		g.ins("ADD $%d, R%d", g.subBytes()*g.subs(), scales)
		g.ins("ADD $%d, R%d", 512*g.subs(), codes)
		g.add(g.p0, g.s0)
		g.add(g.p1, g.s1)
	})
}

// pair stores items item and item+1 of a quarter.
func (g *gen) pair(codes R, a, b V, item, r, sub int, zip bool) {
	if g.bias > 0 {
		g.op("sub.16b", a, a, g.con("bias"))
		g.op("sub.16b", b, b, g.con("bias"))
	}
	off := 512 * sub
	if zip {
		z := g.v()
		g.op("zip1.4s", z, a, b)
		g.op("zip2.4s", b, a, b)
		g.stq(z, codes, off+128*(item/2)+32*r)
		g.stq(b, codes, off+128*(item/2)+32*r+16)
		g.put(z)
	} else {
		g.stq(a, codes, off+64*item+16*r)
		g.stq(b, codes, off+64*(item+1)+16*r)
	}
	g.put(a, b)
}

// gemv keeps the outputs of a tile row in registers. Scales of a block go through the stack. With one activation row the four quarters run side by side, four chains that an
// in-order core can overlap; with two, a quarter at a time.
func gemv(g *gen, n int) {
	g.p0, g.p1 = g.r(), g.r()
	base0, base1, stride, tiles := g.field(gaP0), g.field(gaP1), g.field(gaStride), g.field(gaTiles)
	y, ystride, xstride := g.field(gaY), g.field(gaYStride), g.field(gaXStride)
	blocks, ahead := g.r(), g.field(gaAhead)
	x := make([]R, n)
	for c := range x {
		x[c] = g.r()
	}
	g.dst = g.r()
	g.frame = g.subBytes() * g.subs()
	g.ins("MOVD $scales-%d(SP), R%d", g.frame, g.dst)
	g.consts(g)
	acc := make([][]V, n)
	for c := range acc {
		acc[c] = g.vs(4)
	}
	g.loop(tiles, func() {
		g.ins("MOVD R%d, R%d", base0, g.p0)
		g.ins("MOVD R%d, R%d", base1, g.p1)
		g.ins("MOVD %d(R0), R%d", gaX, x[0])
		for c := 1; c < n; c++ {
			g.ins("ADD R%d, R%d, R%d", xstride, x[c-1], x[c])
		}
		g.ins("MOVD %d(R0), R%d", gaBlocks, blocks)
		for c := range acc {
			for _, v := range acc[c] {
				g.movi(v, 0)
			}
		}
		g.loop(blocks, func() {
			g.prefetch(ahead, run{g.p0, g.s0}, run{g.p1, g.s1})
			g.measure(16*g.elems, g.s0+g.s1, func() {
				g.scales(g)
				for sub := range g.subs() {
					q, meta := make([][]V, n), g.vs(n)
					for c := range n {
						q[c] = g.vs(2)
						g.ldq(q[c][0], x[c], 0)
						g.ldq(q[c][1], x[c], 16)
						g.ldq(meta[c], x[c], q8xMeta)
						g.add(x[c], q8xBytes)
					}
					if n == 1 {
						g.rows(sub, []int{0, 1, 2, 3}, acc, q, meta)
					} else {
						for r := range 4 {
							g.rows(sub, []int{r}, acc, q, meta)
						}
					}
					for c := range n {
						g.put(q[c]...)
					}
					g.put(meta...)
				}
				g.add(g.p0, g.s0)
				g.add(g.p1, g.s1)
			})
			g.cost.instructions++ // what leaves prefetching out
		})
		at := g.r()
		g.ins("MOVD R%d, R%d", y, at)
		for c := range acc {
			for r, v := range acc[c] {
				g.stq(v, at, 16*r)
			}
			if c < n-1 {
				g.ins("ADD R%d, R%d", ystride, at)
			}
		}
		g.putR(at)
		g.add(y, 64)
		g.ins("ADD R%d, R%d", stride, base0)
		g.ins("ADD R%d, R%d", stride, base1)
	})
}

// run is the bytes of weights that a step takes from a pointer.
type run struct {
	from  R
	bytes int
}

// prefetch asks for the lines of 64 bytes that the step will take which is so many bytes ahead, unless ahead is 0. The weights of a product are read once: the lines are streamed.
func (f *fn) prefetch(ahead R, runs ...run) {
	none, at := f.label("near"), f.r()
	f.ins("CBZ R%d, %s", ahead, none)
	for _, x := range runs {
		if x.bytes == 0 {
			continue
		}
		f.ins("ADD R%d, R%d, R%d", ahead, x.from, at)
		for off := 0; off < x.bytes; off += 64 {
			f.ins("PRFM %d(R%d), PLDL1STRM", off, at)
		}
	}
	f.at(none)
	f.putR(at)
}

// rows adds 32 columns of some quarters.
func (g *gen) rows(sub int, quarters []int, acc, q [][]V, meta []V) {
	groups := 32 / g.group
	n := len(q)
	sums := map[[3]int]V{} // quarter, column, group
	for c := range n {
		starts := g.starts(meta[c], groups)
		for _, r := range quarters {
			for i := range groups {
				v := g.v()
				if starts != nil {
					g.mov(v, starts[i])
				} else {
					g.movi(v, 0)
				}
				sums[[3]int{r, c, i}] = v
			}
		}
		g.put(starts...)
	}
	for u := range g.units() {
		for _, r := range quarters {
			codes := g.code(g, sub, u, r)
			for i, item := range g.items(u) {
				for c := range n {
					g.sdot(sums[[3]int{r, c, item * groups / 8}], codes[i], q[c][item>>2], item&3)
				}
			}
			g.put(codes...)
		}
	}
	for _, r := range quarters {
		for i := range groups {
			scale := g.v()
			g.ldq(scale, g.dst, sub*g.subBytes()+64*i+16*r)
			for c := range n {
				s, t := sums[[3]int{r, c, i}], g.v()
				g.un("scvtf", s, s)
				g.fmulLane(t, scale, meta[c], metaD)
				g.op("fmla.4s", acc[c][r], s, t)
				g.put(s, t)
			}
			g.put(scale)
		}
		if g.off == 0 {
			continue
		}
		for i := range 32 / g.off {
			off := g.v()
			g.ldq(off, g.dst, sub*g.subBytes()+64*(groups+i)+16*r)
			for c := range n {
				if g.off == 32 {
					g.fmlaLane(acc[c][r], off, meta[c], metaM)
					continue
				}
				m := g.halfSums(meta[c])
				g.fmlaLane(acc[c][r], off, m, i)
				g.put(m)
			}
			g.put(off)
		}
	}
}

// starts gives what sums of biased codes begin with: −bias·Σq of the group, from Q8X's c = −128·Σq and c0.
func (g *gen) starts(meta V, groups int) []V {
	if g.bias == 0 {
		return nil
	}
	s := 7
	for b := g.bias; b > 1; b >>= 1 {
		s--
	}
	a := g.v()
	if groups == 1 {
		g.dupS(a, meta, 2)
		g.sshr("4s", a, a, s)
		return []V{a}
	}
	b := g.v()
	g.dupS(a, meta, 3)
	g.dupS(b, meta, 2)
	g.op("sub.4s", b, b, a)
	g.sshr("4s", a, a, s)
	g.sshr("4s", b, b, s)
	return []V{a, b}
}

// halfSums gives d·Σq of the first and the second sixteen in lanes 0 and 1.
func (f *fn) halfSums(meta V) V {
	m, t := f.v(), f.v()
	f.dupS(m, meta, 3)
	f.dupS(t, meta, 2)
	f.op("sub.4s", t, t, m)
	f.op("zip1.4s", m, m, t)
	f.un("neg", m, m)
	f.sshr("4s", m, m, 7)
	f.un("scvtf", m, m)
	f.fmulLane(m, m, meta, metaD)
	f.put(t)
	return m
}
