package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"jns/kernels/tile"
)

// amxint8 is AVX-512 with tile registers: products of bytes are summed by AMX, all else is done by vectors.
var amxint8 = isa{"amxint8", 64, true}

// Panels of tile registers: two tile rows with twelve activation rows keep 24 sums in vector registers and leave what a step needs. Sums of products go through
// memory, there being no other way from a tile register to a vector.
const (
	sumArea = 2 << 10 // of a block: up to two tile rows of twelve activation rows
	tileRow = 64      // bytes of a row of a tile
)

// Codes are signed here: those of a bias have had it taken off.
func init() {
	emit(source{name: "gemm_panel_amxint8", args: "GemmArgs", gen: func(c *build.Context) {
		g := newGen(c, amxint8)
		g.signs()
		for _, p := range []panelKind{{kind: "s8s"}, {kind: "s8m", off: true}} {
			for _, p.vecs = range []int{1, 2} {
				for _, p.cols = range []int{12, 8} {
					g.tilePanel(p)
				}
			}
		}
	}})
}

// signs takes the bias off codes that lie 128 above their values.
func (g *gen) signs() {
	a := g.begin("Expand_signs_codes_16x32_"+g.name, "makes signed codes of blocks of codes with a bias of 128, from P1 to Codes, which may be the same.")
	from, to, blocks := g.field(a, argP1), g.field(a, argCodes), g.field(a, argBlocks)
	sign := g.vec()
	g.load(g.dwords(0x80808080), sign)
	g.Label("block")
	for t := range 8 {
		v := g.vec()
		g.xor(mem(from, t*64), sign, v)
		g.load(v, mem(to, t*64))
	}
	g.ADDQ(operand.U32(512), from)
	g.ADDQ(operand.U32(512), to)
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef("block"))
	g.end()
}

// tilePanel computes column panels of one or two tile rows over a range of blocks, as panel does. A step multiplies the block after the next, stores the sums of the next
// and scales and adds those of its own: with distances like that nothing waits for the 52 cycles of a product. The multiplying side runs two blocks ahead across the
// borders of panels; behind the last one it multiplies the last panel again, for nothing. Steps of odd and even blocks take turns, since their tiles and places of sums differ.
func (g *gen) tilePanel(p panelKind) {
	rows := p.vecs * 16
	name := fmt.Sprintf("%s_q8x_%dx%d_%s", p.kind, rows, p.cols, g.name)
	a := g.begin("Panel_"+name, fmt.Sprintf("multiplies expanded weights of %d rows with panels of %d quantised rows of activations in tile registers.", rows, p.cols))
	words := 64
	if p.off {
		words = 128
	}
	var shapes [8]tileShape
	for i := range 4 {
		shapes[i] = tileShape{p.cols, tileRow}
	}
	for k := range 2 {
		shapes[4+k] = tileShape{p.cols, tile.Q8XElems}
		shapes[6+k] = tileShape{tile.Q8XElems / 4, tileRow}
	}
	g.configure(g.tileConfig("tiles_"+name, shapes))

	// What has no register lies on the stack, and not in the argument block: the collector must find no pointer there to what is behind a matrix.
	local := func(from operand.Op) operand.Mem {
		m, r := g.AllocLocal(8), g.GP64()
		g.MOVQ(from, r)
		g.MOVQ(r, m)
		return m
	}
	xNow, yNow, next, panels := local(mem(a, argX)), local(mem(a, argY)), local(mem(a, argP1)), local(mem(a, argPanels))
	// Of the multiplying side: the panel's start, panels and blocks left.
	ahead, panelsLeft, blocksLeft := local(mem(a, argX)), local(mem(a, argPanels)), local(mem(a, argBlocks))
	xs, xa := g.field(a, argXStride), g.field(a, argX)
	t := g.GP64()
	g.IMUL3Q(imm(p.cols), xs, t)
	step := local(t)        // bytes from a panel of activations to the next
	left := g.AllocLocal(8) // blocks left in the panel that is added up
	odd := g.AllocLocal(8)  // whether an odd step is next
	row := g.GP64()
	g.MOVQ(operand.U32(tileRow), row)
	codes := g.registers(p.vecs)
	codesStart := func() {
		g.MOVQ(mem(a, argCodes), codes[0])
		if p.vecs == 2 {
			g.MOVQ(codes[0], codes[1])
			g.ADDQ(mem(a, argCStride), codes[1])
		}
	}
	codesStart()
	sums := g.field(a, argP0)
	sumAt := func(parity, v, c int) int { return parity*sumArea + (v*p.cols+c)*tileRow }
	multiply := func(parity, v int) {
		acc, x, w := tmm(2*parity+v), tmm(4+parity), tmm(6+v)
		if v == 0 {
			g.tileLoad(xa, xs, 0, x)
		}
		g.tileLoad(codes[v], row, 0, w)
		g.tileZero(acc)
		g.tileProduct(x, w, acc)
	}
	store := func(parity, v int) { g.tileStore(tmm(2*parity+v), sums, row, sumAt(parity, v, 0)) }
	advance := func(label string) {
		g.ADDQ(imm(tile.Q8XBytes), xa)
		for _, c := range codes {
			g.ADDQ(operand.U32(tile.Q8XElems*16), c)
		}
		g.DECQ(blocksLeft)
		g.JNZ(operand.LabelRef(label))
		g.Comment("the next panel, if there is one")
		codesStart()
		n := g.GP64()
		g.MOVQ(mem(a, argBlocks), n)
		g.MOVQ(n, blocksLeft)
		g.MOVQ(ahead, xa)
		g.DECQ(panelsLeft)
		g.JLE(operand.LabelRef(label))
		g.ADDQ(step, xa)
		g.MOVQ(xa, ahead)
		g.Label(label)
	}
	for parity, label := range []string{"second", "third"} {
		for v := range p.vecs {
			multiply(parity, v)
		}
		advance(label)
	}
	for v := range p.vecs {
		store(0, v)
	}
	g.MOVQ(operand.U32(0), odd)

	xb := g.field(a, argX)
	x := g.columns(xb, xs, p.cols)

	g.Label("panel")
	g.MOVQ(xNow, x.base)
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
	g.outputs(a, yNow, p, func(m operand.Mem, v, c int) { g.VMOVUPS(m, acc[v][c]) })

	g.Label("start")
	scales := g.registers(p.vecs)
	g.MOVQ(mem(a, argScales), scales[0])
	if p.vecs == 2 {
		g.MOVQ(scales[0], scales[1])
		g.ADDQ(mem(a, argSStride), scales[1])
	}
	n := g.GP64()
	g.MOVQ(mem(a, argBlocks), n)
	g.MOVQ(n, left)
	g.CMPQ(odd, operand.U8(1))
	g.JEQ(operand.LabelRef("odd"))

	for parity, label := range []string{"block", "odd"} {
		g.Label(label)
		g.Comment("the weights of the next chunk, into the second-level cache")
		w := g.GP64()
		g.MOVQ(next, w)
		g.PREFETCHT1(mem(w, 0))
		g.PREFETCHT1(mem(w, 64))
		if p.vecs == 2 {
			other := g.field(a, argStride)
			g.PREFETCHT1(operand.Mem{Base: w, Index: other, Scale: 1})
			g.PREFETCHT1(operand.Mem{Base: w, Index: other, Scale: 1, Disp: 64})
		}
		g.ADDQ(mem(a, argAhead), w)
		g.MOVQ(w, next)
		for v := range p.vecs {
			multiply(parity, v)
			store(1-parity, v)
		}
		advance(label + "_added")
		s := g.vecs(p.vecs)
		for v := range s {
			g.VMOVUPS(mem(scales[v], 0), s[v])
		}
		for c := range p.cols {
			d := g.vec()
			g.VBROADCASTSS(x.at(c, tile.Q8XD), d)
			for v := range p.vecs {
				sum, f := g.vec(), g.vec()
				g.VCVTDQ2PS(mem(sums, sumAt(parity, v, c)), sum)
				g.VMULPS(s[v], d, f)
				g.VFMADD231PS(f, sum, acc[v][c])
			}
		}
		if p.off {
			for v := range s {
				g.VMOVUPS(mem(scales[v], 64), s[v])
			}
			for c := range p.cols {
				m := g.vec()
				g.VBROADCASTSS(x.at(c, tile.Q8XM), m)
				for v := range p.vecs {
					g.VFMADD231PS(s[v], m, acc[v][c])
				}
			}
		}
		for _, s := range scales {
			g.ADDQ(imm(words), s)
		}
		g.advance(x, tile.Q8XBytes)
		g.DECQ(left)
		if parity == 0 {
			g.JEQ(operand.LabelRef("end"))
		}
	}
	g.JNZ(operand.LabelRef("block"))
	g.MOVQ(operand.U32(0), odd)
	g.JMP(operand.LabelRef("store"))
	g.Label("end")
	g.MOVQ(operand.U32(1), odd)

	g.Label("store")
	g.outputs(a, yNow, p, func(m operand.Mem, v, c int) { g.VMOVUPS(acc[v][c], m) })
	g.Commentf("the next %d columns", p.cols)
	y := g.field(a, argYStride)
	g.IMUL3Q(imm(p.cols), y, y)
	g.ADDQ(y, yNow)
	y = g.GP64()
	g.MOVQ(step, y)
	g.ADDQ(y, xNow)
	g.DECQ(panels)
	g.JNZ(operand.LabelRef("panel"))
	g.tileRelease()
	g.end()
}

// registers gives n registers for addresses.
func (g *gen) registers(n int) []reg.GPVirtual {
	r := make([]reg.GPVirtual, n)
	for i := range r {
		r[i] = g.GP64()
	}
	return r
}

// outputs calls f with the place of every vector of outputs of a panel, rows of activations in turn: between blocks there is no register to keep their addresses in.
func (g *gen) outputs(a reg.GPVirtual, yNow operand.Mem, p panelKind, f func(m operand.Mem, v, c int)) {
	y, stride := g.GP64(), g.field(a, argYStride)
	g.MOVQ(yNow, y)
	for c := range p.cols {
		for v := range p.vecs {
			f(mem(y, v*64), v, c)
		}
		g.ADDQ(stride, y)
	}
}
