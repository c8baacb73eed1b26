package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set as the generators see it.
type isa struct {
	name  string
	width int  // bytes in a vector
	vnni  bool // has VPDPBUSD
}

var (
	avx512vnni = isa{"avx512vnni", 64, true}
	avxvnni    = isa{"avxvnni", 32, true}
	avx2       = isa{"avx2", 32, false}
	isas       = []isa{avx512vnni, avxvnni, avx2}
)

// halves is the number of vectors that one item of 16 rows takes.
func (s isa) halves() int { return 64 / s.width }

type vec = reg.VecVirtual

// gen wraps the builder with the steps that kernels are written in; where instruction sets differ in spelling it chooses.
type gen struct {
	*build.Context
	isa
	consts map[uint32]operand.Mem
	held   map[uint32]vec // constants that the function keeps in registers
	shuf   map[string]operand.Mem
}

func newGen(c *build.Context, s isa) *gen {
	return &gen{Context: c, isa: s, consts: map[uint32]operand.Mem{}, shuf: map[string]operand.Mem{}}
}

// vec gives a new vector register of the set's width.
func (g *gen) vec() vec {
	if g.width == 64 {
		return g.ZMM()
	}
	return g.YMM()
}

// half gives a new register of half the width, for loads that widen.
func (g *gen) low(v vec) reg.Register {
	if g.width == 64 {
		return v.AsY()
	}
	return v.AsX()
}

func (g *gen) vecs(n int) []vec {
	v := make([]vec, n)
	for i := range v {
		v[i] = g.vec()
	}
	return v
}

func mem(base reg.Register, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }

func imm(n int) operand.Op {
	if n < 128 {
		return operand.U8(n)
	}
	return operand.U32(n)
}

// zero clears v. Written raw, because the allocator takes v ⊕ v as a use of v.
func (g *gen) zero(v vec) {
	op := "VPXOR"
	if g.width == 64 {
		op = "VPXORD"
	}
	g.Instruction(&ir.Instruction{Opcode: op, Operands: []operand.Op{v, v, v}, Outputs: []operand.Op{v}})
}

func (g *gen) move(src, dst vec) {
	if g.width == 64 {
		g.VMOVDQA32(src, dst)
	} else {
		g.VMOVDQA(src, dst)
	}
}

// load reads a whole vector of integers, or stores one.
func (g *gen) load(m, v operand.Op) {
	if g.width == 64 {
		g.VMOVDQU32(m, v)
	} else {
		g.VMOVDQU(m, v)
	}
}

// and, or, xor work on dwords; a may be memory.
func (g *gen) and(a operand.Op, b, dst vec) {
	if g.width == 64 {
		g.VPANDD(a, b, dst)
	} else {
		g.VPAND(a, b, dst)
	}
}

func (g *gen) or(a operand.Op, b, dst vec) {
	if g.width == 64 {
		g.VPORD(a, b, dst)
	} else {
		g.VPOR(a, b, dst)
	}
}

func (g *gen) xor(a operand.Op, b, dst vec) {
	if g.width == 64 {
		g.VPXORD(a, b, dst)
	} else {
		g.VPXOR(a, b, dst)
	}
}

// shift moves dwords left by n bits, right for negative n.
func (g *gen) shift(n int, src operand.Op, dst vec) {
	if m, ok := src.(operand.Mem); ok && g.width == 32 {
		g.load(m, dst)
		src = dst
	}
	switch {
	case n > 0:
		g.VPSLLD(imm(n), src, dst)
	case n < 0:
		g.VPSRLD(imm(-n), src, dst)
	case src != operand.Op(dst):
		g.load(src, dst)
	}
}

// andOr is dst |= a & mask.
func (g *gen) andOr(a vec, mask uint32, dst vec) {
	if g.width == 64 {
		g.VPTERNLOGD(operand.U8(0xf8), g.constant(mask), a, dst)
		return
	}
	g.VPAND(g.dwords(mask), a, a)
	g.VPOR(a, dst, dst)
}

// hold loads constants into registers, where there are enough, for the rest of the function: inner loops are bound by loads too.
func (g *gen) hold(values ...uint32) {
	if g.width != 64 {
		return
	}
	for _, v := range values {
		if _, ok := g.held[v]; !ok {
			r := g.vec()
			g.load(g.dwords(v), r)
			g.held[v] = r
		}
	}
}

// constant is a vector of equal dwords, in a register if the function holds it.
func (g *gen) constant(v uint32) operand.Op {
	if r, ok := g.held[v]; ok {
		return r
	}
	return g.dwords(v)
}

// dwords is a constant vector of equal dwords in memory.
func (g *gen) dwords(v uint32) operand.Mem {
	if m, ok := g.consts[v]; ok {
		return m
	}
	m := g.StaticGlobal(fmt.Sprintf("dwords_%s_%08x", g.name, v))
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 16 {
		g.AddDatum(i*4, operand.U32(v))
	}
	g.consts[v] = m
	return m
}

// shuffle is the control of a byte shuffle that takes byte from[i] of every dword to its byte i, -1 gives zero.
func (g *gen) shuffle(from [4]int) operand.Mem {
	name := "shuffle_" + g.name
	for _, f := range from {
		if f < 0 {
			name += "_z"
		} else {
			name += fmt.Sprintf("_%d", f)
		}
	}
	if m, ok := g.shuf[name]; ok {
		return m
	}
	m := g.StaticGlobal(name)
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 64 {
		v := 0x80
		if f := from[i&3]; f >= 0 {
			v = i&12 | f
		}
		g.AddDatum(i, operand.U8(v))
	}
	g.shuf[name] = m
	return m
}

// byteToFloat converts byte j of every dword of src to float.
func (g *gen) byteToFloat(src vec, j int, signed bool, dst vec) {
	switch {
	case j == 3 && signed:
		g.VPSRAD(operand.U8(24), src, dst)
	case j == 3:
		g.VPSRLD(operand.U8(24), src, dst)
	case signed:
		g.VPSHUFB(g.shuffle([4]int{-1, -1, -1, j}), src, dst)
		g.VPSRAD(operand.U8(24), dst, dst)
	case j == 0:
		g.and(g.dwords(0xff), src, dst)
	default:
		g.VPSHUFB(g.shuffle([4]int{j, -1, -1, -1}), src, dst)
	}
	g.VCVTDQ2PS(dst, dst)
}

// begin starts a function of one pointer and gives the register that holds it.
func (g *gen) begin(name, doc string) reg.GPVirtual {
	g.Function(name)
	g.held = map[uint32]vec{}
	g.Attributes(attr.NOSPLIT)
	g.Doc(doc)
	g.SignatureExpr("func(a *byte)")
	return g.Load(g.Param("a"), g.GP64()).(reg.GPVirtual)
}

func (g *gen) end() {
	g.VZEROUPPER()
	g.RET()
}

// field loads a field of the argument block into a new register.
func (g *gen) field(a reg.Register, off int) reg.GPVirtual {
	r := g.GP64()
	g.MOVQ(mem(a, off), r)
	return r
}
