package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
)

// The pages of vec_kv8.go with arithmetic on halves (AVX512-FP16): a code is a half, and a product of two halves rounded to one is what the product in float32, which is exact, rounds
// to; the instructions do not look at the control bits that flush subnormal numbers. A third of the operations. Neither the builder nor Go's assembler knows them.

func init() {
	emit(source{name: "kv8half_avx512vnni", args: "VecArgs", gen: func(c *build.Context) {
		v := newVM(c, true)
		v.halfKeys()
		v.halfValues()
	}})
}

// raw writes an instruction as bytes.
func (v *vm) raw(b ...byte) {
	for _, x := range b {
		v.Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []operand.Op{operand.U8(x)}})
	}
}

// wordsToHalves is VCVTW2PH of the first eight registers of 512 bits (Intel SDM: EVEX.512.F3.MAP5.W0 7D /r).
func (v *vm) wordsToHalves(d, s int) {
	v.Comment("VCVTW2PH")
	v.raw(0x62, 0xf5, 0x7e, 0x48, 0x7d, byte(0xc0|d<<3|s))
}

// mulHalves is VMULPH: d = a·b, rounded to halves (EVEX.512.NP.MAP5.W0 59 /r).
func (v *vm) mulHalves(d, a, b int) {
	v.Comment("VMULPH")
	v.raw(0x62, 0xf5, byte(0x04|(^a&15)<<3), 0x48, 0x59, byte(0xc0|d<<3|b))
}

func (v *vm) halfKeys() {
	a := v.begin("Kv8half_keys", "is Kv8_keys.")
	dst, codes, scales, n := v.field(a, vaDst), v.field(a, vaA), v.field(a, vaB), v.field(a, vaN)
	rows := v.GP64()
	block, row := v.label("block"), v.label("row")
	v.Label(block)
	v.VMOVDQU16(mem(scales, 0), zs[6])
	v.VMOVDQU16(mem(scales, 64), zs[7])
	v.ADDQ(operand.U32(2*kvChunk), scales)
	v.MOVQ(operand.U32(kvBlock), rows)
	v.CMPQ(n, rows)
	v.CMOVQLT(n, rows)
	v.SUBQ(rows, n)
	v.Label(row)
	for i := range 2 {
		v.VPMOVSXBW(mem(codes, 32*i), zs[i])
		v.wordsToHalves(i, i)
		v.mulHalves(i, i, 6+i)
		v.VMOVDQU16(zs[i], mem(dst, 64*i))
	}
	v.ADDQ(operand.U32(kvChunk), codes)
	v.ADDQ(operand.U32(2*kvChunk), dst)
	v.DECQ(rows)
	v.JNZ(operand.LabelRef(row))
	v.TESTQ(n, n)
	v.JNZ(operand.LabelRef(block))
	v.end()
}

func (v *vm) halfValues() {
	a := v.begin("Kv8half_values", "is Kv8_values.")
	dst, codes, scales, n := v.field(a, vaDst), v.field(a, vaA), v.field(a, vaB), v.field(a, vaN)
	block := v.label("block")
	v.Label(block)
	v.VPBROADCASTW(mem(scales, 0), zs[1])
	v.VPMOVSXBW(mem(codes, 0), zs[0])
	v.wordsToHalves(0, 0)
	v.mulHalves(0, 0, 1)
	v.VMOVDQU16(zs[0], mem(dst, 0))
	v.ADDQ(operand.U8(2), scales)
	v.ADDQ(operand.U8(kvBlock), codes)
	v.ADDQ(operand.U8(2*kvBlock), dst)
	v.DECQ(n)
	v.JNZ(operand.LabelRef(block))
	v.end()
}
