package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"jns/kernels/scalar"
	"jns/kernels/tile"
)

// Quantising takes a block in four registers, its scalars in lane 0 and in general registers. The AVX-512 set uses these functions too: one of
// two wide registers a block was a third slower, since narrowing and reducing keep few ports busy.

// quantize is scalar.Quantize.
func (v *vm) quantize() {
	a := v.begin("Vec_quantize", "is scalar.Quantize: N blocks (at least 1) of A to Dst.")
	dst, x, n := v.field(a, vaDst), v.field(a, vaA), v.field(a, vaN)
	loop, special, next := v.label("loop"), v.label("special"), v.label("next")
	q := v.newQuantizer()

	v.Label(loop)
	q.load(x)
	q.block(dst, special, false)
	v.Label(next)
	v.ADDQ(operand.U8(tile.Q8XBytes), dst)
	v.SUBQ(operand.I8(-tile.Q8XElems*4), x)
	v.DECQ(n)
	v.JNZ(operand.LabelRef(loop))
	v.end()

	v.Label(special)
	v.Comment("A zero block, or one with Inf or NaN.")
	q.zero(dst)
	v.CMPL(q.amax, operand.U32(scalar.Q8XMin))
	v.JB(operand.LabelRef(next))
	q.nan(dst)
	v.JMP(operand.LabelRef(next))
}

// quantizeFine is scalar.QuantizeFine: the residual is formed in the registers of the block, which is then quantised again.
func (v *vm) quantizeFine() {
	a := v.begin("Vec_quantizefine", "is scalar.QuantizeFine: N blocks (at least 1) of A to Dst, what rounding left of them to C.")
	hi, lo, x, n := v.field(a, vaDst), v.field(a, vaC), v.field(a, vaA), v.field(a, vaN)
	loop, special, exact, next := v.label("loop"), v.label("special"), v.label("exact"), v.label("next")
	q := v.newQuantizer()

	v.Label(loop)
	q.load(x)
	q.block(hi, special, true)
	q.block(lo, exact, false)
	v.Label(next)
	v.ADDQ(operand.U8(tile.Q8XBytes), hi)
	v.ADDQ(operand.U8(tile.Q8XBytes), lo)
	v.SUBQ(operand.I8(-tile.Q8XElems*4), x)
	v.DECQ(n)
	v.JNZ(operand.LabelRef(loop))
	v.end()

	v.Label(exact)
	v.Comment("Nothing is left of a block; what is left is never Inf nor NaN.")
	q.zero(lo)
	v.JMP(operand.LabelRef(next))

	v.Label(special)
	v.Comment("A zero block, or one with Inf or NaN.")
	q.zero(hi)
	q.zero(lo)
	v.CMPL(q.amax, operand.U32(scalar.Q8XMin))
	v.JB(operand.LabelRef(next))
	q.nan(hi)
	q.nan(lo)
	v.JMP(operand.LabelRef(next))
}

// quantizer has what quantising a block needs: the elements in Y0 … Y3, constants in Y10 … Y13; Y4 … Y9, Y14 and Y15 are free.
type quantizer struct {
	*vm
	amax, span, t reg.GPVirtual
}

func (v *vm) newQuantizer() *quantizer {
	q := &quantizer{v, v.GP32(), v.GP32(), v.GP32()}
	v.VMOVSS(v.splatf(1).Mem, xs[10])
	v.VMOVSS(v.splatf(127).Mem, xs[11])
	v.VMOVDQU(v.byteSplat(), ys[12])
	v.VPXOR(ys[13], ys[13], ys[13])
	v.MOVL(operand.U32(scalar.Q8XInf-scalar.Q8XMin), q.span)
	return q
}

func (q *quantizer) load(x reg.Register) {
	for i := range 4 {
		q.vm.load(ys[i], mem(x, i*32))
	}
}

// block writes a block to dst, or goes to special with the largest magnitude in amax. With rest, the elements become what rounding left of them.
func (q *quantizer) block(dst reg.Register, special string, rest bool) {
	const regs = 4
	v := q.vm
	v.Comment("Largest magnitude of the block, as bits.")
	for i := range regs {
		v.and(ys[4+i], ys[i], v.splat(1<<31-1))
	}
	v.VPMAXUD(ys[6], ys[4], ys[4])
	v.VPMAXUD(ys[7], ys[5], ys[5])
	v.maxu16(4, 6)
	v.VMOVD(xs[4], q.amax)
	v.LEAL(operand.Mem{Base: q.amax.As64(), Disp: -scalar.Q8XMin}, q.t)
	v.CMPL(q.t, q.span)
	v.JAE(operand.LabelRef(special))

	v.Comment("d = amax/127, codes by 1/d.")
	v.VDIVSS(xs[11], xs[4], xs[8])
	v.VDIVSS(xs[8], xs[10], xs[9])
	v.VBROADCASTSS(xs[9], ys[9])
	for i := range regs {
		v.mul(ys[4+i], ys[i], ys[9])
		v.VCVTPS2DQ(ys[4+i], ys[4+i])
	}
	if rest {
		v.VBROADCASTSS(xs[8], ys[14])
		for i := range regs {
			v.VCVTDQ2PS(ys[4+i], ys[15])
			v.fnma(ys[i], ys[15], ys[14])
		}
	}
	v.VPACKSSDW(ys[5], ys[4], ys[4])
	v.VPACKSSDW(ys[7], ys[6], ys[6])
	v.VPACKSSWB(ys[6], ys[4], ys[4])
	v.VMOVDQU(v.table("unpack", 8, func(i int) uint32 { return uint32(i&1*4 + i/2) }), ys[5])
	v.VPERMD(ys[4], ys[5], ys[4])
	v.VMOVDQU(ys[4], mem(dst, tile.Q8XQ))

	v.Comment("Sums of code + 128 over groups of eight.")
	v.VPXOR(ys[12], ys[4], ys[4])
	v.VPSADBW(ys[13], ys[4], ys[4])
	v.VEXTRACTI128(operand.U8(1), ys[4], xs[5])
	v.VPUNPCKLQDQ(xs[5], xs[4], xs[6])
	v.VPUNPCKHQDQ(xs[5], xs[4], xs[7])
	v.VPADDQ(xs[7], xs[6], xs[6])
	first, sum := v.GP64(), v.GP64()
	v.VMOVQ(xs[6], first)
	v.VPEXTRQ(operand.U8(1), xs[6], sum)
	v.ADDQ(first, sum)
	v.SUBL(operand.U32(16*128), first.As32())
	v.SUBL(operand.U32(32*128), sum.As32())
	v.VXORPS(xs[7], xs[7], xs[7])
	v.VCVTSI2SSL(sum.As32(), xs[7], xs[7])
	v.VMULSS(xs[8], xs[7], xs[7])
	v.VMOVSS(xs[8], mem(dst, tile.Q8XD))
	v.VMOVSS(xs[7], mem(dst, tile.Q8XM))
	v.NEGL(sum.As32())
	v.NEGL(first.As32())
	v.SHLL(operand.U8(7), sum.As32())
	v.SHLL(operand.U8(7), first.As32())
	v.MOVL(sum.As32(), mem(dst, tile.Q8XC))
	v.MOVL(first.As32(), mem(dst, tile.Q8XC0))
}

func (q *quantizer) zero(dst reg.Register) {
	q.VMOVDQU(ys[13], mem(dst, 0))
	q.VMOVDQU(xs[13], mem(dst, 32))
}

// nan makes a zeroed block one that is not a number.
func (q *quantizer) nan(dst reg.Register) {
	q.MOVL(operand.U32(0x7fc00000), q.t)
	q.MOVL(q.t, mem(dst, tile.Q8XD))
	q.MOVL(q.t, mem(dst, tile.Q8XM))
}

// byteSplat is 32 bytes of 0x80.
func (v *vm) byteSplat() operand.Mem {
	return v.table("bytes80", 8, func(int) uint32 { return 0x80808080 })
}
