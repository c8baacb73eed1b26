package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// Offsets in amd64.ProbeArgs.
const (
	prA = 0
	prN = 8
	prR = 16
)

const (
	probeBytes = 1024 // read in one round
	probeDots  = 12   // chains of multiplications: more than latency × ports
)

func init() {
	for _, s := range isas {
		emit(source{name: "probe_" + s.name, args: "ProbeArgs", vex16: s.width == 32, gen: func(c *build.Context) {
			g := newGen(c, s)
			if s.name != avxvnni.name { // it reads as AVX2 does
				g.probeRead()
			}
			g.probeDot()
			if s.name == avx2.name {
				for _, bits := range []int{4, 5, 6, 7, 16} {
					g.probeCodes(bits)
				}
			}
		}})
	}
}

// probeRead reads memory and does the least with it.
func (g *gen) probeRead() {
	a := g.begin("Probe_read_"+g.name, "reads N rounds of 1024 bytes from A on and gives in R the exclusive or of what it read.")
	p, n := g.field(a, prA), g.field(a, prN)
	acc := g.vecs(4)
	for _, r := range acc {
		g.zero(r)
	}
	xor := func(m, v operand.Op) {
		if g.width == 64 {
			g.VPXORD(m, v, v)
		} else {
			g.VPXOR(m, v, v)
		}
	}
	g.Label("round")
	for i := range probeBytes / g.width {
		xor(mem(p, i*g.width), acc[i%len(acc)])
	}
	g.ADDQ(operand.U32(probeBytes), p)
	g.DECQ(n)
	g.JNZ(operand.LabelRef("round"))
	for _, r := range acc[1:] {
		xor(r, acc[0])
	}
	x := acc[0].AsX()
	if g.width == 64 {
		t := g.YMM()
		g.VEXTRACTI64X4(operand.U8(1), acc[0].AsZ(), t)
		g.VPXOR(t, acc[0].AsY(), acc[0].AsY())
	}
	t := g.XMM()
	g.VEXTRACTI128(operand.U8(1), acc[0].AsY(), t)
	g.VPXOR(t, x, x)
	g.VPSHUFD(operand.U8(0x4e), x, t)
	g.VPXOR(t, x, x)
	g.VMOVQ(x, mem(a, prR))
	g.end()
}

// probeDot multiplies registers with registers: nothing but the instructions that a product cannot do without.
func (g *gen) probeDot() {
	a := g.begin("Probe_dot_"+g.name, "does N rounds of 12 vectors of int8 products summed by fours.")
	n := g.field(a, prN)
	x, w := g.vec(), g.vec()
	g.zero(x)
	g.zero(w)
	acc := g.vecs(probeDots)
	var ones, t vec
	if !g.vnni {
		acc = acc[:9] // registers: two operands, the ones, three products on their way
		ones = g.vec()
		g.zero(ones)
		t = g.vec()
	}
	for _, r := range acc {
		g.zero(r)
	}
	g.Label("round")
	for i := range probeDots {
		r := acc[i%len(acc)]
		if g.vnni {
			g.VPDPBUSD(x, w, r)
			continue
		}
		g.VPMADDUBSW(x, w, t)
		g.VPMADDWD(ones, t, t)
		g.VPADDD(t, r, r)
	}
	g.DECQ(n)
	g.JNZ(operand.LabelRef("round"))
	g.end()
}

// probeCodes does what AVX2 kernels do for codes of some bits, four columns at a time as they do: every width has its own way.
func (g *gen) probeCodes(bits int) {
	a := g.begin(fmt.Sprintf("Probe_dot%d_%s", bits, g.name), fmt.Sprintf("does N rounds of 32 vectors of products of codes of %d bits.", bits))
	n := g.field(a, prN)
	x := g.vec()
	g.zero(x)
	d := g.dot(bits, 4)
	for i := range d.acc {
		g.zero(d.acc[i])
	}
	zero := g.vec()
	g.zero(zero)
	g.Label("round")
	steps := 8
	if bits == 16 {
		steps = 16 // vectors of half as many products
	}
	for t := range steps {
		w := g.vec()
		g.move(zero, w)
		codes, abs := d.prepare(w)
		for i := range d.acc {
			d.add(i, codes, abs, x, t, steps)
		}
	}
	g.DECQ(n)
	g.JNZ(operand.LabelRef("round"))
	g.end()
}
