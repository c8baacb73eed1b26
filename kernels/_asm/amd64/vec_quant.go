package main

import (
	"github.com/mmcloughlin/avo/operand"

	"jns/kernels/scalar"
	"jns/kernels/tile"
)

// quantize is scalar.Quantize: a block is 4 registers, its scalars are computed in lane 0 and in general registers. The AVX-512 set uses
// this function too: one of two wide registers a block was a third slower, since narrowing and reducing keep few ports busy.
func (v *vm) quantize() {
	a := v.begin("Vec_quantize", "is scalar.Quantize: N blocks (at least 1) of A to Dst.")
	dst, x, n := v.field(a, vaDst), v.field(a, vaA), v.field(a, vaN)
	span := v.GP32()
	const regs = 4
	v.VMOVSS(v.splatf(1), xs[10])
	v.VMOVSS(v.splatf(127), xs[11])
	v.VMOVDQU(v.byteSplat(), ys[12])
	v.VPXOR(ys[13], ys[13], ys[13])
	v.MOVL(operand.U32(scalar.Q8XInf-scalar.Q8XMin), span)
	loop, special, next := v.label("loop"), v.label("special"), v.label("next")

	v.Label(loop)
	v.Comment("Largest magnitude of the block, as bits.")
	for i := range regs {
		v.load(v.r(i), mem(x, i*v.partBytes()))
	}
	for i := range regs {
		v.and(ys[4+i], ys[i], v.splat(1<<31-1))
	}
	v.VPMAXUD(ys[6], ys[4], ys[4])
	v.VPMAXUD(ys[7], ys[5], ys[5])
	v.maxu16(4, 6)
	amax, t := v.GP32(), v.GP32()
	v.VMOVD(xs[4], amax)
	v.LEAL(operand.Mem{Base: amax.As64(), Disp: -scalar.Q8XMin}, t)
	v.CMPL(t, span)
	v.JAE(operand.LabelRef(special))

	v.Comment("d = amax/127, codes by 1/d.")
	v.VDIVSS(xs[11], xs[4], xs[8])
	v.VDIVSS(xs[8], xs[10], xs[9])
	v.VBROADCASTSS(xs[9], v.r(9))
	for i := range regs {
		v.mul(v.r(i), v.r(i), v.r(9))
		v.VCVTPS2DQ(v.r(i), v.r(i))
	}
	v.VPACKSSDW(ys[1], ys[0], ys[0])
	v.VPACKSSDW(ys[3], ys[2], ys[2])
	v.VPACKSSWB(ys[2], ys[0], ys[0])
	v.VMOVDQU(v.table("unpack", 8, func(i int) uint32 { return uint32(i&1*4 + i/2) }), ys[1])
	v.VPERMD(ys[0], ys[1], ys[0])
	v.VMOVDQU(ys[0], mem(dst, tile.Q8XQ))

	v.Comment("Sums of code + 128 over groups of eight.")
	v.VPXOR(ys[12], ys[0], ys[0])
	v.VPSADBW(ys[13], ys[0], ys[0])
	v.VEXTRACTI128(operand.U8(1), ys[0], xs[1])
	v.VPUNPCKLQDQ(xs[1], xs[0], xs[2])
	v.VPUNPCKHQDQ(xs[1], xs[0], xs[3])
	v.VPADDQ(xs[3], xs[2], xs[2])
	first, sum := v.GP64(), v.GP64()
	v.VMOVQ(xs[2], first)
	v.VPEXTRQ(operand.U8(1), xs[2], sum)
	v.ADDQ(first, sum)
	v.SUBL(operand.U32(16*128), first.As32())
	v.SUBL(operand.U32(32*128), sum.As32())
	v.VXORPS(xs[3], xs[3], xs[3])
	v.VCVTSI2SSL(sum.As32(), xs[3], xs[3])
	v.VMULSS(xs[8], xs[3], xs[3])
	v.VMOVSS(xs[8], mem(dst, tile.Q8XD))
	v.VMOVSS(xs[3], mem(dst, tile.Q8XM))
	v.NEGL(sum.As32())
	v.NEGL(first.As32())
	v.SHLL(operand.U8(7), sum.As32())
	v.SHLL(operand.U8(7), first.As32())
	v.MOVL(sum.As32(), mem(dst, tile.Q8XC))
	v.MOVL(first.As32(), mem(dst, tile.Q8XC0))

	v.Label(next)
	v.ADDQ(operand.U8(tile.Q8XBytes), dst)
	v.SUBQ(operand.I8(-tile.Q8XElems*4), x)
	v.DECQ(n)
	v.JNZ(operand.LabelRef(loop))
	v.end()

	v.Label(special)
	v.Comment("A zero block, or one with Inf or NaN.")
	v.VMOVDQU(ys[13], mem(dst, 0))
	v.VMOVDQU(xs[13], mem(dst, 32))
	v.CMPL(amax, operand.U32(scalar.Q8XMin))
	v.JB(operand.LabelRef(next))
	v.MOVL(operand.U32(0x7fc00000), t)
	v.MOVL(t, mem(dst, tile.Q8XD))
	v.MOVL(t, mem(dst, tile.Q8XM))
	v.JMP(operand.LabelRef(next))
}

// byteSplat is 32 bytes of 0x80.
func (v *vm) byteSplat() operand.Mem {
	return v.table("bytes80", 8, func(int) uint32 { return 0x80808080 })
}
