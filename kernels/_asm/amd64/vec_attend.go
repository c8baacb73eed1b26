package main

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"jns/kernels/arg"
)

var (
	_ = emit(source{name: "attend_avx512vnni", args: "AttendStep", gen: func(c *build.Context) { attendFile(newVM(c, true)) }})
	_ = emit(source{name: "attend_avx2", args: "AttendStep", gen: func(c *build.Context) { attendFile(newVM(c, false)) }})
)

// Offsets in amd64.AttendStep.
const (
	asQ = 8 * iota
	asQStride
	asK
	asV
	asS
	asO
	asOStride
	asM
	asL
	asD
	asDV
	asLo
	asFrom
	asTo
	asHi
	asAny
	asRows
	asScale
	asActive = asScale + 16
	asAlpha  = asActive + 2*arg.KVChunk
	asBeta   = asAlpha + 4*arg.AttendMax
	asRowLo  = asBeta + 4*arg.AttendMax
	asRowHi  = asRowLo + 4*arg.AttendMax
	asNearK  = asRowHi + 4*arg.AttendMax
	asFarK   = asNearK + 8
	asNearV  = asNearK + 16
	asFarV   = asNearK + 24
	asNearS  = asNearK + 32
	asKS     = asNearK + 40
	asVS     = asNearK + 48
	asKN     = asNearK + 56
	asVN     = asNearK + 64
	asNextKS = asNearK + 72
	asNextVS = asNearK + 80
	asT      = asNearK + 88
	asTGap   = asNearK + 96
	asWild   = asNearK + 104
	asCap    = asScale + 4
	asInvCap = asScale + 8
)

const sRow = 4 * arg.KVChunk // bytes of a row of scores

// queries is the largest number of queries of one call.
func (v *vm) queries() int {
	if v.wide {
		return arg.AttendMax
	}
	return 4
}

func attendFile(v *vm) {
	for n := 1; n <= v.queries(); n++ {
		v.scores(n)
		v.weigh(n)
	}
	v.soften(false)
	if v.wide {
		v.soften(true)
	}
}

// halves loads a vector of halves as floats.
func (v *vm) halves(d operand.Op, m operand.Mem) { v.VCVTPH2PS(m, d) }

// scores computes n rows of S: S[i][p] = Σ Q[i][d]·K[d][p], one lane a position. A pass takes so many positions as registers allow: n × cols
// accumulators and cols vectors of K.
func (v *vm) scores(n int) {
	a := v.begin(fmt.Sprintf("Attend_scores%d", n), fmt.Sprintf("computes S = Q·K for %d queries and positions up to Hi at least, Hi > 0.", n))
	vecs := arg.KVChunk * 4 / v.vecBytes()
	cols := 2
	switch {
	case v.wide && n <= 4:
		cols = 4
	case n > 12:
		cols = 1
	case !v.wide && n <= 2:
		cols = 4
	}
	passes := vecs / cols
	q0, stride := v.field(a, asQ), v.field(a, asQStride)
	q := v.rowsOf(n, stride)
	k, s := v.field(a, asK), v.field(a, asS)
	v.Comment("As many passes as reach Hi.")
	pass := v.field(a, asHi)
	v.ADDQ(operand.U32(arg.KVChunk/passes-1), pass)
	v.SHRQ(operand.U8(bits.TrailingZeros(uint(arg.KVChunk/passes))), pass)
	near, far := v.GP64(), v.GP64()
	if n <= fewQueries {
		v.MOVQ(mem(a, asNearK), near)
		v.MOVQ(mem(a, asFarK), far)
	}
	outer, inner := v.label("pass"), v.label("loop")
	acc := func(i, c int) reg.Register { return v.r(i*cols + c) }
	kv := func(c int) reg.Register { return v.r(n*cols + c) }
	next := func(c int) reg.Register { return v.r(n*cols + cols + 1 + c) }

	v.Label(outer)
	q.start(q0)
	kp, d := v.GP64(), v.field(a, asD)
	v.MOVQ(k, kp)
	for i := range n * cols {
		v.zero(i)
	}
	const kRow = 2 * arg.KVChunk
	products := func() {
		if n <= fewQueries {
			v.ahead(near, far, kRow/passes)
		}
		for i := range n {
			if v.wide && cols == 1 {
				for c := range cols {
					v.VFMADD231PS_BCST(q.at(i), kv(c), acc(i, c))
				}
				continue
			}
			b := v.r(n*cols + cols)
			v.bcast(b, q.at(i))
			for c := range cols {
				v.fma(acc(i, c), kv(c), b)
			}
		}
	}
	load := func(to func(c int) reg.Register, disp int) {
		for c := range cols {
			v.halves(to(c), mem(kp, disp+c*v.vecBytes()/2))
		}
	}
	advance := func() {
		v.SUBQ(operand.I8(-kRow), kp)
		q.advance()
	}
	if v.turnsAhead(n) {
		last := v.label("last")
		load(kv, 0)
		v.DECQ(d)
		v.JZ(operand.LabelRef(last))
		v.Label(inner)
		load(next, kRow)
		products()
		advance()
		for c := range cols {
			v.VMOVAPS(next(c), kv(c))
		}
		v.DECQ(d)
		v.JNZ(operand.LabelRef(inner))
		v.Label(last)
		products()
	} else {
		v.Label(inner)
		load(kv, 0)
		products()
		advance()
		v.DECQ(d)
		v.JNZ(operand.LabelRef(inner))
	}
	for i := range n {
		for c := range cols {
			v.store(mem(s, i*sRow+c*v.vecBytes()), acc(i, c))
		}
	}
	v.ADDQ(operand.U32(cols*v.vecBytes()), s)
	v.ADDQ(operand.U32(cols*v.vecBytes()/2), k)
	v.DECQ(pass)
	v.JNZ(operand.LabelRef(outer))
	v.end()
}

// queryRows are the rows of n queries, of which loops read one element after the other. Row i is at bases[j] + stride·{0, 1, 2, 4}; the bases are three rows apart.
type queryRows struct {
	v             *vm
	stride, three reg.GPVirtual
	bases         []reg.GPVirtual
}

func (v *vm) rowsOf(n int, stride reg.GPVirtual) *queryRows {
	q := &queryRows{v: v, stride: stride, three: v.GP64(), bases: make([]reg.GPVirtual, (n+2)/3)}
	v.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, q.three)
	for j := range q.bases {
		q.bases[j] = v.GP64()
	}
	return q
}

// start goes to the first element of the rows from first on.
func (q *queryRows) start(first reg.GPVirtual) {
	q.v.MOVQ(first, q.bases[0])
	for j := range q.bases[1:] {
		q.v.LEAQ(operand.Mem{Base: q.bases[j], Index: q.three, Scale: 1}, q.bases[j+1])
	}
}

func (q *queryRows) at(i int) operand.Mem {
	switch {
	case i%3 == 0:
		return mem(q.bases[i/3], 0)
	case i < 3:
		return operand.Mem{Base: q.bases[0], Index: q.stride, Scale: uint8(i)}
	case i%3 == 1:
		return operand.Mem{Base: q.bases[i/3-1], Index: q.stride, Scale: 4}
	}
	return operand.Mem{Base: q.bases[i/3], Index: q.stride, Scale: 2}
}

func (q *queryRows) advance() {
	for _, b := range q.bases {
		q.v.ADDQ(operand.U8(4), b)
	}
}

func (v *vm) vecBytes() int { return v.partBytes() }

// fewQueries is up to how many queries a call is taken for one of decoding, where keys and values come from memory and are fetched ahead: into the first-level cache what is read
// after the half of the page that is being read, and one line in two or more of the half behind that, into the second, to lead the hardware's own prefetcher across borders of
// memory pages. Pages of 64 + 64 numbers that no cache holds, GB/s with 7 and 3 queries on Emerald Rapids: 6.5 and 10.2 where only values are fetched, 9.7 and 12.6 with the next
// keys, 11.7 and 14.1 with the far lines; 13.8 and 26 are what the arithmetic allows.
const fewQueries = 8

// turnsAhead says whether the loops of n queries, those of prompts, convert the halves of the next turn before the products of this one. A processor begins the oldest operation that is
// ready: behind a backlog of products a conversion comes last, all products of its turn wait for it, and only the next few turns fit into what it looks ahead.
func (v *vm) turnsAhead(n int) bool { return n > fewQueries || !v.wide && n == v.queries() }

// ahead emits the prefetches of one turn of a loop that reads so many bytes of the page.
func (v *vm) ahead(near, far reg.GPVirtual, bytes int) {
	for line := 0; line < bytes; line += 64 {
		v.PREFETCHT0(mem(near, line))
	}
	v.PREFETCHT1(mem(far, 0))
	v.ADDQ(operand.I32(bytes), near)
	v.ADDQ(operand.I32(bytes), far)
}

// soften turns the rows of S into exponentials and merges maxima and sums.
func (v *vm) soften(ahead bool) {
	name := "Attend_soften"
	if ahead {
		name = "Attend_softenahead"
	}
	a := v.begin(name, "turns the first Rows rows of S into e^(s − max) within RowLo, RowHi (outside it leaves anything), and brings M, L, "+
		"Alpha and Beta up to date. With an odd number of rows one more is read and written under AVX-512, for nothing.")
	if v.wide {
		v.softenPairs(a, ahead)
	} else {
		v.softenRows(a)
	}
	v.merge(a)
	v.end()
}

// capped writes two variants of a piece of code, for scores without and with a cap.
func (v *vm) capped(a reg.Register, body func(cap bool)) {
	plain, done := v.label("plain"), v.label("done")
	t := v.GP32()
	v.MOVL(mem(a, asCap), t)
	v.ADDL(t, t) // drops the sign
	v.JZ(operand.LabelRef(plain))
	body(true)
	v.JMP(operand.LabelRef(done))
	v.Label(plain)
	body(false)
	v.Label(done)
}

// softenPairs takes two rows at a time: a row is four registers, and eight hide the latencies of one another. Scores that a query does not see
// become −Inf, which the exponential turns into +0; only if all it sees is −Inf or NaN too they become NaN, as does the sum in any case.
// All maxima come first, left in Alpha: a chain from scores through a maximum and exponentials to a sum is longer than what a processor looks ahead.
func (v *vm) softenPairs(a reg.Register, ahead bool) {
	const vecs = 4 // of a row
	regs := v.trios(0, 2*vecs)
	acc, t, u := [2]reg.Register{zs[28], zs[29]}, zs[8], zs[9]
	lanes := func(b reg.Register, to int) {
		v.VMOVSS(xs[8], mem(b, to))
		v.VEXTRACTF32X4(operand.U8(2), t, xs[8])
		v.VMOVSS(xs[8], mem(b, to+4))
	}
	near := v.GP64()
	if ahead {
		v.MOVQ(mem(a, asNearS), near)
	}
	fetch := func() {
		if ahead {
			for i := range 12 {
				v.PREFETCHT0(mem(near, 64*i))
			}
			v.ADDQ(operand.I32(12*64), near)
		}
	}
	v.eachPair(a, func(b, s reg.GPVirtual, next string) {
		fetch()
		scale, minusInf := zs[24], zs[25]
		v.seen(a, b, s, regs, scale, minusInf, next)
		for r := range acc {
			x := regs[r*vecs:]
			for c := range vecs {
				v.store(mem(s, r*sRow+c*64), x[c].x)
			}
			v.max(t, x[0].x, minusInf) // leaves NaN out
			v.max(u, x[1].x, minusInf)
			v.max(t, x[2].x, t)
			v.max(u, x[3].x, u)
			v.max(acc[r], t, u)
		}
		v.tree(acc, t, u, v.max)
		v.zero(10)
		v.add(t, t, zs[10])
		lanes(b, asAlpha)
	})
	v.eachPair(a, func(b, s reg.GPVirtual, _ string) {
		fetch()
		top := [2]reg.Register{zs[26], zs[27]}
		for r := range top {
			v.bcast(top[r], mem(b, asAlpha+4*r))
		}
		for i, r := range regs {
			v.load(r.x, mem(s, i/vecs*sRow+i%vecs*64))
			v.sub(r.x, r.x, top[i/vecs])
		}
		v.exps(regs)
		for i, r := range regs {
			v.store(mem(s, i/vecs*sRow+i%vecs*64), r.x)
		}
		// A sum of lanes begins with +0, which changes no exponential.
		for r := range acc {
			v.add(acc[r], regs[r*vecs].x, regs[r*vecs+1].x)
			v.add(acc[r], acc[r], regs[r*vecs+2].x)
			v.add(acc[r], acc[r], regs[r*vecs+3].x)
		}
		v.tree(acc, t, u, v.add)
		lanes(b, asBeta)
	})
}

// eachPair is a loop over pairs of rows: b is a + 4·row, s their scores, next the label of what ends a turn.
func (v *vm) eachPair(a reg.Register, body func(b, s reg.GPVirtual, next string)) {
	n, s, b := v.field(a, asRows), v.field(a, asS), v.GP64()
	v.MOVQ(a, b)
	loop, next := v.label("pair"), v.label("next")
	v.Label(loop)
	body(b, s, next)
	v.Label(next)
	v.ADDQ(operand.U32(2*sRow), s)
	v.ADDQ(operand.U8(8), b)
	v.SUBQ(operand.U8(2), n)
	v.JG(operand.LabelRef(loop))
}

// seen loads two rows of scores, scaled and capped, with −Inf where a query sees nothing; if neither sees anything it jumps to none. Registers 8 to 14 are free but for those of regs.
func (v *vm) seen(a, b, s reg.Register, regs []trio, scale, minusInf reg.Register, none string) {
	vecs := len(regs) / 2
	ones := v.GP64()
	v.MOVQ(operand.I32(-1), ones)
	v.bcast(scale, mem(a, asScale))
	v.load(minusInf, v.splatf(float32(math.Inf(-1))))
	kmask := []reg.Register{reg.K3, reg.K4, reg.K5, reg.K6}
	var seen [2]reg.GPVirtual // bits of the positions
	for r := range seen {
		lo, hi := v.GP64(), v.GP64()
		v.MOVLQZX(mem(b, asRowLo+4*r), lo)
		v.MOVLQZX(mem(b, asRowHi+4*r), hi)
		v.BZHIQ(lo, ones, lo)
		v.BZHIQ(hi, ones, hi)
		v.ANDNQ(hi, lo, hi)
		seen[r] = hi
	}
	any := v.GP64()
	v.MOVQ(seen[0], any)
	v.ORQ(seen[1], any)
	v.JZ(operand.LabelRef(none))
	v.capped(a, func(cap bool) {
		for r, seen := range seen {
			if cap {
				t := v.GP64()
				v.MOVQ(seen, t)
				seen = t
			}
			for c := range vecs {
				v.KMOVW(seen.As32(), kmask[c])
				if c < vecs-1 {
					v.SHRQ(operand.U8(16), seen)
				}
				x := regs[r*vecs+c].x
				at := mem(s, r*sRow+c*64)
				if cap {
					v.mul(zs[8], scale, at)
					v.bcast(zs[14], mem(a, asInvCap))
					v.mul(zs[8], zs[8], zs[14])
					v.tanh(8, 9)
					v.bcast(zs[14], mem(a, asCap))
					v.mul(zs[8], zs[8], zs[14])
					v.VBLENDMPS(zs[8], minusInf, kmask[c], x)
				} else {
					v.VMOVAPS(minusInf, x)
					v.VMULPS(at, scale, kmask[c], x)
				}
			}
		}
	})
}

// tree reduces two registers of 16 lanes as scalar.Lanes does, into all lanes of the lower and of the upper half of t.
func (v *vm) tree(acc [2]reg.Register, t, u reg.Register, op func(d, a, b operand.Op)) {
	v.VSHUFF64X2(operand.U8(0x44), acc[1], acc[0], t)
	v.VSHUFF64X2(operand.U8(0xee), acc[1], acc[0], u)
	op(t, t, u)
	v.VSHUFF64X2(operand.U8(0xb1), t, t, u)
	op(t, t, u)
	v.VPERMILPS(operand.U8(0x4e), t, u)
	op(t, t, u)
	v.VPERMILPS(operand.U8(0xb1), t, u)
	op(t, t, u)
}

// softenRows takes a row at a time, four of its eight registers side by side.
func (v *vm) softenRows(a reg.Register) {
	const vecs, side = 8, 4
	n := v.field(a, asRows)
	s, b := v.field(a, asS), v.GP64() // b is a + 4·row
	v.MOVQ(a, b)
	loop, next := v.label("row"), v.label("next")

	v.Label(loop)
	lo, hi := v.GP32(), v.GP32()
	v.MOVL(mem(b, asRowLo), lo)
	v.MOVL(mem(b, asRowHi), hi)
	v.CMPL(lo, hi)
	v.JGE(operand.LabelRef(next))
	v.DECL(lo)
	v.VMOVD(lo, xs[13])
	v.VMOVD(hi, xs[14])
	v.VPBROADCASTD(xs[13], ys[13])
	v.VPBROADCASTD(xs[14], ys[14])
	// 0, 1: maxima; 2: Scale; 3: the value; 4 … 9 free; 10: −Inf.
	v.bcast(ys[2], mem(a, asScale))
	v.load(ys[10], v.splatf(float32(math.Inf(-1))))
	v.VMOVAPS(ys[10], ys[0])
	v.VMOVAPS(ys[10], ys[1])
	v.capped(a, func(cap bool) {
		for c := range vecs {
			v.mul(ys[3], ys[2], mem(s, c*32))
			if cap {
				v.bcast(ys[8], mem(a, asInvCap))
				v.mul(ys[3], ys[3], ys[8])
				v.tanh(3, 4)
				v.bcast(ys[8], mem(a, asCap))
				v.mul(ys[3], ys[3], ys[8])
			}
			iota := v.table("positions", arg.KVChunk, func(i int) uint32 { return uint32(i) })
			v.VMOVDQU(iota.Offset(c*32), ys[11])
			v.VPCMPGTD(ys[11], ys[14], ys[12]) // Hi > p
			v.VPCMPGTD(ys[13], ys[11], ys[11]) // p > Lo − 1
			v.VPAND(ys[12], ys[11], ys[11])
			v.VBLENDVPS(ys[11], ys[3], ys[10], ys[3])
			v.store(mem(s, c*32), ys[3])
			v.max(ys[c&1], ys[3], ys[c&1]) // leaves NaN out
		}
	})
	v.max16(0, 4)
	v.VXORPS(xs[4], xs[4], xs[4])
	v.VADDPS(xs[4], xs[0], xs[0])
	v.VMOVSS(xs[0], mem(b, asAlpha))
	v.VBROADCASTSS(xs[0], ys[14])
	regs := v.trios(2, side)
	v.zeroAcc()
	for c := 0; c < vecs; c += side {
		for i, r := range regs {
			v.load(r.x, mem(s, (c+i)*32))
			v.sub(r.x, r.x, ys[14])
		}
		v.exps(regs)
		for i, r := range regs {
			v.store(mem(s, (c+i)*32), r.x)
			v.add(ys[i&1], ys[i&1], r.x)
		}
	}
	v.sum16(0, 4)
	v.VMOVSS(xs[0], mem(b, asBeta))

	v.Label(next)
	v.ADDQ(operand.U32(sRow), s)
	v.ADDQ(operand.U8(4), b)
	v.DECQ(n)
	v.JNZ(operand.LabelRef(loop))
}

// merge brings the state up to date, one lane a row, with the maxima of the page in Alpha and its sums in Beta, for rows in Any:
// m' = max(M, m), α = e^(M − m'), β = e^(m − m'), L = L·α + l·β. (In soften's loop this would be a long chain for every row.)
func (v *vm) merge(a reg.GPVirtual) {
	m, l := v.field(a, asM), v.field(a, asL)
	rows := step{v: v, masked: true}
	if v.wide {
		any := v.GP32()
		v.MOVL(mem(a, asAny), any)
		v.KMOVW(any, reg.K1)
	} else {
		v.VPBROADCASTD(mem(a, asAny), ys[14])
		bits := v.table("bits", 8, func(i int) uint32 { return 1 << i })
		v.VPAND(bits, ys[14], ys[15])
		v.VPCMPEQD(bits, ys[15], ys[15])
	}
	old, page, top, sum, t, u := v.r(0), v.r(1), v.r(2), v.r(3), v.r(4), v.r(5)
	rows.load(old, m)
	v.load(page, mem(a, asAlpha))
	v.load(sum, mem(a, asBeta))
	v.load(top, v.splatf(float32(math.Inf(-1))))
	v.max(top, old, top) // leaves a NaN in M out
	v.max(top, page, top)
	v.zero(4)
	v.add(top, top, t)
	rows.store(m, top)
	v.sub(old, old, top)
	v.sub(page, page, top)
	v.exps([]trio{{old, t, u}, {page, v.r(6), v.r(7)}})
	v.store(mem(a, asAlpha), old)
	v.store(mem(a, asBeta), page)
	rows.load(t, l)
	v.mul(t, t, old)
	v.mul(sum, sum, page)
	v.add(t, t, sum)
	rows.store(l, t)
}

// colMask are the masks of the columns that there are of a block.
var colMask = []reg.Register{reg.K1, reg.K2, reg.K3, reg.K4}

// weigh adds Σ S[i][p]·V[p] to n rows of O: blocks of one to four vectors of columns, over positions Lo to From
// and To to Hi query by query as Active[p] says, over From to To for all.
func (v *vm) weigh(n int) {
	a := v.begin(fmt.Sprintf("Attend_weigh%d", n),
		fmt.Sprintf("merges the page into O for %d queries: O = O·Alpha + (ΣS·V)·Beta for those in Any. DV is a multiple of 8.", n))
	vp, o, left := v.field(a, asV), v.field(a, asO), v.field(a, asDV)
	vstride := v.GP64()
	v.MOVQ(left, vstride)
	v.ADDQ(vstride, vstride)
	near, far := v.GP64(), v.GP64()
	if n <= fewQueries {
		v.MOVQ(mem(a, asNearV), near)
		v.MOVQ(mem(a, asFarV), far)
	}
	block, single, done := v.label("block"), v.label("single"), v.label("done")
	width := v.vecBytes() / 4
	v.Label(block)
	if v.wide {
		cols := 2
		switch {
		case n > 12:
			cols = 1
		case n <= 4:
			cols = 4 // accumulators enough to hide their latency
		}
		v.Comment("Masks of the columns of a block.")
		v.CMPQ(left, operand.U8(0))
		v.JLE(operand.LabelRef(done))
		t, c := v.GP64(), v.GP64()
		v.MOVQ(operand.I32(-1), t)
		v.MOVQ(operand.U32(64), c)
		v.CMPQ(left, c)
		v.CMOVQLT(left, c)
		v.BZHIQ(c, t, t)
		for c := range cols {
			v.KMOVW(t.As32(), colMask[c])
			v.SHRQ(operand.U8(16), t)
		}
		v.weighBlock(n, cols, a, vp, vstride, o, near, far)
		v.ADDQ(operand.U8(32*cols), vp)
		v.SUBQ(operand.I32(-64*cols), o)
		v.SUBQ(operand.U8(16*cols), left)
		v.JMP(operand.LabelRef(block))
	} else {
		v.CMPQ(left, operand.U8(2*width))
		v.JL(operand.LabelRef(single))
		v.weighBlock(n, 2, a, vp, vstride, o, near, far)
		v.ADDQ(operand.U8(32), vp)
		v.ADDQ(operand.U8(64), o)
		v.SUBQ(operand.U8(16), left)
		v.JMP(operand.LabelRef(block))
		v.Label(single)
		v.TESTQ(left, left)
		v.JZ(operand.LabelRef(done))
		v.weighBlock(n, 1, a, vp, vstride, o, near, far)
	}
	v.Label(done)
	v.end()
}

// weighing is the walk over the positions of a page for a block of columns, cols vectors of them: registers 0 to n·cols − 1 are the sums, query by query.
type weighing struct {
	n, cols   int
	a         reg.Register
	p, s, end reg.GPVirtual // position, scores there, where to stop
	o, near   reg.GPVirtual
	load      func()                        // values of a position
	one       func(i int)                   // adds them to the sums of a query
	step      func()                        // goes to the next position
	ahead     func()                        // fetches what comes later
	turns     func(again func(loop string)) // the loop over what all see, if it is not the usual one
}

func (v *vm) weighBlock(n, cols int, a, vp, vstride, o, near, far reg.GPVirtual) {
	acc := func(i, c int) reg.Register { return v.r(i*cols + c) }
	val := func(c int) reg.Register { return v.r(n*cols + c) }
	e := v.r(n*cols + cols)
	for i := range n * cols {
		v.zero(i)
	}
	at := v.GP64()
	w := &weighing{n: n, cols: cols, a: a, o: o, near: near, p: v.GP64(), s: v.field(a, asS), end: v.GP64()}
	v.MOVQ(mem(a, asLo), w.p)
	v.LEAQ(operand.Mem{Base: w.s, Index: w.p, Scale: 4}, w.s)
	v.MOVQ(vstride, at)
	v.IMULQ(w.p, at)
	v.ADDQ(vp, at)
	next := func(c int) reg.Register { return v.r(n*cols + cols + 1 + c) }
	load := func(to func(c int) reg.Register, from operand.Mem) {
		for c := range cols {
			if v.wide {
				v.VCVTPH2PS_Z(from.Offset(c*32), colMask[c], to(c))
			} else {
				v.halves(to(c), from.Offset(c*16))
			}
		}
	}
	w.load = func() { load(val, mem(at, 0)) }
	w.one = func(i int) {
		switch {
		case v.wide && cols == 1:
			for c := range cols {
				v.VFMADD231PS_BCST(mem(w.s, i*sRow), val(c), acc(i, c))
			}
		default:
			v.bcast(e, mem(w.s, i*sRow))
			for c := range cols {
				v.fma(acc(i, c), val(c), e)
			}
		}
	}
	w.step = func() {
		v.ADDQ(vstride, at)
		v.ADDQ(operand.U8(4), w.s)
		v.INCQ(w.p)
	}
	w.ahead = func() {
		if n <= fewQueries {
			v.ahead(near, far, cols*v.vecBytes()/2)
		}
	}
	if v.turnsAhead(n) {
		w.turns = func(again func(loop string)) {
			common, last := v.label("common"), v.label("last")
			w.load()
			v.DECQ(w.end)
			v.CMPQ(w.p, w.end)
			v.JGE(operand.LabelRef(last))
			v.Label(common)
			load(next, operand.Mem{Base: at, Index: vstride, Scale: 1})
			w.products()
			w.step()
			for c := range cols {
				v.VMOVAPS(next(c), val(c))
			}
			again(common)
			v.Label(last)
			w.products()
			w.step()
		}
	}
	v.positions(w)
	v.mergeRows(w, v.wide)
}

func (w *weighing) products() {
	w.ahead()
	for i := range w.n {
		w.one(i)
	}
}

// positions walks from Lo to Hi.
func (v *vm) positions(w *weighing) {
	again := func(loop string) {
		v.CMPQ(w.p, w.end)
		v.JL(operand.LabelRef(loop))
	}
	ragged := func(limit int) {
		loop, skip := v.label("ragged"), v.label("after")
		v.MOVQ(mem(w.a, limit), w.end)
		v.CMPQ(w.p, w.end)
		v.JGE(operand.LabelRef(skip))
		v.Label(loop)
		act := v.GP32()
		v.MOVWLZX(operand.Mem{Base: w.a, Index: w.p, Scale: 2, Disp: asActive}, act)
		w.load()
		for i := range w.n {
			off := v.label("off")
			v.TESTL(operand.U32(1<<i), act)
			v.JZ(operand.LabelRef(off))
			w.one(i)
			v.Label(off)
		}
		w.step()
		again(loop)
		v.Label(skip)
	}
	ragged(asFrom)
	rest := v.label("rest")
	v.MOVQ(mem(w.a, asTo), w.end)
	v.CMPQ(w.p, w.end)
	v.JGE(operand.LabelRef(rest))
	if w.turns != nil {
		w.turns(again)
	} else {
		common := v.label("common")
		v.Label(common)
		w.load()
		w.products()
		w.step()
		again(common)
	}
	v.Label(rest)
	ragged(asHi)
}

// mergeRows is the end of a block of columns.
func (v *vm) mergeRows(w *weighing, masked bool) {
	n, cols, a := w.n, w.cols, w.a
	acc := func(i, c int) reg.Register { return v.r(i*cols + c) }
	v.Comment("O = O·α + (o + 0)·β.")
	out, any, ostride := v.GP64(), v.field(a, asAny), v.field(a, asOStride)
	v.MOVQ(w.o, out)
	zero, t := v.r(n*cols), v.r(n*cols+1)
	v.zero(n * cols)
	for i := range n {
		off := v.label("out")
		v.TESTL(operand.U32(1<<i), any.As32())
		v.JZ(operand.LabelRef(off))
		for c := range cols {
			v.add(acc(i, c), acc(i, c), zero)
			v.bcast(t, mem(a, asBeta+4*i))
			v.mul(acc(i, c), acc(i, c), t)
			v.bcast(t, mem(a, asAlpha+4*i))
			m := mem(out, c*v.vecBytes())
			if masked {
				v.VMULPS_Z(m, t, colMask[c], t)
				v.add(acc(i, c), acc(i, c), t)
				v.VMOVUPS(acc(i, c), colMask[c], m)
			} else {
				v.mul(t, t, m)
				v.add(acc(i, c), acc(i, c), t)
				v.store(m, acc(i, c))
			}
		}
		v.Label(off)
		v.ADDQ(ostride, out)
	}
}
