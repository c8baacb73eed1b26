package main

import "fmt"

// SME2 with streaming vectors of 512 bits: one vector is one item of sixteen rows, as the x16 layouts have it. A panel is sixteen rows by sixteen activation rows: sums of
// products in tiles 0 and 2 of ZA (one a scale group) by SMOPA, outputs in tile 1, each horizontal slice one activation row. Slices i, i+4, i+8, i+12 of a tile are a group of
// four vectors to the instructions on several vectors.
//
// The panel takes what the dotprod set expands, and activations packed by package kernels: a block of 32 columns of sixteen activation rows is [8][16][4] codes, then d, m and
// d·Σq of the two halves, [16] float32 each.
const smePacked = 512 + 4*64

func smeFile() {
	s := newSource("gemm_sme", "GemmArgs")
	for _, p := range forms {
		smePanel(s.fn(fmt.Sprintf("Panel_%s_q8x_16x16_sme2", p.name),
			"multiplies Blocks × 32 expanded columns of a tile row with Panels times 16 packed activation rows XStride apart; Tiles of the 16 are written. The machine must have streaming vectors of 512 bits."), p)
	}
}

func (f *fn) sme(code uint32, format string, args ...any) { f.word(code, format, args...) }

func (f *fn) ld1b(z V, base R, i int) {
	f.sme(0xa400a000|uint32(i)<<16|uint32(base)<<5|uint32(z), "ld1b {z%d.b}, p0/z, [x%d%s]", z, base, mulVL(i))
}

func (f *fn) ld1w(z V, base R, i int) {
	f.sme(0xa540a000|uint32(i)<<16|uint32(base)<<5|uint32(z), "ld1w {z%d.s}, p0/z, [x%d%s]", z, base, mulVL(i))
}

func mulVL(i int) string {
	if i < 0 || i > 7 {
		panic("offset")
	}
	if i == 0 {
		return ""
	}
	return fmt.Sprintf(", #%d, mul vl", i)
}

func (f *fn) ld1rw(z V, base R, off int) {
	at := ""
	if off > 0 {
		at = fmt.Sprintf(", #%d", off)
	}
	if off > 252 {
		panic("offset")
	}
	f.sme(0x8540c000|uint32(off/4)<<16|uint32(base)<<5|uint32(z), "ld1rw {z%d.s}, p0/z, [x%d%s]", z, base, at)
}

func smePanel(f *fn, p form) {
	codes0, scales0 := f.field(gaCodes), f.field(gaScales)
	x0, xstride, y0, ystride := f.field(gaX), f.field(gaXStride), f.field(gaY), f.field(gaYStride)
	panels, cols, load := f.field(gaPanels), f.field(gaTiles), f.field(gaLoad)
	blocks, codes, scales, x, meta, y := f.r(), f.r(), f.r(), f.r(), f.r(), f.r()
	// w8 and w9 choose vectors, w12 a slice: the registers that the instructions can name. They hold fields by now that are moved out of the way.
	moved := map[R]R{}
	for _, r := range []R{8, 9, 12} {
		to := f.r()
		f.ins("MOVD R%d, R%d", r, to)
		moved[r] = to
	}
	at := func(r R) R {
		if to, ok := moved[r]; ok {
			return to
		}
		return r
	}
	codes0, scales0, x0, xstride, y0, ystride = at(codes0), at(scales0), at(x0), at(xstride), at(y0), at(ystride)
	panels, cols, load, blocks, codes, scales, x, meta, y = at(panels), at(cols), at(load), at(blocks), at(codes), at(scales), at(x), at(meta), at(y)

	f.sme(0xd503477f, "smstart")
	f.sme(0x2518e3e0, "ptrue p0.b")
	f.ins("MOVD $0, R8")
	f.ins("MOVD $8, R9")
	slices := func(code uint32, form string) {
		l := f.label("slice")
		f.ins("MOVD $0, R12")
		f.ins("MOVD R%d, R%d", y0, y)
		f.at(l)
		f.sme(code|uint32(y)<<5, "%s [x%d]", form, y)
		f.ins("ADD R%d, R%d", ystride, y)
		f.ins("ADD $1, R12")
		f.ins("CMP R%d, R12", cols)
		f.ins("BNE %s", l)
	}
	f.loop(panels, func() {
		zero := f.label("zero")
		f.sme(0xc00800ff, "zero {za}")
		f.ins("CBZ R%d, %s", load, zero)
		slices(0xe09f0004, "ld1w {za1h.s[w12, 0]}, p0/z,")
		f.at(zero)
		f.ins("MOVD R%d, R%d", codes0, codes)
		f.ins("MOVD R%d, R%d", scales0, scales)
		f.ins("MOVD R%d, R%d", x0, x)
		f.ins("MOVD %d(R0), R%d", gaBlocks, blocks)
		f.loop(blocks, func() {
			f.ins("ADD $512, R%d, R%d", x, meta)
			f.sme(0xc0080011|uint32(p.groups-1)*0x44, "%s", []string{"", "zero {za0.s}", "zero {za0.s, za2.s}"}[p.groups])
			for t := range 8 {
				tile := t * p.groups / 8 * 2
				a, b := V(16+t&3*2), V(17+t&3*2)
				f.ld1b(a, x, t)
				f.ld1b(b, codes, t)
				f.sme(0xa0800000|uint32(b)<<16|uint32(a)<<5|uint32(tile), "smopa za%d.s, p0/m, p0/m, z%d.b, z%d.b", tile, a, b)
			}
			for i := range p.groups + p.offs {
				f.ld1w(V(8+i), scales, i)
			}
			for i := range 4 {
				w, off := uint32(i>>1), uint32(i&1*4)
				acc := fmt.Sprintf("za.s[w%d, %d, vgx4]", 8+w, off+1)
				for g := range p.groups {
					f.sme(0xc0060c00|w<<13|(off+uint32(2*g))<<5, "mova {z0.d-z3.d}, za.d[w%d, %d, vgx4]", 8+w, off+uint32(2*g))
					f.sme(0xc132e000, "scvtf {z0.s-z3.s}, {z0.s-z3.s}")
					for j := range 4 {
						d := V(4 + j)
						f.ld1rw(d, meta, 4*(i+4*j))
						f.sme(0x65800800|uint32(d)<<16|uint32(8+g)<<5|uint32(d), "fmul z%d.s, z%d.s, z%d.s", d, 8+g, d)
					}
					f.sme(0xc1a11800|1<<18|w<<13|(off+1), "fmla %s, {z0.s-z3.s}, {z4.s-z7.s}", acc)
				}
				for o := range p.offs {
					at := 64 // m
					if p.offs == 2 {
						at = 128 + 64*o
					}
					for j := range 4 {
						f.ld1rw(V(4+j), meta, at+4*(i+4*j))
					}
					z := uint32(8 + p.groups + o)
					f.sme(0xc1301800|z<<16|1<<7|w<<13|(off+1), "fmla %s, {z4.s-z7.s}, z%d.s", acc, z)
				}
			}
			f.ins("ADD $512, R%d", codes)
			f.add(scales, p.subBytes())
			f.add(x, smePacked)
		})
		slices(0xe0bf0004, "st1w {za1h.s[w12, 0]}, p0,")
		f.ins("ADD R%d, R%d", xstride, x0)
		f.ins("ADD R%d<<4, R%d", ystride, y0)
	})
	f.sme(0xd503467f, "smstop")
}
