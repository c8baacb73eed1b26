package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// Keys and values in eight bits to pages of halves: kernels/scalar/kv8.go says what lies where.

const (
	kvChunk = 64
	kvBlock = 32
)

func init() {
	for _, s := range []isa{avx512vnni, avx2} {
		emit(source{name: "kv8_" + s.name, args: "VecArgs", vex16: s.width == 32, gen: func(c *build.Context) {
			g := newGen(c, s)
			g.kvKeys()
			g.kvValues()
		}})
	}
}

// kvNumbers makes halves of a vector of codes times scales.
func (g *gen) kvNumbers(codes operand.Mem, scale vec, dst operand.Mem) {
	t, h := g.vec(), g.YMM()
	g.VPMOVSXBD(codes, t)
	g.VCVTDQ2PS(t, t)
	g.VMULPS(scale, t, t)
	// Into a register, then stored: into memory it takes a Zen 5 a third longer.
	if g.width == 64 {
		g.VCVTPS2PH(operand.U8(0), t, h)
		g.VMOVDQU(h, dst)
		return
	}
	g.VCVTPS2PH(operand.U8(0), t, h.AsX())
	g.VMOVDQU(h.AsX(), dst)
}

func (g *gen) kvKeys() {
	a := g.begin("Kv8_keys_"+g.name, "makes Dst = [N][64] halves of A = [N][64] codes and B = [⌈N/32⌉][64] scales.")
	dst, codes, scales, n := g.field(a, vaDst), g.field(a, vaA), g.field(a, vaB), g.field(a, vaN)
	lanes := g.width / 4
	s := g.vecs(kvChunk / lanes)
	rows := g.GP64()

	g.Label("block")
	for i, r := range s {
		g.VCVTPH2PS(mem(scales, 2*lanes*i), r)
	}
	g.ADDQ(operand.U32(2*kvChunk), scales)
	g.MOVQ(operand.U32(kvBlock), rows)
	g.CMPQ(n, rows)
	g.CMOVQLT(n, rows)
	g.SUBQ(rows, n)

	g.Label("row")
	for i, r := range s {
		g.kvNumbers(mem(codes, lanes*i), r, mem(dst, 2*lanes*i))
	}
	g.ADDQ(operand.U32(kvChunk), codes)
	g.ADDQ(operand.U32(2*kvChunk), dst)
	g.DECQ(rows)
	g.JNZ(operand.LabelRef("row"))
	g.TESTQ(n, n)
	g.JNZ(operand.LabelRef("block"))
	g.end()
}

// kvValues converts the scales of some blocks at a time, and spreads each from memory, which takes a load only.
func (g *gen) kvValues() {
	a := g.begin("Kv8_values_"+g.name, "makes Dst = N blocks of 32 halves of A = N blocks of 32 codes and B = N scales, N a multiple of 16.")
	dst, codes, scales, n := g.field(a, vaDst), g.field(a, vaA), g.field(a, vaB), g.field(a, vaN)
	lanes := g.width / 4
	spread := g.AllocLocal(g.width)

	g.Label("blocks")
	s := g.vec()
	g.VCVTPH2PS(mem(scales, 0), s)
	g.VMOVUPS(s, spread)
	for block := range lanes {
		g.VBROADCASTSS(spread.Offset(4*block), s)
		for i := range kvBlock / lanes {
			g.kvNumbers(mem(codes, kvBlock*block+lanes*i), s, mem(dst, 2*(kvBlock*block+lanes*i)))
		}
	}
	g.ADDQ(operand.U32(2*lanes), scales)
	g.ADDQ(operand.U32(kvBlock*lanes), codes)
	g.ADDQ(operand.U32(2*kvBlock*lanes), dst)
	g.SUBQ(operand.U32(lanes), n)
	g.JNZ(operand.LabelRef("blocks"))
	g.end()
}
