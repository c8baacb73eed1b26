package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"jns/kernels/scalar"
	"jns/kernels/tile"
)

// Quantising four blocks at a time, a block in two wide registers: what is done once a block (the two divisions, the sums' conversions, the scalars' places) is done for four of them in
// the lanes of one register. Blocks that are zero, Inf or NaN, and what is no multiple of four, are left to the functions of single blocks.

const quads = 4

// quantizeQuads is scalar.Quantize, or scalar.QuantizeFine, of as many groups of four blocks as come before the first that has a special one. The argument block then tells how many are left.
func (v *vm) quantizeQuads(fine bool) {
	name, doc := "Vec_quantize4", "is scalar.Quantize of blocks of A to Dst, four at a time. N becomes the number of blocks that are left: fewer than four, or the next four have one that is zero, Inf or NaN."
	if fine {
		name, doc = "Vec_quantizefine4", "is scalar.QuantizeFine of blocks of A to Dst and C, four at a time. N becomes the number of blocks that are left: fewer than four, or the next four have one that is zero, Inf or NaN, or of which rounding leaves nothing."
	}
	a := v.begin(name, doc)
	dst, x, n := v.field(a, vaDst), v.field(a, vaA), v.field(a, vaN)
	var lo reg.GPVirtual
	if fine {
		lo = v.field(a, vaC)
	}
	v.VPBROADCASTD(v.splat(1<<31-1).Mem, zs[31])
	for i := 1; i < quads; i++ {
		v.VPBROADCASTD(v.splat(uint32(i)).Mem, zs[27+i])
	}
	v.VPBROADCASTD(v.splat(0x01010101).Mem, reg.Y27)
	v.load(reg.X26, v.splatf(1))

	loop, end := v.label("loop"), v.label("end")
	v.Label(loop)
	v.CMPQ(n, operand.U8(quads))
	v.JB(operand.LabelRef(end))
	for i := range 2 * quads {
		v.load(zs[16+i], mem(x, i*64))
	}
	v.quad(dst, end, fine)
	if fine {
		v.quad(lo, end, false)
		v.ADDQ(operand.U8(quads*tile.Q8XBytes), lo)
	}
	v.ADDQ(operand.U8(quads*tile.Q8XBytes), dst)
	v.ADDQ(operand.I32(quads*tile.Q8XElems*4), x)
	v.SUBQ(operand.U8(quads), n)
	v.JMP(operand.LabelRef(loop))

	v.Label(end)
	v.MOVQ(n, mem(a, vaN)) // pointers would be behind the last block, which the collector must not see
	v.end()
}

// quad writes the four blocks in Z16 … Z23 to dst, or goes to special. With rest, the elements become what rounding left of them. Z0 … Z15 are used; Z26 … Z31 are constants.
func (v *vm) quad(dst reg.Register, special string, rest bool) {
	v.Comment("Largest magnitudes of the blocks, as bits, in the lanes of X0.")
	for b := range quads {
		v.VPANDD(zs[31], zs[16+2*b], zs[b])
		v.VPANDD(zs[31], zs[17+2*b], zs[4+b])
		v.VPMAXUD(zs[4+b], zs[b], zs[b])
	}
	for b := range quads {
		v.VEXTRACTI64X4(operand.U8(1), zs[b], ys[4+b])
		v.VPMAXUD(ys[4+b], ys[b], ys[b])
	}
	for b := range quads {
		v.VEXTRACTI128(operand.U8(1), ys[b], xs[4+b])
		v.VPMAXUD(xs[4+b], xs[b], xs[b])
	}
	for b := 0; b < quads; b += 2 {
		v.VPUNPCKLDQ(xs[b+1], xs[b], xs[4+b])
		v.VPUNPCKHDQ(xs[b+1], xs[b], xs[5+b])
		v.VPMAXUD(xs[5+b], xs[4+b], xs[4+b])
	}
	v.VPUNPCKLQDQ(xs[6], xs[4], xs[0])
	v.VPUNPCKHQDQ(xs[6], xs[4], xs[1])
	v.VPMAXUD(xs[1], xs[0], xs[0])
	v.VPSUBD_BCST(v.splat(scalar.Q8XMin).Mem, xs[0], xs[1])
	v.VPCMPUD_BCST(operand.U8(5), v.splat(scalar.Q8XInf-scalar.Q8XMin).Mem, xs[1], reg.K1) // not below
	v.KORTESTW(reg.K1, reg.K1)
	v.JNZ(operand.LabelRef(special))

	v.Comment("d = amax/127, codes by 1/d.")
	v.div(xs[10], xs[0], v.splatf(127))
	v.VDIVPS(xs[10], reg.X26, xs[11])
	lane := func(from, b, to int) {
		if b == 0 {
			v.VBROADCASTSS(xs[from], zs[to])
		} else {
			v.VPERMPS(zs[from], zs[27+b], zs[to])
		}
	}
	for b := range quads {
		v.Comment(fmt.Sprintf("Block %d: codes, and their sums in fours.", b))
		lane(11, b, 0)
		for h := range 2 {
			v.mul(zs[1+h], zs[16+2*b+h], zs[0])
			v.VCVTPS2DQ(zs[1+h], zs[1+h])
		}
		if rest {
			lane(10, b, 3)
			for h := range 2 {
				v.VCVTDQ2PS(zs[1+h], zs[4+h])
				v.fnma(zs[16+2*b+h], zs[4+h], zs[3])
			}
		}
		v.VPMOVDB(zs[1], xs[1])
		v.VPMOVDB(zs[2], xs[2])
		v.VINSERTI128(operand.U8(1), xs[2], ys[1], ys[1])
		v.VMOVDQU(ys[1], mem(dst, b*tile.Q8XBytes+tile.Q8XQ))
		v.VPXOR(ys[12+b], ys[12+b], ys[12+b])
		v.VPDPBUSD(ys[1], reg.Y27, ys[12+b])
	}

	v.Comment("Sums of the first halves in X12, of all in X13, and the scalars.")
	v.VPHADDD(ys[13], ys[12], ys[12])
	v.VPHADDD(ys[15], ys[14], ys[14])
	v.VPHADDD(ys[14], ys[12], ys[12])
	v.VEXTRACTI128(operand.U8(1), ys[12], xs[13])
	v.VPADDD(xs[12], xs[13], xs[13])
	v.VCVTDQ2PS(xs[13], xs[14])
	v.VMULPS(xs[10], xs[14], xs[14])
	v.VPXOR(xs[15], xs[15], xs[15])
	for _, i := range []int{12, 13} {
		v.VPSLLD(operand.U8(7), xs[i], xs[i])
		v.VPSUBD(xs[i], xs[15], xs[i])
	}
	for i, m := range []int{tile.Q8XD, tile.Q8XM, tile.Q8XC, tile.Q8XC0} {
		if m != 32+4*i {
			panic("a block's scalars do not lie in the order d, m, c, c0")
		}
	}
	v.VPUNPCKLDQ(xs[14], xs[10], xs[0])
	v.VPUNPCKHDQ(xs[14], xs[10], xs[1])
	v.VPUNPCKLDQ(xs[12], xs[13], xs[2])
	v.VPUNPCKHDQ(xs[12], xs[13], xs[3])
	for b := range quads {
		if b%2 == 0 {
			v.VPUNPCKLQDQ(xs[2+b/2], xs[b/2], xs[4+b])
		} else {
			v.VPUNPCKHQDQ(xs[2+b/2], xs[b/2], xs[4+b])
		}
		v.VMOVDQU(xs[4+b], mem(dst, b*tile.Q8XBytes+tile.Q8XD))
	}
}
