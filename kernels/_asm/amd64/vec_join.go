package main

import (
	"math"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"jns/kernels/arg"
)

var (
	_ = emit(source{name: "join_avx512vnni", args: "JoinStep", gen: func(c *build.Context) { newVM(c, true).join() }})
	_ = emit(source{name: "join_avx2", args: "JoinStep", gen: func(c *build.Context) { newVM(c, false).join() }})
)

// Offsets in amd64.JoinStep.
const (
	jsPM = 8 * iota
	jsPSees
	jsPO
	jsPStride
	jsPages
	jsO
	jsOStride
	jsM
	jsL
	jsRows
	jsDV
	jsAlpha
	jsBeta = jsAlpha + 4*arg.AttendMax
)

// join merges parts. M and L stay in registers, one lane a query; their chain from page to page is short beside the rows of O, which follow it page by page.
func (v *vm) join() {
	a := v.begin("Attend_join", "merges Pages parts into M, L and O in order: M' = max(M, m), α = e^(M − M'), β = e^(m − M'), L = L·α + l·β, O = O·α + o·β, "+
		"for the queries whose bits are set in the part.")
	lanes := step{v: v, masked: true}
	old, page, top, sum, m, l := v.r(0), v.r(1), v.r(2), v.r(3), v.r(12), v.r(13)
	seen := reg.Register(reg.K1)
	if !v.wide {
		seen = v.mask(0)
	}
	state := v.field(a, jsRows)
	v.setMask(state)
	mp, lp := v.field(a, jsM), v.field(a, jsL)
	lanes.load(m, mp)
	lanes.load(l, lp)
	pm, psees, po, pages := v.field(a, jsPM), v.field(a, jsPSees), v.field(a, jsPO), v.field(a, jsPages)
	each, next := v.label("page"), v.label("next")

	v.Label(each)
	bits := v.GP32()
	if v.wide {
		v.MOVWLZX(mem(psees, 0), bits)
	} else {
		v.MOVBLZX(mem(psees, 0), bits)
	}
	v.TESTL(bits, bits)
	v.JZ(operand.LabelRef(next))
	if v.wide {
		v.KMOVW(bits, reg.K1)
	} else {
		v.VMOVD(bits, xs[14])
		v.VPBROADCASTD(xs[14], ys[14])
		one := v.table("bits", 8, func(i int) uint32 { return 1 << i })
		v.VPAND(one, ys[14], ys[15])
		v.VPCMPEQD(one, ys[15], ys[15])
	}
	v.load(page, mem(pm, 0))
	v.load(sum, mem(pm, arg.PartL))
	v.load(top, v.splatf(float32(math.Inf(-1))))
	v.max(top, m, top) // leaves a NaN in M out
	v.max(top, page, top)
	v.zero(4)
	v.add(top, top, v.r(4))
	v.sub(old, m, top)
	v.sub(page, page, top)
	v.blend(m, seen, top)
	v.exps([]trio{{old, v.r(4), v.r(5)}, {page, v.r(6), v.r(7)}})
	v.store(mem(a, jsAlpha), old)
	v.store(mem(a, jsBeta), page)
	v.mul(old, l, old)
	v.mul(sum, sum, page)
	v.add(old, old, sum)
	v.blend(l, seen, old)

	v.Comment("Rows.")
	out, part, factor := v.field(a, jsO), v.GP64(), v.GP64()
	v.MOVQ(po, part)
	v.MOVQ(a, factor)
	row, skip := v.label("row"), v.label("skip")
	v.Label(row)
	v.SHRL(operand.U8(1), bits)
	v.JCC(operand.LabelRef(skip)) // not seen
	alpha, beta := v.r(0), v.r(1)
	v.bcast(alpha, mem(factor, jsAlpha))
	v.bcast(beta, mem(factor, jsBeta))
	n, o, p := v.field(a, jsDV), v.GP64(), v.GP64()
	v.MOVQ(out, o)
	v.MOVQ(part, p)
	v.eachMany(n, []reg.GPVirtual{o, p}, v.side(), func(s []step) {
		for i, s := range s {
			x, y := v.r(2+2*i), v.r(3+2*i)
			s.load(x, o)
			s.load(y, p)
			v.mul(x, x, alpha)
			v.mul(y, y, beta)
			v.add(x, x, y)
			s.store(o, x)
		}
	})
	v.Label(skip)
	v.ADDQ(mem(a, jsOStride), out)
	v.ADDQ(mem(a, jsOStride), part)
	v.ADDQ(operand.U8(4), factor)
	v.TESTL(bits, bits)
	v.JNZ(operand.LabelRef(row))

	v.Label(next)
	v.ADDQ(mem(a, jsPStride), pm)
	v.ADDQ(mem(a, jsPStride), psees)
	v.ADDQ(mem(a, jsPStride), po)
	v.DECQ(pages)
	v.JNZ(operand.LabelRef(each))
	end := v.field(a, jsRows)
	v.setMask(end)
	lanes.store(mp, m)
	lanes.store(lp, l)
	v.end()
}

// blend puts x into the lanes of d that a mask of join names.
func (v *vm) blend(d, mask, x reg.Register) {
	if v.wide {
		v.VBLENDMPS(x, d, mask, d)
	} else {
		v.VBLENDVPS(mask, x, d, d)
	}
}
