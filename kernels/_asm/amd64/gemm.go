package main

import (
	"fmt"
	"math/bits"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"jns/kernels/tile"
)

// Offsets in amd64.GemmArgs, in its order; a test there compares them.
const (
	argP0 = 8 * iota
	argP1
	argStride
	argTiles
	argBlocks
	argX
	argXStride
	argY
	argYStride
	argCodes
	argScales
	argCStride
	argSStride
	argPanels
	argLoad
	argAhead
	argNear
	argFar
	argPace
	argTurn
)

// expandNear is how far ahead of the codes a kernel that expands weights asks for them, which waits for nothing else.
const expandNear = 2 << 10

// ahead is where a kernel that reads weights from memory asks for them before their time: at near into the first-level cache and at far into the second. Where those are, and how
// fast they move, the caller says (see prefetching in package kernels): it depends on the processor.
type ahead struct {
	*gen
	a         reg.GPVirtual
	near, far reg.GPVirtual
	once      bool // the second-level cache is asked for nothing of its own
}

// ahead loads the places for a tile row.
func (g *gen) ahead(a reg.GPVirtual) ahead {
	return ahead{gen: g, a: a, near: g.field(a, argNear), far: g.field(a, argFar)}
}

// line asks for the line at disp.
func (p ahead) line(disp int) {
	if !p.once {
		p.PREFETCHT1(mem(p.far, disp))
	}
	p.PREFETCHT0(mem(p.near, disp))
}

// rest asks for a line of which less than all belongs to the block: near only.
func (p ahead) rest(disp int) { p.PREFETCHT0(mem(p.near, disp)) }

// block goes on by a block.
func (p ahead) block() {
	p.ADDQ(mem(p.a, argPace), p.near)
	if !p.once {
		p.ADDQ(mem(p.a, argPace), p.far)
	}
}

// blocks emits the loop over blocks: for one or two rows of activations, which memory bounds, once more without what only the second-level cache is asked for, taken where both
// places are the same.
func (p *ahead) blocks(n int, blocks reg.GPVirtual, block func()) {
	loop := func(label string) {
		p.Label(label)
		block()
		p.block()
		p.DECQ(blocks)
		p.JNZ(operand.LabelRef(label))
	}
	if n > 2 {
		loop("block")
		return
	}
	p.CMPQ(p.near, p.far)
	p.JE(operand.LabelRef("once"))
	loop("block")
	p.JMP(operand.LabelRef("sums"))
	p.once = true
	loop("once")
	p.once = false
	p.Label("sums")
}

// lines asks for the lines of a block, s0 and s1 bytes in two streams, as far as they are due when item of a pass's items is begun; state is how many were asked for.
func (p ahead) lines(s0, s1 int, pace pace, items, item int, state *int) {
	whole, all := s1/64, (s0+s1+63)/64
	for ; *state < pace.line(all, items, item+1); *state++ {
		if *state < whole {
			p.line(*state * 64)
		} else {
			p.rest(*state * 64)
		}
	}
}

// nextTile goes on by a tile row, whose places are in the argument block, as those of the streams are.
func (g *gen) nextTile(a reg.GPVirtual) {
	stride := g.field(a, argStride)
	for _, place := range []int{argP0, argP1, argNear, argFar} {
		g.ADDQ(stride, mem(a, place))
	}
}

// pace spreads the prefetches of a block evenly over the passes that go through it, one for each half of the rows: a memory that is asked in bursts idles
// between them.
type pace struct{ pass, passes int }

// line is how many of so many lines are asked for when some of a pass's items are done.
func (p pace) line(lines, items, done int) int {
	return (p.pass*items + done) * lines / (p.passes * items)
}

var _ = func() int {
	for _, s := range isas {
		for _, f := range formats {
			emit(source{"gemm_" + f.layout + "_" + s.name, "GemmArgs", s.width == 32, func(c *build.Context) {
				g := newGen(c, s)
				cols := []int{1, 2}
				if s == avx512vnni {
					cols = []int{1, 2, 3, 4, 5, 6, 8}
				}
				for _, n := range cols {
					g.gemv(f, n)
				}
				g.expand(f)
			}})
		}
		emit(source{"gemm_panel_" + s.name, "GemmArgs", s.width == 32, func(c *build.Context) {
			g := newGen(c, s)
			for _, p := range panels(s) {
				g.panel(p)
			}
		}})
	}
	return 0
}()

// dot accumulates products of unsigned codes and signed activations. With VPDPBUSD that is one instruction into acc; without it pairs are summed
// in 16 bits first, as long as they fit: 8 steps of 4-bit codes, 4 of 5-bit, 2 of 6-bit, 1 of 7-bit; codes of 8 bits are taken as signed ones,
// their sign moved to the activation. Codes of 16 bits are signed, pairs of them against activations of as many.
type dot struct {
	*gen
	bits  int
	acc   []vec // 32-bit sums
	fresh []bool
	part  []vec // 16-bit sums
	whole bool  // all steps are one run: its 16-bit sums are kept in acc, which then begins at zero
}

// runOf is how many products of pairs of codes of some bits 16 bits hold the sum of.
var runOf = map[int]int{4: 8, 5: 4, 6: 2, 7: 1}

// signed reports whether codes of this width are used with the bias taken off.
func (g *gen) signed(bits int) bool { return !g.vnni && bits == 8 }

// begin starts sums of n products; init gives the start of each or nil for zero.
func (g *gen) dot(bits, n int) *dot {
	return &dot{gen: g, bits: bits, acc: g.vecs(n), fresh: make([]bool, n), part: make([]vec, n)}
}

// start clears sum i, or sets it to what init emits.
func (d *dot) start(i int, init func(acc vec)) {
	if init != nil && !d.signed(d.bits) {
		init(d.acc[i])
		d.fresh[i] = false
		return
	}
	d.fresh[i] = true
	if d.vnni {
		d.zero(d.acc[i])
	}
}

// prepare turns a code vector into what add takes: the codes, and for signed ones their magnitude.
func (d *dot) prepare(w vec) (codes, abs vec) {
	if !d.signed(d.bits) {
		return w, nil
	}
	abs = d.vec()
	d.xor(d.dwords(0x80808080), w, w)
	d.VPABSB(w, abs)
	return w, abs
}

// add adds w·x to sum i, where x is a register or, in AVX-512, four bytes of memory that are broadcast. step counts the code vectors of a
// group, of which there are n.
func (d *dot) add(i int, w, abs vec, x operand.Op, step, n int) {
	switch {
	case d.vnni:
		d.dpbusd(x, w, d.acc[i])
	case d.bits == 16:
		d.words(i, w, x.(vec))
	case abs != nil:
		t := d.vec()
		d.VPSIGNB(w, x, t)
		d.VPMADDUBSW(t, abs, t)
		d.sum16(i, t)
	case d.whole:
		d.oneRun(i, w, x, step, n)
	default:
		run := min(runOf[d.bits], n)
		if step%run == 0 {
			d.part[i] = d.vec()
			d.VPMADDUBSW(x, w, d.part[i])
		} else {
			t := d.vec()
			d.VPMADDUBSW(x, w, t)
			d.VPADDW(t, d.part[i], d.part[i])
		}
		if step%run == run-1 {
			d.sum16(i, d.part[i])
		}
	}
}

// oneRun is add where 16 bits hold the sum of all steps.
func (d *dot) oneRun(i int, w vec, x operand.Op, step, n int) {
	if step == 0 {
		d.VPMADDUBSW(x, w, d.acc[i])
	} else {
		t := d.vec()
		d.VPMADDUBSW(x, w, t)
		d.VPADDW(t, d.acc[i], d.acc[i])
	}
	if step == n-1 {
		d.VPMADDWD(d.dwords(0x00010001), d.acc[i], d.acc[i])
	}
}

// words adds products of 16-bit codes, which may lie in memory, to sum i.
func (d *dot) words(i int, w operand.Op, x vec) {
	if d.fresh[i] {
		d.VPMADDWD(w, x, d.acc[i])
		d.fresh[i] = false
		return
	}
	t := d.vec()
	d.VPMADDWD(w, x, t)
	d.VPADDD(t, d.acc[i], d.acc[i])
}

// sum16 adds pairs of 16-bit sums to the 32-bit ones.
func (d *dot) sum16(i int, t vec) {
	if d.fresh[i] {
		d.VPMADDWD(d.dwords(0x00010001), t, d.acc[i])
		d.fresh[i] = false
		return
	}
	d.VPMADDWD(d.dwords(0x00010001), t, t)
	d.VPADDD(t, d.acc[i], d.acc[i])
}

// dpbusd is VPDPBUSD, x a register or memory. The form on Y registers is written raw: the builder would take it for AVX-512 and hand
// out registers above 15.
func (g *gen) dpbusd(x operand.Op, w, acc vec) {
	switch x.(type) {
	case operand.Mem:
		g.VPDPBUSD_BCST(x, w, acc)
	default:
		if g.width == 64 {
			g.VPDPBUSD(x, w, acc)
			return
		}
		g.Instruction(&ir.Instruction{
			Opcode: "VPDPBUSD", Operands: []operand.Op{x, w, acc},
			Inputs: []operand.Op{x, w, acc}, Outputs: []operand.Op{acc},
		})
	}
}

// columns addresses up to twelve rows of activations or outputs: base + c·stride, from the seventh on by a second base.
type columns struct {
	base, next, s, s3, s5 reg.GPVirtual
}

func (g *gen) columns(base, stride reg.GPVirtual, n int) columns {
	c := columns{base: base, s: stride}
	if n > 3 {
		c.s3 = g.GP64()
		g.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, c.s3)
	}
	if n > 5 {
		c.s5 = g.GP64()
		g.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 4}, c.s5)
	}
	if n > 6 {
		c.next = g.GP64()
		g.place(c)
	}
	return c
}

// place sets the second base after the first has changed.
func (g *gen) place(c columns) {
	if c.next != nil {
		g.LEAQ(operand.Mem{Base: c.base, Index: c.s3, Scale: 2}, c.next)
	}
}

// advance moves all columns by n bytes.
func (g *gen) advance(c columns, n int) {
	g.ADDQ(imm(n), c.base)
	if c.next != nil {
		g.ADDQ(imm(n), c.next)
	}
}

func (c columns) at(i, disp int) operand.Mem {
	m := operand.Mem{Base: c.base, Disp: disp}
	if i > 5 {
		m.Base = c.next
		i -= 6
	}
	switch i {
	case 0:
	case 1, 2, 4:
		m.Index, m.Scale = c.s, uint8(i)
	case 3:
		m.Index, m.Scale = c.s3, 1
	case 5:
		m.Index, m.Scale = c.s5, 1
	default:
		panic("column out of reach")
	}
	return m
}

// biasStart emits the start of a sum of codes that lie bias above their values: −bias·Σq, from −128·Σq in the block.
func (g *gen) biasStart(bias int, at func(off int) operand.Mem, groups, k int) func(acc vec) {
	if bias == 0 {
		return nil
	}
	n := 7 - (bits.Len(uint(bias)) - 1)
	return func(acc vec) {
		off := tile.Q8XC
		if groups == 2 {
			off = tile.Q8XC0
		}
		if k == 1 {
			t := g.vec()
			g.VPBROADCASTD(at(tile.Q8XC0), t)
			g.VPBROADCASTD(at(tile.Q8XC), acc)
			g.VPSUBD(t, acc, acc)
		} else {
			g.VPBROADCASTD(at(off), acc)
		}
		if n > 0 {
			g.VPSRAD(operand.U8(n), acc, acc)
		}
	}
}

// scaleBy is dst = scale · the float at m in the activations, the same for every row.
func (g *gen) scaleBy(m operand.Mem, scale operand.Op, dst vec) {
	if s, ok := scale.(vec); ok && g.width == 64 {
		g.VMULPS_BCST(m, s, dst)
		return
	}
	g.VBROADCASTSS(m, dst)
	g.VMULPS(scale, dst, dst)
}

// gemv computes n columns of a range of tile rows, all of K.
func (g *gen) gemv(f format, n int) {
	a := g.begin(fmt.Sprintf("Gemv_%s_q8x_16x%d_%s", f.layout, n, g.name),
		fmt.Sprintf("multiplies %s weights with %d quantised rows of activations.", f.layout, n))
	hs := g.halves()
	y := g.field(a, argY)
	tiles := g.field(a, argTiles)
	g.hold(f.masks()...)
	switch {
	case g.inParts(f.parts, n):
		g.keepMasks(0x0f0f0f0f, 0xf0f0f0f0)
	case g.width == 32 && n == 1 && f.bits < 8:
		g.keepMasks(0x0f0f0f0f)
	}

	g.Label("tile")
	w := &weights{gen: g, p0: g.field(a, argP0), p1: g.field(a, argP1), ahead: g.ahead(a)}
	x := g.columns(g.field(a, argX), g.field(a, argXStride), n)
	blocks := g.field(a, argBlocks)
	acc := make([][]vec, hs) // float sums
	for h := range acc {
		acc[h] = g.vecs(n)
		for _, v := range acc[h] {
			g.zero(v)
		}
	}

	// With sixteen registers both halves of the rows are done side by side only if that takes few.
	together := [][]int{{0}, {1}}[:hs]
	if hs == 2 && (f.subs == 1 || f.groups == 2) && n == 1 {
		together = [][]int{{0, 1}}
	}
	w.tight = hs == 2 && n > 1
	w.ahead.blocks(n, blocks, func() {
		for i, half := range together {
			g.gemvBlock(f, w, x, n, half, pace{i, len(together)}, acc)
		}
		g.advance(x, f.subs*tile.Q8XBytes)
		if f.s0 != 0 {
			g.ADDQ(imm(f.s0), w.p0)
		}
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

// gemvBlock adds the products of one source block to acc[half][column].
func (g *gen) gemvBlock(f format, w *weights, x columns, n int, halves []int, p pace, acc [][]vec) {
	for _, h := range halves {
		f.head(w, h)
	}
	nh := len(halves)
	line := p.line((f.s0+f.s1+63)/64, f.subs*8, 0)
	for j := range f.subs {
		xd := j * tile.Q8XBytes
		ahead := func(item int) {
			w.ahead.lines(f.s0, f.s1, p, f.subs*8, j*8+item, &line)
		}
		inParts := g.inParts(f.parts, n)
		if inParts {
			g.Commentf("sub-block %d", j)
			g.addParts(f, w, func(off int) operand.Mem { return x.at(0, xd+off) }, j, halves, ahead, acc)
		}
		for k := 0; k < f.groups && !inParts; k++ {
			g.Commentf("sub-block %d, scale %d", j, k)
			d := g.dot(f.bits, nh*n)
			for c := range n {
				at := func(off int) operand.Mem { return x.at(c, xd+off) }
				for i := range nh {
					d.start(i*n+c, g.biasStart(f.bias, at, f.groups, k))
				}
			}
			steps := 8 / f.groups
			for t := range steps {
				ahead(k*steps + t)
				codes, abs := g.vecs(nh), make([]vec, nh)
				for i, h := range halves {
					f.code(w, j, k*steps+t, h, codes[i])
					codes[i], abs[i] = d.prepare(codes[i])
				}
				for c := range n {
					m := x.at(c, xd+(k*steps+t)*4)
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
			for i, h := range halves {
				s := g.vec()
				f.scale(w, j, k, h, s)
				for c := range n {
					t := g.vec()
					g.scaleBy(x.at(c, xd+tile.Q8XD), s, t)
					g.VCVTDQ2PS(d.acc[i*n+c], d.acc[i*n+c])
					g.VFMADD231PS(t, d.acc[i*n+c], acc[h][c])
				}
			}
		}
		if f.off == none {
			continue
		}
		for _, h := range halves {
			s := g.vec()
			f.min(w, j, h, s)
			for c := range n {
				g.offset(f.off, x.at(c, xd+tile.Q8XM), s, acc[h][c])
			}
		}
	}
}

// offset is acc ± m · min.
func (g *gen) offset(o offset, m operand.Mem, min operand.Op, acc vec) {
	v, ok := min.(vec)
	if g.width == 64 && ok {
		if o == added {
			g.VFMADD231PS_BCST(m, v, acc)
		} else {
			g.VFNMADD231PS_BCST(m, v, acc)
		}
		return
	}
	t := g.vec()
	g.VBROADCASTSS(m, t)
	if o == added {
		g.VFMADD231PS(min, t, acc)
	} else {
		g.VFNMADD231PS(min, t, acc)
	}
}

// expand turns source blocks of one tile row into codes of a byte and float scales, what panel takes. Codes of types with a bias are
// brought to a bias of 128 where panel wants that; a subtracted offset is stored negated.
func (g *gen) expand(f format) {
	a := g.begin(fmt.Sprintf("Expand_%s_codes_16x32_%s", f.layout, g.name),
		fmt.Sprintf("expands blocks of one tile row of %s weights.", f.layout))
	w := &weights{gen: g, p0: g.field(a, argP0), p1: g.field(a, argP1)}
	codes, scales := g.field(a, argCodes), g.field(a, argScales)
	blocks := g.field(a, argBlocks)
	hs := g.halves()
	add := 0
	if g.vnni && f.bias != 0 {
		add = 128 - f.bias
	}
	words := scaleBytes(f)
	g.hold(f.masks()...)
	if add != 0 {
		g.hold(uint32(add) * 0x01010101)
	}

	g.Label("block")
	line := 0
	for h := range hs {
		f.head(w, h)
		for j := range f.subs {
			so := j * words
			for k := range f.groups {
				s := g.vec()
				f.scale(w, j, k, h, s)
				g.VMOVUPS(s, mem(scales, so+k*64+h*g.width))
			}
			if f.off != none {
				s := g.vec()
				f.min(w, j, h, s)
				if f.off == subtract {
					g.xor(g.dwords(0x80000000), s, s)
				}
				g.VMOVUPS(s, mem(scales, so+64+h*g.width))
			}
			if f.bits == 8 && g.vnni {
				continue // panel reads such codes where they are
			}
			for t := range 8 {
				if h == 0 {
					for want := (j*8 + t + 1) * (f.s1 / 64) / (f.subs * 8); line < want; line++ {
						g.PREFETCHT0(mem(w.p1, expandNear+line*64))
					}
				}
				v := g.vec()
				f.code(w, j, t, h, v)
				if f.bits == 8 {
					g.xor(g.dwords(0x80808080), v, v)
					g.storeWords(v, codes, j*1024+t*128+h*g.width)
					continue
				}
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
	switch {
	case f.bits != 8:
		g.ADDQ(imm(f.subs*512), codes)
	case !g.vnni:
		g.ADDQ(imm(f.subs*1024), codes)
	}
	g.ADDQ(imm(f.subs*words), scales)
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef("block"))
	g.end()
}

// storeWords widens signed bytes to words: bytes 0 and 2 of every dword, then bytes 1 and 3. Activations are taken in the same order.
func (g *gen) storeWords(v vec, to reg.Register, disp int) {
	even := g.vec()
	g.VPSLLW(operand.U8(8), v, even)
	g.VPSRAW(operand.U8(8), even, even)
	g.VPSRAW(operand.U8(8), v, v)
	g.load(even, mem(to, disp))
	g.load(v, mem(to, disp+64))
}

// scaleBytes is the size of the expanded scales of a sub-block of 16 rows.
func scaleBytes(f format) int {
	if f.groups == 2 || f.off != none {
		return 128
	}
	return 64
}
