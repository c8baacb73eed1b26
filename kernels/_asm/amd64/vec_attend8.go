package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"jns/kernels/arg"
)

// Attention of few queries over pages of eight bits, as they lie (kernels/scalar/kv8.go). What counts is half(c·d) of a code c and a scale d, a half: 11 bits of a product that has 18 at
// most, so that c·d is exact in float32 and so is 8193·d, 13 bits and 11. With t = c·(8193·d) rounded, t − c·(8192·d), which is exact, is c·d rounded to 11 bits: 8192·c·d is an even multiple of
// t's last place, so t was rounded where c·d is to be rounded, ties to even included. (Where the sum has one bit more than 8192·c·d, c·d is within 2⁻¹² of a power of two, which both roundings
// give.) Below the halves' normal numbers there is nothing to round, all halves being multiples of the smallest one. So two operations round, where conversions to halves and back take three
// times as long (Zen 5). Scales that are no numbers, negative or so large that a product may be beyond the halves are for others (Wild). A zero may have the other sign here, which
// scores and outputs do not show: sums begin with +0, and +0 is added to them at the end.

func init() {
	for _, wide := range []bool{true, false} {
		name := "attend8_avx2"
		if wide {
			name = "attend8_avx512vnni"
		}
		emit(source{name: name, args: "AttendStep", gen: func(c *build.Context) {
			v := newVM(c, wide)
			v.codeScales()
			for n := 1; n <= min(v.queries(), fewQueries); n++ {
				v.codeScores(n)
				v.codeWeigh(n)
			}
		}})
	}
}

const (
	once  = 8192 // factors of a scale, see above
	twice = 8193
	wild  = 0x6000 // scales from here on, as bits: 512, beyond which 128·d is beyond the halves; infinities, NaN and what is negative
)

// factors makes the two factors of a vector of scales in d.
func (v *vm) factors(d, more operand.Op) {
	v.mul(more, d, v.splatf(twice))
	v.mul(d, d, v.splatf(once))
}

// number makes numbers t of codes c, as floats, with scales times 8193 and 8192.
func (v *vm) number(t, c, more, scale operand.Op) {
	v.mul(t, c, more)
	v.fnma(t, c, scale)
}

// codeScales is what comes before scores and weigh.
func (v *vm) codeScales() {
	a := v.begin("Attend_codescales", "makes T = the factors of the values' scales, 8193 and TGap bytes behind 8192 times, and Wild ≠ 0 if a scale of the page is for Attend_scores and Attend_weigh. "+
		"It fetches the scales of the next page.")
	const turn = 32 // scales
	lanes := v.vecBytes() / 4
	most, limit := ys[0], ys[1]
	v.VPXOR(most, most, most)
	t, gap := v.field(a, asT), v.field(a, asTGap)
	for _, f := range []struct {
		scales, next, count int
		values              bool
	}{{asVS, asNextVS, asVN, true}, {asKS, asNextKS, asKN, false}} {
		p, next, n := v.field(a, f.scales), v.field(a, f.next), v.field(a, f.count)
		loop := v.label("scales")
		v.Label(loop)
		for i := range 2 {
			v.VPMAXUW(mem(p, 32*i), most, most)
		}
		v.PREFETCHT0(mem(next, 0))
		for i := range turn / lanes {
			if !f.values {
				break
			}
			d, more := v.r(2+2*i), v.r(3+2*i)
			v.halves(d, mem(p, i*lanes*2))
			v.factors(d, more)
			v.store(mem(t, i*lanes*4), more)
			v.store(operand.Mem{Base: t, Index: gap, Scale: 1, Disp: i * lanes * 4}, d)
		}
		if f.values {
			v.ADDQ(operand.I32(4*turn), t)
		}
		v.ADDQ(operand.U8(2*turn), p)
		v.ADDQ(operand.U8(2*turn), next)
		v.SUBQ(operand.U8(turn), n)
		v.JNZ(operand.LabelRef(loop))
	}
	words := v.table("sane", 8, func(int) uint32 { return (wild - 1) * 0x10001 })
	v.VMOVDQU(words, limit)
	v.VPSUBUSW(limit, most, most)
	w := v.GP64()
	v.XORL(w.As32(), w.As32())
	v.VPTEST(most, most)
	v.SETNE(w.As8())
	v.MOVQ(w, mem(a, asWild))
	v.end()
}

// codeScores is scores for codes: a turn is a row of them, and every 32 rows there are other scales.
func (v *vm) codeScores(n int) {
	a := v.begin(fmt.Sprintf("Attend_codescores%d", n), fmt.Sprintf("computes S = Q·K for %d queries and positions up to Hi at least, Hi > 0; K are codes, KS their scales.", n))
	cols := 2
	if v.wide && n <= 4 {
		cols = 4
	}
	passes := arg.KVChunk * 4 / v.vecBytes() / cols
	acc := func(i, c int) reg.Register { return v.r(i*cols + c) }
	more := func(c int) reg.Register { return v.r(n*cols + c) }
	scale := func(c int) reg.Register { return v.r((n+1)*cols + c) }
	num := func(c int) reg.Register { return v.r((n+2)*cols + c) }
	x := v.r((n + 3) * cols)
	b := v.r((n+3)*cols + 1)
	near, first := v.field(a, asNearK), v.GP64()
	v.XORQ(first, first)
	outer, block, inner := v.label("pass"), v.label("block"), v.label("loop")

	v.Label(outer)
	q := v.rowsOf(n, v.field(a, asQStride))
	q.start(v.field(a, asQ))
	kp, sp, d := v.field(a, asK), v.field(a, asKS), v.field(a, asD)
	v.ADDQ(first, kp)
	v.LEAQ(operand.Mem{Base: sp, Index: first, Scale: 2}, sp)
	for i := range n * cols {
		v.zero(i)
	}
	v.Label(block)
	for c := range cols {
		v.halves(scale(c), mem(sp, c*v.vecBytes()/2))
		v.factors(scale(c), more(c))
	}
	v.ADDQ(operand.U32(2*arg.KVChunk), sp)
	rows := v.GP64()
	v.MOVQ(operand.U32(kvBlock), rows)
	v.CMPQ(d, rows)
	v.CMOVQLT(d, rows)
	v.SUBQ(rows, d)
	v.Label(inner)
	v.PREFETCHT0(mem(near, 0))
	v.ADDQ(operand.U8(arg.KVChunk/passes), near)
	for c := range cols {
		v.VPMOVSXBD(mem(kp, c*v.vecBytes()/4), x)
		v.VCVTDQ2PS(x, x)
		v.number(num(c), x, more(c), scale(c))
	}
	v.ADDQ(operand.U8(arg.KVChunk), kp)
	for i := range n {
		v.bcast(b, q.at(i))
		for c := range cols {
			v.fma(acc(i, c), num(c), b)
		}
	}
	q.advance()
	v.DECQ(rows)
	v.JNZ(operand.LabelRef(inner))
	v.TESTQ(d, d)
	v.JNZ(operand.LabelRef(block))
	s := v.field(a, asS)
	v.LEAQ(operand.Mem{Base: s, Index: first, Scale: 4}, s)
	for i := range n {
		for c := range cols {
			v.store(mem(s, i*sRow+c*v.vecBytes()), acc(i, c))
		}
	}
	v.ADDQ(operand.U8(arg.KVChunk/passes), first)
	v.CMPQ(first, mem(a, asHi))
	v.JL(operand.LabelRef(outer))
	v.end()
}

// codeWeigh is weigh for codes: a block of columns is one or two blocks of a scale with AVX-512, half of one with AVX2.
func (v *vm) codeWeigh(n int) {
	a := v.begin(fmt.Sprintf("Attend_codeweigh%d", n),
		fmt.Sprintf("merges the page into O for %d queries: O = O·Alpha + (ΣS·V)·Beta for those in Any; V are codes, T the factors of their scales. DV is a multiple of 32.", n))
	cols := 2
	if v.wide && n <= 4 {
		cols = 4
	}
	w := weighing{n: n, cols: cols, a: a, o: v.field(a, asO), near: v.field(a, asNearV)}
	column, block := v.GP64(), v.label("block")
	v.XORQ(column, column)
	v.Label(block)
	if cols == 4 {
		v.Comment("Masks of the columns of a block.")
		left, t := v.field(a, asDV), v.GP64()
		v.SUBQ(column, left)
		v.MOVQ(operand.U32(64), t)
		v.CMPQ(left, t)
		v.CMOVQGT(t, left)
		v.MOVQ(operand.I32(-1), t)
		v.BZHIQ(left, t, t)
		for c := range cols {
			v.KMOVW(t.As32(), colMask[c])
			v.SHRQ(operand.U8(16), t)
		}
	}
	v.codeBlock(&w, column)
	width := cols * v.vecBytes() / 4
	v.ADDQ(operand.U8(width), column)
	v.ADDQ(operand.I32(4*width), w.o)
	v.CMPQ(column, mem(a, asDV))
	v.JL(operand.LabelRef(block))
	v.end()
}

// codeBlock is a block of columns, the first of which is column.
func (v *vm) codeBlock(w *weighing, column reg.GPVirtual) {
	n, cols, a := w.n, w.cols, w.a
	num := func(c int) reg.Register { return v.r(n*cols + c) }
	x, e := v.r((n+1)*cols), v.r((n+1)*cols+1)
	more, scale := v.r((n+1)*cols+2), v.r((n+1)*cols+3)
	for i := range n * cols {
		v.zero(i)
	}
	w.p, w.s, w.end = v.GP64(), v.field(a, asS), v.GP64()
	at, stride := v.field(a, asV), v.field(a, asDV)
	t, gap, tStride := v.field(a, asT), v.field(a, asTGap), v.field(a, asDV)
	v.MOVQ(mem(a, asLo), w.p)
	v.LEAQ(operand.Mem{Base: w.s, Index: w.p, Scale: 4}, w.s)
	from := v.GP64()
	v.MOVQ(stride, from)
	v.IMULQ(w.p, from)
	v.ADDQ(column, from)
	v.ADDQ(from, at)
	v.Comment("A factor of 32 columns takes 4 bytes.")
	v.SHRQ(operand.U8(5), from)
	v.LEAQ(operand.Mem{Base: t, Index: from, Scale: 4}, t)
	v.SHRQ(operand.U8(3), tStride)
	w.load = func() {
		for c := range cols {
			m := mem(at, c*v.vecBytes()/4)
			if cols == 4 {
				v.VPMOVSXBD_Z(m, colMask[c], x)
			} else {
				v.VPMOVSXBD(m, x)
			}
			v.VCVTDQ2PS(x, x)
			one := mem(t, 0)
			if v.wide {
				one.Disp = c / 2 * 4
			}
			if c == 0 || v.wide && c%2 == 0 {
				v.bcast(more, one)
				one.Index, one.Scale = gap, 1
				v.bcast(scale, one)
			}
			v.number(num(c), x, more, scale)
		}
	}
	w.one = func(i int) {
		v.bcast(e, mem(w.s, i*sRow))
		for c := range cols {
			v.fma(v.r(i*cols+c), num(c), e)
		}
	}
	w.step = func() {
		v.ADDQ(stride, at)
		v.ADDQ(tStride, t)
		v.ADDQ(operand.U8(4), w.s)
		v.INCQ(w.p)
	}
	w.ahead = func() {
		v.PREFETCHT0(mem(w.near, 0))
		v.ADDQ(operand.U8(cols*v.vecBytes()/4), w.near)
	}
	v.positions(w)
	v.mergeRows(w, cols == 4)
}
