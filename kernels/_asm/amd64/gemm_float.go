package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"jns/kernels/tile"
)

// floatFormat is a layout of float weights: bytes of a column of 16 rows, and how a vector of it becomes float32.
type floatFormat struct {
	layout string
	col    int
	load   func(g *gen, m operand.Mem, dst vec)
}

var floatFormats = []floatFormat{
	{"f32x16", tile.F32x16Col, func(g *gen, m operand.Mem, dst vec) { g.VMOVUPS(m, dst) }},
	{"f16x16", tile.F16x16Col, func(g *gen, m operand.Mem, dst vec) { g.VCVTPH2PS(m, dst) }},
	{"bf16x16", tile.BF16x16Col, func(g *gen, m operand.Mem, dst vec) {
		g.VPMOVZXWD(m, dst)
		g.VPSLLD(operand.U8(16), dst, dst)
	}},
}

// floatBlocks lists the kernels of a set by tile rows: the numbers of activation rows. The multiply-adds of one output are a chain,
// so several tile rows go side by side where there are few activation rows.
func floatBlocks(s isa) [][2]int {
	if s.width == 64 {
		return [][2]int{{4, 1}, {2, 1}, {2, 2}, {2, 4}, {2, 6}, {2, 12}, {1, 1}, {1, 2}, {1, 4}, {1, 6}}
	}
	return [][2]int{{2, 1}, {1, 1}, {1, 2}, {1, 4}, {1, 6}}
}

var _ = func() int {
	for _, s := range isas {
		if s == avxvnni {
			continue // VNNI has nothing for floats: the AVX2 kernels serve
		}
		for _, f := range floatFormats {
			emit(source{"gemm_" + f.layout + "_" + s.name, "GemmArgs", s.width == 32, func(c *build.Context) {
				g := newGen(c, s)
				for _, b := range floatBlocks(s) {
					g.float(f, b[0], b[1])
				}
			}})
		}
	}
	return 0
}()

// float computes n columns of groups of r tile rows: one chain of multiply-adds over all of K for every output.
func (g *gen) float(f floatFormat, r, n int) {
	a := g.begin(fmt.Sprintf("Gemv_%s_f32_%dx%d_%s", f.layout, 16*r, n, g.name),
		fmt.Sprintf("multiplies %s weights of %d tile rows at a time with %d rows of float activations.", f.layout, r, n))
	hs := g.halves()
	y := g.field(a, argY)
	tiles, stride := g.field(a, argTiles), g.field(a, argStride)

	g.Label("tile")
	w := g.columns(g.field(a, argP1), stride, r)
	near, far := w, w // of every tile row
	near.base, far.base = g.field(a, argNear), g.field(a, argFar)
	x := g.columns(g.field(a, argX), g.field(a, argXStride), n)
	acc := make([]vec, r*hs*n)
	for i := range acc {
		acc[i] = g.vec()
		g.zero(acc[i])
	}
	step := func(i int) {
		wv := g.vecs(r * hs)
		for t := range r {
			for h := range hs {
				f.load(g, w.at(t, i*f.col+h*f.col/hs), wv[t*hs+h])
			}
		}
		for c := range n {
			xv := g.vec()
			g.VBROADCASTSS(x.at(c, i*4), xv)
			for v := range wv {
				g.VFMADD231PS(xv, wv[v], acc[v*n+c])
			}
		}
	}
	const unroll = 4
	loop := func(label string, count reg.GPVirtual, k int, twice bool) {
		g.TESTQ(count, count)
		g.JZ(operand.LabelRef(label + "_end"))
		g.Label(label)
		for i := range k {
			if i*f.col%64 == 0 {
				for t := range r {
					if twice {
						g.PREFETCHT1(far.at(t, i*f.col))
					}
					g.PREFETCHT0(near.at(t, i*f.col))
				}
			}
			step(i)
		}
		for _, c := range []columns{w, near, far} {
			g.ADDQ(imm(k*f.col), c.base)
		}
		g.advance(x, k*4)
		g.DECQ(count)
		g.JNZ(operand.LabelRef(label))
		g.Label(label + "_end")
	}
	count := g.field(a, argBlocks)
	g.SHRQ(operand.U8(2), count)
	var rest reg.GPVirtual
	if r > 1 {
		rest = g.GP64()
		g.MOVQ(count, rest)
		g.MOVQ(mem(a, argTurn), count)
		g.SUBQ(count, rest)
	}
	g.Label("pass")
	g.CMPQ(near.base, far.base)
	g.JE(operand.LabelRef("once"))
	loop("four", count, unroll, true)
	g.JMP(operand.LabelRef("turn"))
	g.Label("once")
	g.Comment("the second-level cache is asked for nothing of its own")
	loop("near", count, unroll, false)
	g.Label("turn")
	if r > 1 {
		g.Comment("what is ahead of the rest of the columns lies in the tile rows after these")
		for range r - 1 {
			g.ADDQ(stride, near.base)
			g.ADDQ(stride, far.base)
		}
		g.MOVQ(rest, count)
		g.XORQ(rest, rest)
		g.TESTQ(count, count)
		g.JNZ(operand.LabelRef("pass"))
	}
	count = g.field(a, argBlocks)
	g.ANDQ(operand.U8(unroll-1), count)
	loop("one", count, 1, true)

	out := g.columns(y, g.field(a, argYStride), n)
	for t := range r {
		for h := range hs {
			for c := range n {
				g.VMOVUPS(acc[(t*hs+h)*n+c], out.at(c, t*64+h*32))
			}
		}
	}
	g.ADDQ(imm(64*r), y)
	for range r {
		g.nextTile(a)
	}
	g.SUBQ(imm(r), tiles)
	g.JNZ(operand.LabelRef("tile"))
	g.end()
}
