package main

import "jns/kernels/tile"

// format says how a layout's blocks become codes and scales. Everything works on quarters: a register holds four consecutive k of four of the sixteen rows.
type format struct {
	name       string
	elems      int
	s0, s1     int // bytes of a block of 16 rows in the two streams
	group, off int // elements under one scale and under one offset (0: none)
	bias       int // what the codes of code are too large by
	nibbles    bool
	consts     func(g *gen)
	scales     func(g *gen)                    // writes the scales of a block, see gen.putScale
	code       func(g *gen, sub, u, r int) []V // codes of unit u of quarter r: item u, or items u and u+half of it
	pairs      func(u int) []int               // items of a unit; nil: {u}, or {u, u+4} if nibbles
}

func (f *format) subs() int { return f.elems / 32 }

// units is the number of units of 32 columns.
func (f *format) units() int { return 8 / len(f.items(0)) }

func (f *format) items(u int) []int {
	switch {
	case f.pairs != nil:
		return f.pairs(u)
	case f.nibbles:
		return []int{u, u + 4}
	}
	return []int{u}
}

// subBytes is the size of the scales of 32 columns: scales, then offsets, each [groups][16] float32.
func (f *format) subBytes() int {
	n := 32 / f.group
	if f.off > 0 {
		n += 32 / f.off
	}
	return 64 * n
}

// gen writes kernels of one format.
type gen struct {
	*fn
	*format
	p0, p1, dst R
	k           map[string]V
	points      R
}

func (g *gen) con(name string) V {
	v, ok := g.k[name]
	if !ok {
		panic(g.fn.name + ": no constant " + name)
	}
	return v
}

// bytes makes a constant of equal bytes.
func (g *gen) bytes(name string, b byte) {
	g.k[name] = g.v()
	g.movi(g.k[name], b)
}

func (g *gen) lookup(levels func(i int) int8) {
	var t [16]byte
	for i := range t {
		t[i] = byte(levels(i))
	}
	g.k["levels"] = g.table(t)
}

// shift moves the bit from to the bit to within bytes whose neighbours' bits are masked away later; within words, too.
func (g *gen) shift(arr string, d, n V, from, to int) V {
	switch {
	case to > from:
		g.shl(arr, d, n, to-from)
	case from > to:
		g.ushr(arr, d, n, from-to)
	default:
		return n
	}
	return d
}

// take loads a register of codes and keeps a field of its bytes: bits from… , masked by the constant mask ("" if the shift does it).
func (g *gen) take(off, from int, mask string) V {
	v := g.v()
	g.ldq(v, g.p1, off)
	if from > 0 {
		g.ushr("16b", v, v, from)
	}
	if mask != "" {
		g.op("and.16b", v, v, g.con(mask))
	}
	return v
}

// insert adds the bits of a field at off to v: bits from… to to…, by the mask.
func (g *gen) insert(v V, off, from, to int, mask string) {
	t := g.v()
	g.ldq(t, g.p1, off)
	s := g.shift("16b", t, t, from, to)
	g.op("bit.16b", v, s, g.con(mask))
	g.put(t)
}

// split loads a register of nibbles.
func (g *gen) split(off int) (lo, hi V) {
	v, h := g.v(), g.v()
	g.ldq(v, g.p1, off)
	g.ushr("16b", h, v, 4)
	g.op("and.16b", v, v, g.con("nibble"))
	return v, h
}

func nibbleMask(g *gen) { g.bytes("nibble", 0x0f) }

func fp4Levels(i int) int8 {
	return [16]int8{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}[i]
}

func nlLevels(i int) int8 {
	return [16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}[i]
}

// plainNibbles: code item u of a block of 32 has items u and u+4.
func plainNibbles(g *gen, _, u, r int) []V {
	lo, hi := g.split(64*u + 16*r)
	return []V{lo, hi}
}

func lookedUp(g *gen, vs ...V) []V {
	for _, v := range vs {
		g.tbl(v, g.con("levels"), v)
	}
	return vs
}

func fifthBits(g *gen, _, u, r int) []V {
	lo, hi := g.split(tile.Q5_0x16Quants + 64*u + 16*r)
	g.insert(lo, 16*r, u, 4, "fifth")
	g.insert(hi, 16*r, u+4, 4, "fifth")
	return []V{lo, hi}
}

// kNibble: nibbles of 64 columns a group of eight words.
func kNibble(g *gen, quants, sub, t, r int) V {
	off := quants + 64*(8*(sub>>1)+t) + 16*r
	if sub&1 == 0 {
		return g.take(off, 0, "nibble")
	}
	return g.take(off, 4, "")
}

// crumb: bits 2s of word 8h+t are columns 128h+32s+4t….
func crumb(g *gen, quants, sub, t, r int) V {
	s := sub & 3
	mask := "crumb"
	if s == 3 {
		mask = ""
	}
	return g.take(quants+64*(8*(sub>>2)+t)+16*r, 2*s, mask)
}

// level gives the level number of item t of the words at off.
func level(g *gen, off, t, r int) V {
	from := tile.IQField(t)
	mask := "crumb"
	if from == 6 {
		mask = ""
	}
	return g.take(off+64*(t>>2)+16*r, from, mask)
}

func signedLevels(head int) func(g *gen, sub, t, r int) []V {
	return func(g *gen, sub, t, r int) []V {
		off := head + tile.IQ2LSub*sub
		v := level(g, off, t, r)
		g.insert(v, off+128+16*r, tile.IQSign(t), 2, "sign")
		return lookedUp(g, v)
	}
}

func iq2Consts(g *gen) {
	g.bytes("crumb", 3)
	g.bytes("sign", 4)
	l := tile.BookIQ2S.Levels
	g.lookup(func(i int) int8 {
		switch {
		case i&3 < len(l) && i < 4:
			return l[i]
		case i&3 < len(l) && i < 8:
			return -l[i&3]
		}
		return 0
	})
}

func iq1Consts(g *gen) {
	g.bytes("crumb", 3)
	g.bytes("sign", 4)
	g.lookup(func(i int) int8 {
		if i >= 8 || i&3 == 3 {
			return 0
		}
		return int8(8*(i&3-1) + i>>2*2 - 1)
	})
}

// raised puts bit 2 into the bytes of the rows whose word in h has the bit at.
func (g *gen) raised(v, h V, at int) {
	if at < 31 {
		g.shl("4s", h, h, 31-at)
	}
	g.sshr("4s", h, h, 31)
	g.op("bit.16b", v, h, g.con("sign"))
}

func iq3Code(g *gen, sub, u, r int) []V {
	lo, hi := g.split(tile.IQ3NHead + tile.IQ3NSub*sub + 64*u + 16*r)
	return lookedUp(g, lo, hi)
}

const (
	eighth  = 0x3e000000
	quarter = 0x3e800000
	unit    = 0x3f800000
)

var formats = []format{
	{name: "q8_0x16", elems: 32, s0: tile.Q8_0x16Scales, s1: tile.Q8_0x16Codes, group: 32, scales: sameScales,
		consts: func(g *gen) { g.bytes("flip", 0x80) },
		code: func(g *gen, _, t, r int) []V {
			v := g.take(64*t+16*r, 0, "")
			g.op("eor.16b", v, v, g.con("flip"))
			return []V{v}
		}},
	{name: "q4_0x16", elems: 32, s0: tile.Q4_0x16Scales, s1: tile.Q4_0x16Codes, group: 32, bias: 8, nibbles: true, scales: sameScales,
		consts: nibbleMask, code: plainNibbles},
	{name: "q4_1x16", elems: 32, s0: tile.Q4_1x16Scales, s1: tile.Q4_1x16Codes, group: 32, off: 32, nibbles: true, scales: scaleMin,
		consts: nibbleMask, code: plainNibbles},
	{name: "q5_0x16", elems: 32, s0: tile.Q5_0x16Scales, s1: tile.Q5_0x16Codes, group: 32, bias: 16, nibbles: true, scales: sameScales,
		consts: func(g *gen) { nibbleMask(g); g.bytes("fifth", 16) }, code: fifthBits},
	{name: "q5_1x16", elems: 32, s0: tile.Q5_1x16Scales, s1: tile.Q5_1x16Codes, group: 32, off: 32, nibbles: true, scales: scaleMin,
		consts: func(g *gen) { nibbleMask(g); g.bytes("fifth", 16) }, code: fifthBits},
	{name: "q4_kx16", elems: 256, s1: tile.Q4_Kx16Block, group: 32, off: 32, scales: scalesK, consts: nibbleMask,
		code: func(g *gen, sub, t, r int) []V { return []V{kNibble(g, tile.Q4_Kx16Quants, sub, t, r)} }},
	{name: "q5_kx16", elems: 256, s1: tile.Q5_Kx16Block, group: 32, off: 32, scales: scalesK,
		consts: func(g *gen) { nibbleMask(g); g.bytes("fifth", 16) },
		code: func(g *gen, sub, t, r int) []V {
			v := kNibble(g, tile.Q5_Kx16Quants, sub, t, r)
			g.insert(v, tile.Q5_Kx16High+64*t+16*r, sub, 4, "fifth")
			return []V{v}
		}},
	{name: "q6_kx16", elems: 256, s0: tile.Q6_Kx16D, s1: tile.Q6_Kx16Block, group: 16, bias: 32, scales: scalesQ6K,
		consts: func(g *gen) { nibbleMask(g); g.bytes("high", 0x30) },
		code: func(g *gen, sub, t, r int) []V {
			h, s := sub>>2, sub&3
			off := tile.Q6_Kx16Quants + 64*(16*h+8*(s&1)+t) + 16*r
			var v V
			if s < 2 {
				v = g.take(off, 0, "nibble")
			} else {
				v = g.take(off, 4, "")
			}
			g.insert(v, tile.Q6_Kx16High+64*(8*h+t)+16*r, 2*s, 4, "high")
			return []V{v}
		}},
	{name: "q2_kx16", elems: 256, s1: tile.Q2_Kx16Block, group: 16, off: 16, scales: scalesQ2K,
		consts: func(g *gen) { g.bytes("crumb", 3) },
		code:   func(g *gen, sub, t, r int) []V { return []V{crumb(g, tile.Q2_Kx16Quants, sub, t, r)} }},
	{name: "q3_kx16", elems: 256, s0: tile.Q3_Kx16D, s1: tile.Q3_Kx16Block, group: 16, bias: 4, scales: scalesQ3K,
		consts: func(g *gen) { g.bytes("crumb", 3); g.bytes("third", 4) },
		code: func(g *gen, sub, t, r int) []V {
			v := crumb(g, tile.Q3_Kx16Quants, sub, t, r)
			g.insert(v, tile.Q3_Kx16High+64*t+16*r, sub, 2, "third")
			return []V{v}
		}},
	{name: "iq4_nlx16", elems: 32, s0: tile.IQ4_NLx16Scales, s1: tile.IQ4_NLx16Codes, group: 32, nibbles: true, scales: sameScales,
		consts: func(g *gen) { nibbleMask(g); g.lookup(nlLevels) },
		code:   func(g *gen, _, u, r int) []V { return lookedUp(g, plainNibbles(g, 0, u, r)...) }},
	{name: "iq4_xsx16", elems: 256, s1: tile.IQ4_XSx16Block, group: 32, nibbles: true, scales: scalesIQ4XS,
		consts: func(g *gen) { nibbleMask(g); g.lookup(nlLevels) },
		code: func(g *gen, sub, u, r int) []V {
			lo, hi := g.split(tile.IQ4_XSx16Quants + 64*(4*sub+u) + 16*r)
			return lookedUp(g, lo, hi)
		}},
	{name: "tq1_0x16", elems: 256, s0: tile.TQ1_0x16Scales, s1: tile.TQ1_0x16Codes, group: 32, bias: 1, scales: sameScales,
		consts: func(g *gen) {
			for n, p := range []byte{3, 9, 27, 81} {
				g.bytes([]string{"3", "9", "27", "81"}[n], p)
			}
			g.bytes("one", 86) // from here on the trit is at least 1
			g.bytes("two", 171)
		},
		code: func(g *gen, sub, t, r int) []V {
			dword, n := t, sub
			if i := 8*sub + t; i >= 60 {
				dword, n = 12, i-60
			} else if i >= 40 {
				dword, n = 8+(i-40)&3, (i-40)>>2
			}
			v, a := g.v(), g.v()
			g.ldq(v, g.p1, 64*dword+16*r)
			if n > 0 {
				g.op("mul.16b", v, v, g.con([]string{"3", "9", "27", "81"}[n-1]))
			}
			g.op("cmhs.16b", a, v, g.con("one"))
			g.op("cmhs.16b", v, v, g.con("two"))
			g.op("add.16b", v, v, a)
			g.un("neg.16b", v, v)
			g.put(a)
			return []V{v}
		}},
	{name: "tq2_0x16", elems: 256, s0: tile.TQ2_0x16Scales, s1: tile.TQ2_0x16Codes, group: 32, bias: 1, scales: sameScales,
		consts: func(g *gen) { g.bytes("crumb", 3) },
		code:   func(g *gen, sub, t, r int) []V { return []V{crumb(g, 0, sub, t, r)} }},
	{name: "mxfp4x16", elems: 32, s0: tile.MXFP4x16Scales, s1: tile.MXFP4x16Codes, group: 32, nibbles: true, scales: scalesMXFP4,
		consts: func(g *gen) { nibbleMask(g); g.lookup(fp4Levels) },
		code:   func(g *gen, _, u, r int) []V { return lookedUp(g, plainNibbles(g, 0, u, r)...) }},
	{name: "nvfp4x16", elems: 64, s0: tile.NVFP4x16Scales, s1: tile.NVFP4x16Codes, group: 16, scales: scalesNVFP4,
		consts: func(g *gen) { nibbleMask(g); g.lookup(fp4Levels) },
		pairs:  func(u int) []int { return []int{u>>1*4 + u&1, u>>1*4 + u&1 + 2} },
		code: func(g *gen, sub, u, r int) []V {
			lo, hi := g.split(64*(4*sub+u) + 16*r)
			return lookedUp(g, lo, hi)
		}},
	{name: "q1_0x16", elems: 128, s0: tile.Q1_0x16Scales, s1: tile.Q1_0x16Codes, group: 32, bias: 1, scales: sameScales,
		consts: func(g *gen) { g.bytes("bit", 2) },
		code: func(g *gen, sub, t, r int) []V {
			v := g.v()
			g.ldq(v, g.p1, 64*(t&3)+16*r)
			v = g.shift("16b", v, v, 2*sub+1-t>>2, 1)
			g.op("and.16b", v, v, g.con("bit"))
			return []V{v}
		}},
	{name: "q2_0x16", elems: 64, s0: tile.Q2_0x16Scales, s1: tile.Q2_0x16Codes, group: 32, bias: 1, scales: sameScales,
		consts: func(g *gen) { g.bytes("crumb", 3) },
		code: func(g *gen, sub, t, r int) []V {
			from := 4*sub + 2 - t>>2*2
			if from == 6 {
				return []V{g.take(64*(t&3)+16*r, from, "")}
			}
			return []V{g.take(64*(t&3)+16*r, from, "crumb")}
		}},
	{name: "iq1_sx16", elems: 256, s0: tile.IQx16D, s1: tile.IQ1_Sx16Block, group: 32, scales: oddScales(0, 3, eighth), consts: iq1Consts,
		code: func(g *gen, sub, t, r int) []V {
			v, h := level(g, tile.IQ1_SHead+128*sub, t, r), g.v()
			g.ldq(h, g.p1, 16*r)
			g.raised(v, h, 4*sub+3)
			g.put(h)
			return lookedUp(g, v)
		}},
	{name: "iq1_mx16", elems: 256, s0: tile.IQx16D, s1: tile.IQ1_Mx16Block, group: 16, scales: oddScales(0, 3, eighth), consts: iq1Consts,
		code: func(g *gen, sub, t, r int) []V {
			v, h := level(g, tile.IQ1_MHead+128*sub, t, r), g.v()
			g.ldq(h, g.p1, tile.IQ1_MUp+16*r)
			g.raised(v, h, 4*sub+t>>1)
			g.put(h)
			return lookedUp(g, v)
		}},
	{name: "iq2_xxslx16", elems: 256, s0: tile.IQx16D, s1: tile.IQ2_XXSLx16Block, group: 32, scales: oddScales(0, 4, eighth), consts: iq2Consts,
		code: signedLevels(tile.IQ2_XXSLHead)},
	{name: "iq2_xxsx16", elems: 256, s0: tile.IQx16D, s1: tile.IQ2_XXSx16Block, group: 32, scales: oddScales(0, 4, eighth),
		consts: func(g *gen) { g.book(tile.BookIQ2XXS, 8, tile.IQ2Place) },
		pairs:  func(u int) []int { return []int{2 * u, 2*u + 1} },
		code:   pointsOfEight},
	{name: "iq3_xxsx16", elems: 256, s0: tile.IQx16D, s1: tile.IQ3_XXSx16Block, group: 32, scales: oddScales(0, 4, quarter),
		consts: func(g *gen) { g.book(tile.BookIQ3XXS, 4, tile.IQ3Place) },
		code:   pointsOfFour},
	{name: "iq2_xsx16", elems: 256, s0: tile.IQx16D, s1: tile.IQ2Lx16Block, group: 16, scales: oddScales(0, 4, eighth), consts: iq2Consts,
		code: signedLevels(tile.IQ2LHead)},
	{name: "iq2_sx16", elems: 256, s0: tile.IQx16D, s1: tile.IQ2Lx16Block, group: 16, scales: oddScales(0, 4, eighth), consts: iq2Consts,
		code: signedLevels(tile.IQ2LHead)},
	{name: "iq3_xxslx16", elems: 256, s0: tile.IQx16D, s1: tile.IQ3Nx16Block, group: 32, nibbles: true, scales: oddScales(0, 4, quarter),
		consts: func(g *gen) {
			nibbleMask(g)
			g.lookup(func(i int) int8 { return tile.BookIQ3XXS.Levels[i&7] * int8(1-i>>3*2) })
		}, code: iq3Code},
	{name: "iq3_sx16", elems: 256, s0: tile.IQx16D, s1: tile.IQ3Nx16Block, group: 32, nibbles: true, scales: oddScales(0, 4, unit),
		consts: func(g *gen) {
			nibbleMask(g)
			g.lookup(func(i int) int8 {
				if i < 8 {
					return -tile.BookIQ3S.Levels[7-i]
				}
				return tile.BookIQ3S.Levels[i-8]
			})
		}, code: iq3Code},
}
