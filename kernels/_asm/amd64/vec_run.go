package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var (
	_ = emit(source{name: "run_avx512vnni", args: "RunArgs", gen: func(c *build.Context) { runFile(newVM(c, true)) }})
	_ = emit(source{name: "run_avx2", args: "RunArgs", gen: func(c *build.Context) { runFile(newVM(c, false)) }})
)

// Offsets in amd64.RunArgs.
const (
	raS = 8 * iota
	raStride
	raRows
	raN
	raX
	raXStride
	raY
	raYStride
	raK
	raKStride
	raQ
	raQStride
	raG
	raGStride
	raGStep
	raBeta
	raT
)

// runFile has the steps of recurrent layers over runs of positions: what a step loads and stores of the state, a run keeps in registers or in the first-level cache. With AVX-512
// the scan has none: its steps, one after another on a state in that cache, take 1.07 times what their arithmetic does, and rows kept in registers took 1.1 times that.
func runFile(v *vm) {
	deltas := []int{4, 1}
	if !v.wide {
		for _, n := range []int{4, 2} {
			(&runner{stepper{vm: v, n: n}}).scan()
		}
		deltas = []int{2} // of sixteen registers six are sums
	}
	for _, n := range deltas {
		(&runner{stepper{vm: v, n: n}}).delta()
	}
	for _, taps := range []int{3, 4} {
		v.conv(taps)
	}
}

// runner writes steps over runs of positions for n vectors of columns.
type runner struct{ stepper }

// next advances a pointer in the argument block by a stride of it, and gives what it was.
func (v *vm) next(a reg.Register, pointer, stride int) reg.GPVirtual {
	p, t := v.field(a, pointer), v.field(a, stride)
	v.ADDQ(p, t)
	v.MOVQ(t, mem(a, pointer))
	return p
}

// scan: two rows of a state at a time, all positions through them; Y gathers their products, row after row, so that its sums are in the order of one step after the other.
func (t *runner) scan() {
	const rows = 2
	a := t.begin(fmt.Sprintf("Run_scan%d", t.lanes()),
		fmt.Sprintf("is N times scalar.ScanStep for %d columns: B is K, C is Q, decays are G. It adds to Y; Rows is a multiple of %d.", t.lanes(), rows))
	state := func(r, j int) reg.Register { return t.r(r*t.n + j) }
	free := rows * t.n
	b := func(r int) reg.Register { return t.r(free + r) }
	c := func(r int) reg.Register { return t.r(free + rows + r) }
	decay, x, y, p := t.r(free+2*rows), t.r(free+2*rows+1), t.r(free+2*rows+2), t.r(free+2*rows+3)
	s, stride, left := t.field(a, raS), t.field(a, raStride), t.field(a, raRows)
	tile, position := t.label("tile"), t.label("position")
	move := func(f func(reg, m operand.Op)) {
		for r := range rows {
			t.vectors(func(j int) {
				m := t.part(s, j)
				if r > 0 {
					m.Index, m.Scale = stride, 1
				}
				f(state(r, j), m)
			})
		}
	}

	t.Label(tile)
	move(func(state, m operand.Op) { t.load(state, m) })
	xp, yp, k, q, g, n := t.field(a, raX), t.field(a, raY), t.field(a, raK), t.field(a, raQ), t.field(a, raG), t.field(a, raN)
	t.Label(position)
	t.bcast(decay, mem(g, 0))
	for r := range rows {
		t.bcast(b(r), mem(k, 4*r))
		t.bcast(c(r), mem(q, 4*r))
	}
	t.vectors(func(j int) {
		t.load(x, t.part(xp, j))
		t.load(y, t.part(yp, j))
		for r := range rows {
			t.mul(state(r, j), decay, state(r, j))
			t.mul(p, x, b(r))
			t.add(state(r, j), state(r, j), p)
			t.mul(p, state(r, j), c(r))
			t.add(y, p, y)
		}
		t.store(t.part(yp, j), y)
	})
	t.ADDQ(mem(a, raXStride), xp)
	t.ADDQ(mem(a, raYStride), yp)
	t.ADDQ(mem(a, raKStride), k)
	t.ADDQ(mem(a, raQStride), q)
	t.ADDQ(mem(a, raGStride), g)
	t.DECQ(n)
	t.JNZ(operand.LabelRef(position))
	move(func(state, m operand.Op) { t.store(m, state) })
	t.LEAQ(operand.Mem{Base: s, Index: stride, Scale: rows}, s)
	t.ADDQ(operand.U8(4*rows), mem(a, raK))
	t.ADDQ(operand.U8(4*rows), mem(a, raQ))
	t.SUBQ(operand.U8(rows), left)
	t.JNZ(operand.LabelRef(tile))
	t.end()
}

// delta: the columns lie together in T, decayed for the position that comes; one pass through its rows is the update of a position and the sum of the next.
func (t *runner) delta() {
	a := t.begin(fmt.Sprintf("Run_delta%d", t.lanes()),
		fmt.Sprintf("is N times scalar.DeltaStep for %d columns: V is X, decays are G; T holds Rows × %d numbers.", t.lanes(), t.lanes()))
	d, next, o := func(j int) reg.Register { return t.r(j) }, func(j int) reg.Register { return t.r(t.n + j) }, func(j int) reg.Register { return t.r(2*t.n + j) }
	g, kk, after, qq, s, p := t.r(3*t.n), t.r(3*t.n+1), t.r(3*t.n+2), t.r(3*t.n+3), t.r(3*t.n+4), t.r(3*t.n+5)
	clearNext := func() { t.vectors(func(j int) { t.zero(t.n + j) }) }
	rows, tp, sp := t.GP64(), t.GP64(), t.GP64()
	step := t.field(a, raGStep)
	first, position, both, last, final := t.label("first"), t.label("position"), t.label("both"), t.label("last"), t.label("final")
	begin := func() {
		t.MOVQ(mem(a, raRows), rows)
		t.MOVQ(mem(a, raT), tp)
	}

	clearNext()
	begin()
	t.MOVQ(mem(a, raS), sp)
	k, decay := t.field(a, raK), t.next(a, raG, raGStride)
	t.Label(first)
	t.bcast(g, mem(decay, 0))
	t.bcast(kk, mem(k, 0))
	t.vectors(func(j int) {
		t.mul(s, g, t.part(sp, j))
		t.store(t.part(tp, j), s)
		t.mul(s, s, kk)
		t.add(next(j), s, next(j))
	})
	t.ADDQ(step, decay)
	t.ADDQ(operand.U8(4), k)
	t.ADDQ(mem(a, raStride), sp)
	t.ADDQ(operand.I32(t.n*t.vecBytes()), tp)
	t.DECQ(rows)
	t.JNZ(operand.LabelRef(first))

	t.Label(position)
	x, beta := t.next(a, raX, raXStride), t.field(a, raBeta)
	t.bcast(kk, mem(beta, 0))
	t.ADDQ(operand.U8(4), mem(a, raBeta))
	t.vectors(func(j int) {
		t.load(s, t.part(x, j))
		t.sub(d(j), s, next(j))
		t.mul(d(j), d(j), kk)
		t.zero(2*t.n + j)
	})
	t.MOVQ(t.next(a, raK, raKStride), k)
	q, y := t.next(a, raQ, raQStride), t.next(a, raY, raYStride)
	begin()
	// The state with the position in it, and what it gives.
	update := func() {
		t.bcast(kk, mem(k, 0))
		t.bcast(qq, mem(q, 0))
	}
	one := func(j int) {
		t.mul(p, d(j), kk)
		t.add(s, p, t.part(tp, j))
		t.mul(p, s, qq)
		t.add(o(j), p, o(j))
	}
	t.DECQ(mem(a, raN))
	t.JZ(operand.LabelRef(last))
	clearNext()
	k2 := t.field(a, raK)
	t.MOVQ(t.next(a, raG, raGStride), decay)
	t.Label(both)
	t.bcast(g, mem(decay, 0))
	t.bcast(after, mem(k2, 0))
	update()
	t.vectors(func(j int) {
		one(j)
		t.mul(s, g, s)
		t.store(t.part(tp, j), s)
		t.mul(s, s, after)
		t.add(next(j), s, next(j))
	})
	t.ADDQ(step, decay)
	for _, r := range []reg.GPVirtual{k, k2, q} {
		t.ADDQ(operand.U8(4), r)
	}
	t.ADDQ(operand.I32(t.n*t.vecBytes()), tp)
	t.DECQ(rows)
	t.JNZ(operand.LabelRef(both))
	t.vectors(func(j int) { t.store(t.part(y, j), o(j)) })
	t.JMP(operand.LabelRef(position))

	t.Label(last)
	t.MOVQ(mem(a, raS), sp)
	t.Label(final)
	update()
	t.vectors(func(j int) {
		one(j)
		t.store(t.part(sp, j), s)
	})
	t.ADDQ(operand.U8(4), k)
	t.ADDQ(operand.U8(4), q)
	t.ADDQ(mem(a, raStride), sp)
	t.ADDQ(operand.I32(t.n*t.vecBytes()), tp)
	t.DECQ(rows)
	t.JNZ(operand.LabelRef(final))
	t.vectors(func(j int) { t.store(t.part(y, j), o(j)) })
	t.end()
}

// conv: the inputs before are in registers, which change places from position to position.
func (v *vm) conv(taps int) {
	a := v.begin(fmt.Sprintf("Run_conv%d", taps), fmt.Sprintf("is N positions of a convolution over %d of them for Rows channels, a multiple of 16: the inputs before are S, weights K, "+
		"both in rows of Stride; the bias is Q, nil for none.", taps))
	s, stride, w, bias := v.field(a, raS), v.field(a, raStride), v.field(a, raK), v.field(a, raQ)
	x0, y0, left := v.field(a, raX), v.field(a, raY), v.field(a, raRows)
	x, y, n := v.GP64(), v.GP64(), v.GP64()
	// Of one part: inputs before, weights, the bias, the sum, the input, a product.
	before := func(k int) reg.Register { return v.r(k) }
	weight := func(k int) reg.Register { return v.r(taps - 1 + k) }
	b, sum, in, p := v.r(2*taps-1), v.r(2*taps), v.r(2*taps+1), v.r(2*taps+2)
	block := v.label("block")
	v.Label(block)
	for part := range v.parts() {
		off := part * v.vecBytes()
		row, wrow := v.GP64(), v.GP64()
		v.MOVQ(s, row)
		v.MOVQ(w, wrow)
		for k := range taps {
			v.load(weight(k), mem(wrow, off))
			v.ADDQ(stride, wrow)
			if k < taps-1 {
				v.load(before(k), mem(row, off))
				v.ADDQ(stride, row)
			}
		}
		v.MOVQ(x0, x)
		v.MOVQ(y0, y)
		v.MOVQ(mem(a, raN), n)
		run := func(biased bool) {
			loop := v.label("position")
			v.Label(loop)
			v.load(in, mem(x, off))
			v.mul(sum, before(0), weight(0))
			for k := 1; k < taps-1; k++ {
				v.mul(p, before(k), weight(k))
				v.add(sum, p, sum)
				v.VMOVAPS(before(k), before(k-1))
			}
			v.mul(p, in, weight(taps-1))
			v.add(sum, p, sum)
			v.VMOVAPS(in, before(taps-2))
			if biased {
				v.add(sum, sum, b)
			}
			v.store(mem(y, off), sum)
			v.ADDQ(mem(a, raXStride), x)
			v.ADDQ(mem(a, raYStride), y)
			v.DECQ(n)
			v.JNZ(operand.LabelRef(loop))
		}
		plain, done := v.label("plain"), v.label("done")
		v.TESTQ(bias, bias)
		v.JZ(operand.LabelRef(plain))
		v.load(b, mem(bias, off))
		run(true)
		v.JMP(operand.LabelRef(done))
		v.Label(plain)
		run(false)
		v.Label(done)
		v.MOVQ(s, row)
		for k := range taps - 1 {
			v.store(mem(row, off), before(k))
			v.ADDQ(stride, row)
		}
	}
	for _, r := range []reg.GPVirtual{s, w, x0, y0} {
		v.ADDQ(operand.U8(64), r)
	}
	over := v.label("over")
	v.TESTQ(bias, bias)
	v.JZ(operand.LabelRef(over))
	v.ADDQ(operand.U8(64), bias)
	v.Label(over)
	v.SUBQ(operand.U8(16), left)
	v.JNZ(operand.LabelRef(block))
	v.end()
}
