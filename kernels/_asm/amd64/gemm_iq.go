package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"jns/kernels/tile"
)

// booked is a format of a code book. All have eight sub-blocks of 32 columns and d in stream 0.
type booked struct {
	layout string
	s0, s1 int
	bits   int // width of a code as dot takes it
	bias   int // what the code is above its value: 9, 15 or 128
	groups int
	lift   int // added to codes for the panels of sets without VPDPBUSD

	// magnitude: sets without VPDPBUSD take code's bytes as magnitudes and the bytes of state.sign as signs. Sums of so many pairs of products
	// stay within 16 bits. lean: so does AVX-VNNI for one activation row, since that takes fewer operations than codes with a bias.
	magnitude int
	lean      bool
	// consts emits what stays in registers for the whole of a function with n columns.
	consts func(w *state, n int)
	// head emits what a block needs once, begin what a sub-block does.
	head  func(w *state, h int)
	begin func(w *state, j, h int)
	code  func(w *state, j, t, h int, dst vec)
	scale func(w *state, j, k, h int, dst vec)
	// points is set where an index is kept.
	points *points
	// sum, if set, emits the sum of group k of sub-block j for one activation row with AVX-VNNI.
	sum func(w *state, at func(off int) operand.Mem, j, k, h int, ahead func(item int)) vec
	// see low
	short       *short
	shortConsts func(w *state)
	terms       func(w *state, at func(off int) operand.Mem, j, h int, ahead func(item int)) []term
}

// points says how an index is found and what it stands for. A lookup by VPERMB gives one byte for each index, so that the bytes of a dword are
// elements of four groups; activations are put into that order. Without VPERMB points are copied when weights are expanded.
type points struct {
	book    *tile.Book
	at, sub int  // offset of sub-block 0, bytes to the next
	fours   bool // an index is of four elements, else of eight
	// order says which element of 32 byte i of the permuted activations is; plane emits the code vector of bytes 4p….
	order func(i int) int
	plane func(w *state, p, h int, dst vec)
	// sign says where the sign of element e lies in the dword of signs.
	sign func(e int) (byte, bit int)
}

// state is weights and what formats of code books keep in registers.
type state struct {
	*weights
	n       int
	tables  []operand.Op // of codes
	masks   []operand.Op // the place of a sign
	ctrl    []operand.Op // places of levels, and of signs
	books   [2][]operand.Op
	k       []reg.OpmaskVirtual
	upper   reg.OpmaskVirtual // bytes 2 and 3 of every dword
	pair    vec               // levels and signs of two planes
	pairs   []operand.Op      // tables of codes for them
	expands bool              // weights are written out for a panel, which needs other tables
	floats  operand.Op        // scales
	shifts  [2][4]vec         // IQ1: by group of eight
	signs   [2]vec
	up      [2]vec // signs of the second half, two bits down; for magnitudes of the upper four bits, as low4 of the lower ones
	low4    [2]vec
	level   [2][4]vec
	sign    vec  // set by code for magnitudes
	apart   bool // code emits magnitudes and signs
}

var _ = func() int {
	for _, s := range isas {
		for _, f := range bookeds {
			emit(source{"gemm_" + f.layout + "_" + s.name, "GemmArgs", s.width == 32, func(c *build.Context) {
				g := newGen(c, s)
				if f.points != nil && s.width == 32 {
					g.expandPoints(f)
					return
				}
				cols := []int{1, 2}
				if s == avx512vnni {
					cols = []int{1, 2, 3, 4, 5, 6, 8}
				}
				for _, n := range cols {
					g.gemvBooked(f, n)
				}
				g.expandBooked(f)
				g.prepare(f.layout, f.short, 8)
			}})
		}
	}
	return 0
}()

// table is a constant of bytes.
func (g *gen) table(name string, b []byte) operand.Mem {
	name += "_" + g.name
	if m, ok := g.shuf[name]; ok {
		return m
	}
	m := g.StaticGlobal(name)
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range b {
		g.AddDatum(i, operand.U8(b[i]))
	}
	g.shuf[name] = m
	return m
}

// keep loads a constant into a register for the rest of the function, if yes.
func (g *gen) keep(m operand.Mem, yes bool) operand.Op {
	if !yes {
		return m
	}
	v := g.vec()
	g.load(m, v)
	return v
}

// reg gives a constant in a register.
func (w *state) reg(o operand.Op) vec {
	if v, ok := o.(vec); ok {
		return v
	}
	v := w.vec()
	w.load(o, v)
	return v
}

// biasFrom emits the start of a sum of group k of codes with a bias: −bias·Σq.
func (g *gen) biasFrom(f booked, at func(off int) operand.Mem, k int) func(acc vec) {
	start := g.biasStart(128, at, f.groups, k)
	return func(acc vec) {
		start(acc)
		if f.bias == 128 {
			return
		}
		t := g.vec()
		g.VPSRAD(operand.U8(7), acc, t)
		switch f.bias {
		case 9:
			g.VPSRAD(operand.U8(4), acc, acc)
			g.VPADDD(t, acc, acc)
		case 15:
			g.VPSRAD(operand.U8(3), acc, acc)
			g.VPSUBD(t, acc, acc)
		default:
			panic("bias")
		}
	}
}

// gemvBooked is gemv for formats of code books.
func (g *gen) gemvBooked(f booked, n int) {
	a := g.begin(fmt.Sprintf("Gemv_%s_q8x_16x%d_%s", f.layout, n, g.name),
		fmt.Sprintf("multiplies %s weights with %d quantised rows of activations.", f.layout, n))
	hs := g.halves()
	y := g.field(a, argY)
	tiles := g.field(a, argTiles)
	w := &state{weights: &weights{gen: g}, n: n}
	w.apart = g.width == 32 && f.magnitude > 0 && (!g.vnni || f.lean && n == 1)
	f.consts(w, n)
	if g.isShort(f.short) && n == 1 {
		f.shortConsts(w)
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
	w.ahead.blocks(n, blocks, func() {
		if !w.ahead.once {
			g.Comment("d of the next tile row: too few lines for the hardware to see a stream")
			next := g.field(a, argStride)
			g.PREFETCHT1(operand.Mem{Base: w.p0, Index: next, Scale: 1})
		}
		for h := range hs {
			g.bookedBlock(f, w, x, n, h, acc[h])
		}
		g.advance(x, 8*g.block(f.short))
		g.ADDQ(imm(f.s0), w.p0)
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

// bookedBlock adds the products of half h of the rows of a block to acc, by column.
func (g *gen) bookedBlock(f booked, w *state, x columns, n, h int, acc []vec) {
	f.head(w, h)
	p := pace{h, g.halves()}
	line := p.line((f.s0+f.s1+63)/64, 64, 0)
	steps := 8 / f.groups
	for j := range 8 {
		xd := j * g.block(f.short)
		ahead := func(item int) {
			w.ahead.lines(f.s0, f.s1, p, 64, j*8+item, &line)
		}
		at := func(c, off int) operand.Mem { return x.at(c, xd+off) }
		if g.isShort(f.short) && n == 1 {
			g.Commentf("sub-block %d", j)
			if f.points != nil {
				f.begin(w, j, h)
			}
			one := func(off int) operand.Mem { return at(0, off) }
			g.addTerms(f.terms(w, one, j, h, ahead), one(tile.Q8XD), acc[0])
			continue
		}
		f.begin(w, j, h)
		for k := range f.groups {
			g.Commentf("sub-block %d, scale %d", j, k)
			if w.summed(f, n) {
				sum := f.sum(w, func(off int) operand.Mem { return at(0, off) }, j, k, h, ahead)
				s, t := g.vec(), g.vec()
				f.scale(w, j, k, h, s)
				g.scaleBy(at(0, tile.Q8XD), s, t)
				g.VCVTDQ2PS(sum, sum)
				g.VFMADD231PS(t, sum, acc[0])
				continue
			}
			d := g.dot(f.bits, n)
			for c := range n {
				if w.apart {
					d.start(c, nil)
					continue
				}
				d.start(c, g.biasFrom(f, func(off int) operand.Mem { return at(c, off) }, k))
			}
			for t := range steps {
				item := k*steps + t
				ahead(item)
				v, abs := g.vec(), vec(nil)
				if f.points != nil {
					f.points.plane(w, item, h, v)
				} else {
					f.code(w, j, item, h, v)
				}
				if w.apart {
					v, abs = w.sign, v
				}
				for c := range n {
					m := at(c, item*4)
					if g.width == 64 {
						d.add(c, v, nil, m, t, steps)
						continue
					}
					r := g.vec()
					g.VPBROADCASTD(m, r)
					if w.apart {
						d.addSigned(c, v, abs, r, t, steps, f.magnitude)
						continue
					}
					d.add(c, v, nil, r, t, steps)
				}
			}
			s := g.vec()
			f.scale(w, j, k, h, s)
			for c := range n {
				t := g.vec()
				g.scaleBy(at(c, tile.Q8XD), s, t)
				g.VCVTDQ2PS(d.acc[c], d.acc[c])
				g.VFMADD231PS(t, d.acc[c], acc[c])
			}
		}
	}
}

// summed reports whether a kernel for n activation rows uses f.sum.
func (w *state) summed(f booked, n int) bool {
	return f.sum != nil && w.vnni && w.width == 32 && n == 1 && !w.expands
}

// addSigned adds products of magnitudes and x, whose signs change where those of sign are negative. Sums of run steps are of 16 bits.
func (d *dot) addSigned(i int, sign, magnitude, x vec, step, n, run int) {
	t := d.vec()
	d.VPSIGNB(sign, x, t)
	if d.vnni {
		d.dpbusd(t, magnitude, d.acc[i])
		return
	}
	if step%run == 0 {
		d.part[i] = t
		d.VPMADDUBSW(t, magnitude, t)
	} else {
		d.VPMADDUBSW(t, magnitude, t)
		d.VPADDW(t, d.part[i], d.part[i])
	}
	if step%run == run-1 || step == n-1 {
		d.sum16(i, d.part[i])
	}
}

// panelBias is what panels want codes to be above their value, less what they are.
func (g *gen) panelBias(f booked) int {
	if g.vnni {
		return 128 - f.bias
	}
	return f.lift
}

// expandBooked is expand for formats of code books.
func (g *gen) expandBooked(f booked) {
	a := g.begin(fmt.Sprintf("Expand_%s_codes_16x32_%s", f.layout, g.name),
		fmt.Sprintf("expands blocks of one tile row of %s weights.", f.layout))
	w := &state{weights: &weights{gen: g, p0: g.field(a, argP0), p1: g.field(a, argP1)}, n: 1, expands: true}
	w.apart = f.magnitude > 0 && !g.vnni
	codes, scales := g.field(a, argCodes), g.field(a, argScales)
	blocks := g.field(a, argBlocks)
	add := g.panelBias(f)
	f.consts(w, 1)
	if add != 0 {
		g.hold(uint32(add) * 0x01010101)
	}

	g.Label("block")
	line := 0
	for h := range g.halves() {
		f.head(w, h)
		for j := range 8 {
			f.begin(w, j, h)
			g.bookedScales(f, w, scales, j, h)
			for t := range 8 {
				for want := (j*8 + t + 1) * (f.s1 / 64) / 64; h == 0 && line < want; line++ {
					g.PREFETCHT0(mem(w.p1, expandNear+line*64))
				}
				v := g.vec()
				f.code(w, j, t, h, v)
				switch {
				case w.apart:
					g.VPSIGNB(w.sign, v, v)
					g.VPADDB(g.dwords(0x40404040), v, v) // see panels: u7
				case add != 0:
					g.VPADDB(g.constant(uint32(add)*0x01010101), v, v)
				}
				g.load(v, mem(codes, j*512+t*64+h*g.width))
			}
		}
	}
	g.nextBlock(f, w, codes, scales)
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef("block"))
	g.end()
}

func (g *gen) bookedScales(f booked, w *state, scales reg.Register, j, h int) {
	for k := range f.groups {
		s := g.vec()
		f.scale(w, j, k, h, s)
		g.VMOVUPS(s, mem(scales, (j*f.groups+k)*64+h*g.width))
	}
}

func (g *gen) nextBlock(f booked, w *state, codes, scales reg.Register) {
	g.ADDQ(imm(f.s0), w.p0)
	g.ADDQ(imm(f.s1), w.p1)
	g.ADDQ(imm(8*512), codes)
	g.ADDQ(imm(8*f.groups*64), scales)
}

// expandPoints is expandBooked for an index without VPERMB: points are copied one by one, then signs are set. Gathers are no faster where
// they are good and far slower where they are not.
func (g *gen) expandPoints(f booked) {
	a := g.begin(fmt.Sprintf("Expand_%s_codes_16x32_%s", f.layout, g.name),
		fmt.Sprintf("expands blocks of one tile row of %s weights.", f.layout))
	w := &state{weights: &weights{gen: g, p0: g.field(a, argP0), p1: g.field(a, argP1)}, n: 1, expands: true}
	codes, scales := g.field(a, argCodes), g.field(a, argScales)
	blocks := g.field(a, argBlocks)
	p := f.points
	b := p.book
	var raw []byte
	size := 8
	if p.fours {
		size = 4
	}
	for _, pt := range b.Points {
		for e := range size {
			raw = append(raw, byte(b.Levels[int(pt)>>(e*b.Bits)&(1<<b.Bits-1)]))
		}
	}
	table := g.GP64()
	g.LEAQ(g.table("points_"+f.layout, raw), table)
	f.consts(w, 1)

	g.Label("block")
	src, dst, n := g.GP64(), g.GP64(), g.GP64()
	g.LEAQ(mem(w.p1, p.at), src)
	g.MOVQ(codes, dst)
	g.MOVQ(operand.U32(8), n)
	g.Label("sub")
	for r := range 16 {
		for l := range 32 / size {
			i := g.GP64()
			g.MOVBLZX(mem(src, l>>2*64+4*r+l&3), i.As32())
			if p.fours {
				g.MOVL(operand.Mem{Base: table, Index: i, Scale: 4}, i.As32())
				g.MOVL(i.As32(), mem(dst, l*64+4*r))
				continue
			}
			g.MOVQ(operand.Mem{Base: table, Index: i, Scale: 8}, i)
			g.MOVL(i.As32(), mem(dst, 2*l*64+4*r))
			g.SHRQ(operand.U8(32), i)
			g.MOVL(i.As32(), mem(dst, (2*l+1)*64+4*r))
		}
	}
	g.ADDQ(imm(p.sub), src)
	g.ADDQ(imm(512), dst)
	g.DECQ(n)
	g.JNZ(operand.LabelRef("sub"))

	line := 0
	for h := range g.halves() {
		f.head(w, h)
		for j := range 8 {
			f.begin(w, j, h)
			g.bookedScales(f, w, scales, j, h)
			for t := range 8 {
				for want := (j*8 + t + 1) * (f.s1 / 64) / 64; h == 0 && line < want; line++ {
					g.PREFETCHT0(mem(w.p1, expandNear+line*64))
				}
				v, m := g.vec(), g.vec()
				at := mem(codes, j*512+t*64+h*g.width)
				var from [4]int
				bit := uint32(0)
				for i := range from {
					byte, n := p.sign(4*t + i)
					from[i] = byte
					bit |= 1 << (8*i + n)
				}
				g.VPSHUFB(g.shuffle(from), w.signs[h], m)
				g.VPAND(g.dwords(bit), m, m)
				g.VPCMPEQB(g.dwords(bit), m, m)
				g.VPXOR(at, m, v)
				g.VPSUBB(m, v, v)
				if g.vnni {
					g.xor(g.dwords(0x80808080), v, v)
				} else {
					g.VPADDB(g.dwords(0x40404040), v, v) // see panels: u7
				}
				g.load(v, at)
			}
		}
	}
	g.nextBlock(f, w, codes, scales)
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef("block"))
	g.end()
}
