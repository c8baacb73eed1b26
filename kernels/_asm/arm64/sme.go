package main

import "fmt"

// SME2 with streaming vectors of 512 bits: one vector is one item of sixteen rows, as the x16 layouts have it. A panel is sixteen rows by sixteen activation rows: sums of
// products in tiles 0 and 2 of ZA (one a scale group) by SMOPA, outputs in tile 1, each horizontal slice one activation row. Slices i, i+4, i+8, i+12 of a tile are a group of
// four vectors to the instructions on several vectors. Outputs must stay in ZA between blocks, for their order is defined; so a panel of four tile rows, whose sums would fill all
// of ZA, cannot be.
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

	f.smstart()
	f.ins("MOVD $0, R8")
	f.ins("MOVD $8, R9")
	f.ins("MOVW $0x80000000, R%d", codes)
	for v := zNegZero; v < zNegZero+4; v++ {
		f.word(0x05a03800|uint32(codes)<<5|uint32(v), "mov z%d.s, w%d", v, codes)
	}
	slices := func(code uint32, form string) {
		l := f.label("slice")
		f.ins("MOVD $0, R12")
		f.ins("MOVD R%d, R%d", y0, y)
		f.at(l)
		f.word(code|uint32(y)<<5, "%s [x%d]", form, y)
		f.ins("ADD R%d, R%d", ystride, y)
		f.ins("ADD $1, R12")
		f.ins("CMP R%d, R12", cols)
		f.ins("BNE %s", l)
	}
	f.loop(panels, func() {
		zero := f.label("zero")
		f.zeroTiles(0, 1, 2, 3)
		f.ins("CBZ R%d, %s", load, zero)
		slices(0xe09f0004, "ld1w {za1h.s[w12, 0]}, p0/z,")
		f.at(zero)
		f.ins("MOVD R%d, R%d", codes0, codes)
		f.ins("MOVD R%d, R%d", scales0, scales)
		f.ins("MOVD R%d, R%d", x0, x)
		f.ins("MOVD %d(R0), R%d", gaBlocks, blocks)
		f.loop(blocks, func() {
			f.measure(16*32, 512+p.subBytes(), func() { p.smeBlock(f, codes, scales, x, meta) })
		})
		slices(0xe0bf0004, "st1w {za1h.s[w12, 0]}, p0,")
		f.ins("ADD R%d, R%d", xstride, x0)
		f.ins("ADD R%d<<4, R%d", ystride, y0)
	})
	f.smstop()
}

// Registers of a panel: scales and offsets from zScales on, four vectors of minus zero, codes above.
const (
	zScales  V = 8
	zNegZero V = 12
	zActs    V = 16
	zCodes   V = 24
)

// smeBlock adds 32 columns. scale·d of every output is an outer product, in tile 3, of which each element is one product added to minus zero: that rounds as a product alone does
// and keeps its sign where it is zero. Offsets are one product for every output, added to it and rounded once, in the order of the definition.
func (p form) smeBlock(f *fn, codes, scales, x, meta R) {
	f.ins("ADD $512, R%d, R%d", x, meta)
	for i := range V(2) {
		f.fours(zActs+4*i, x, 256*int(i))
		f.fours(zCodes+4*i, codes, 256*int(i))
	}
	f.zmem("ld1w.s", 4, meta, 0)
	for i := range p.groups + p.offs {
		f.zmem("ld1w.s", zScales+V(i), scales, 64*i)
	}
	f.zeroTiles([]int{0, 2}[:p.groups]...)
	for t := range 8 {
		f.smopa(t*p.groups/8*2, zActs+V(t), zCodes+V(t))
	}
	for g := range p.groups {
		for i := range 4 {
			f.zaPut(za(4*i+3), zNegZero)
		}
		f.fmopa(3, 4, zScales+V(g))
		for i := range 4 {
			f.zaGet(zSum, za(4*i+2*g))
			f.zaGet(zProd, za(4*i+3))
			f.quadToFloat(zSum, false)
			f.zaFMA(za(4*i+1), zSum, zProd)
		}
	}
	for o := range p.offs {
		at := 64 // m
		if p.offs == 2 {
			at = 128 + 64*o
		}
		f.zmem("ld1w.s", 5, meta, at)
		f.fmopa(1, 5, zScales+V(p.groups+o))
	}
	f.add(codes, 512)
	f.add(scales, p.subBytes())
	f.add(x, smePacked)
}
