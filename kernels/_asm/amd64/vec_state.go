package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"jns/kernels/scalar"
)

var (
	_ = emit(source{name: "state_avx512vnni", args: "StateArgs", gen: func(c *build.Context) { stateFile(newVM(c, true)) }})
	_ = emit(source{name: "state_avx2", args: "StateArgs", gen: func(c *build.Context) { stateFile(newVM(c, false)) }})
)

// Offsets in amd64.StateArgs.
const (
	saS = 8 * iota
	saStride
	saRows
	saX
	saY
	saG
	saGStep
	saK
	saQ
	saP
	saR
	saBeta
)

// stateFile has the steps of recurrent layers. Lanes never meet, so a block of columns goes through all rows with its sums in registers: four vectors, whose chains of additions
// hide each other's latency, or 16 lanes for what is left.
func stateFile(v *vm) {
	for _, vectors := range []int{4, v.parts()} {
		t := &stepper{vm: v, n: vectors}
		t.scan()
		t.delta()
		t.wkv()
	}
	v.mulAdd()
	v.sigmoid()
	v.softplus()
}

// mulAdd: Y = X·K + Y, the product rounded.
func (v *vm) mulAdd() {
	a := v.begin("Step_muladd", "is scalar.MulAdd for Rows numbers: Y = X·K + Y.")
	x, k, y, n := v.field(a, saX), v.field(a, saK), v.field(a, saY), v.field(a, saRows)
	v.each(n, []reg.GPVirtual{x, k, y}, func(s step) {
		p, q := v.r(2*s.part), v.r(2*s.part+1)
		s.load(p, x)
		s.load(q, k)
		v.mul(p, p, q)
		s.load(q, y)
		v.add(p, p, q)
		s.store(y, p)
	})
	v.end()
}

// stepper writes steps over n vectors of columns.
type stepper struct {
	*vm
	n    int
	rows reg.GPVirtual // left
	s    reg.GPVirtual // the row
}

func (t *stepper) lanes() int { return t.n * t.vecBytes() / 4 }

func (t *stepper) start(name, doc string) reg.GPVirtual {
	return t.begin(fmt.Sprintf("%s%d", name, t.lanes()), fmt.Sprintf(doc, t.lanes()))
}

// vectors calls f with every vector's number.
func (t *stepper) vectors(f func(j int)) {
	for j := range t.n {
		f(j)
	}
}

// part is vector j at a pointer.
func (t *stepper) part(p reg.Register, j int) operand.Mem { return mem(p, j*t.vecBytes()) }

// eachRow runs body for every row; the pointers to one number a row advance, that of the decay by its own step.
func (t *stepper) eachRow(a reg.Register, name string, numbers []reg.GPVirtual, body func()) {
	t.rows, t.s = t.field(a, saRows), t.field(a, saS)
	stride := t.field(a, saStride)
	loop := t.label(name)
	t.Label(loop)
	body()
	for _, p := range numbers {
		t.ADDQ(operand.U8(4), p)
	}
	t.ADDQ(stride, t.s)
	t.DECQ(t.rows)
	t.JNZ(operand.LabelRef(loop))
}

// scan: s = s·decay + x·k, y = Σ s·q, every product rounded.
func (t *stepper) scan() {
	a := t.start("Step_scan", "is scalar.ScanStep for %d columns: B is K, C is Q, the decay Beta.")
	x, y := func(j int) reg.Register { return t.r(j) }, func(j int) reg.Register { return t.r(t.n + j) }
	decay, b, c, s, p := t.r(2*t.n), t.r(2*t.n+1), t.r(2*t.n+2), t.r(2*t.n+3), t.r(2*t.n+4)
	in := t.field(a, saX)
	t.vectors(func(j int) {
		t.load(x(j), t.part(in, j))
		t.zero(t.n + j)
	})
	t.bcast(decay, mem(a, saBeta))
	k, q := t.field(a, saK), t.field(a, saQ)
	t.eachRow(a, "row", []reg.GPVirtual{k, q}, func() {
		t.bcast(b, mem(k, 0))
		t.bcast(c, mem(q, 0))
		t.vectors(func(j int) {
			t.mul(s, decay, t.part(t.s, j))
			t.mul(p, x(j), b)
			t.add(s, s, p)
			t.store(t.part(t.s, j), s)
			t.mul(s, s, c)
			t.add(y(j), s, y(j))
		})
	})
	out := t.field(a, saY)
	t.vectors(func(j int) { t.store(t.part(out, j), y(j)) })
	t.end()
}

// delta: s = s·g, d = (x − Σ s·k)·beta, s = d·k + s, o = Σ s·q. The decayed state is computed twice, which costs less than storing it.
func (t *stepper) delta() {
	a := t.start("Step_delta", "is scalar.DeltaStep for %d columns: V is X.")
	d, o := func(j int) reg.Register { return t.r(j) }, func(j int) reg.Register { return t.r(t.n + j) }
	g, kk, qq, s, p := t.r(2*t.n), t.r(2*t.n+1), t.r(2*t.n+2), t.r(2*t.n+3), t.r(2*t.n+4)
	t.vectors(func(j int) { t.zero(j) })
	decay, step, k := t.field(a, saG), t.field(a, saGStep), t.field(a, saK)
	t.eachRow(a, "sum", []reg.GPVirtual{k}, func() {
		t.bcast(g, mem(decay, 0))
		t.bcast(kk, mem(k, 0))
		t.ADDQ(step, decay)
		t.vectors(func(j int) {
			t.mul(s, g, t.part(t.s, j))
			t.mul(s, s, kk)
			t.add(d(j), s, d(j))
		})
	})
	x := t.field(a, saX)
	t.bcast(kk, mem(a, saBeta))
	t.vectors(func(j int) {
		t.load(s, t.part(x, j))
		t.sub(d(j), s, d(j))
		t.mul(d(j), d(j), kk)
		t.zero(t.n + j)
	})
	t.MOVQ(mem(a, saG), decay)
	t.MOVQ(mem(a, saK), k)
	q := t.field(a, saQ)
	t.eachRow(a, "update", []reg.GPVirtual{k, q}, func() {
		t.bcast(g, mem(decay, 0))
		t.bcast(kk, mem(k, 0))
		t.bcast(qq, mem(q, 0))
		t.ADDQ(step, decay)
		t.vectors(func(j int) {
			t.mul(s, g, t.part(t.s, j))
			t.mul(p, d(j), kk)
			t.add(s, p, s)
			t.store(t.part(t.s, j), s)
			t.mul(s, s, qq)
			t.add(o(j), s, o(j))
		})
	})
	y := t.field(a, saY)
	t.vectors(func(j int) { t.store(t.part(y, j), o(j)) })
	t.end()
}

// wkv: d = Σ s·p, s = (s·g + x·k) + d·r, o = Σ s·q.
func (t *stepper) wkv() {
	a := t.start("Step_wkv", "is scalar.WKVStep for %d columns: V is X, A is P, B is R, R is Q.")
	d, o := func(j int) reg.Register { return t.r(j) }, func(j int) reg.Register { return t.r(t.n + j) }
	g, kk, rr, qq, s, p := t.r(2*t.n), t.r(2*t.n+1), t.r(2*t.n+2), t.r(2*t.n+3), t.r(2*t.n+4), t.r(2*t.n+5)
	t.vectors(func(j int) {
		t.zero(j)
		t.zero(t.n + j)
	})
	n := t.field(a, saP)
	t.eachRow(a, "sum", []reg.GPVirtual{n}, func() {
		t.bcast(kk, mem(n, 0))
		t.vectors(func(j int) {
			t.mul(s, kk, t.part(t.s, j))
			t.add(d(j), s, d(j))
		})
	})
	x, decay, step := t.field(a, saX), t.field(a, saG), t.field(a, saGStep)
	k, q, r := t.field(a, saK), t.field(a, saQ), t.field(a, saR)
	t.eachRow(a, "update", []reg.GPVirtual{k, q, r}, func() {
		t.bcast(g, mem(decay, 0))
		t.bcast(kk, mem(k, 0))
		t.bcast(qq, mem(q, 0))
		t.bcast(rr, mem(r, 0))
		t.ADDQ(step, decay)
		t.vectors(func(j int) {
			t.mul(s, g, t.part(t.s, j))
			t.mul(p, kk, t.part(x, j))
			t.add(s, s, p)
			t.mul(p, d(j), rr)
			t.add(s, s, p)
			t.store(t.part(t.s, j), s)
			t.mul(s, s, qq)
			t.add(o(j), s, o(j))
		})
	})
	y := t.field(a, saY)
	t.vectors(func(j int) { t.store(t.part(y, j), o(j)) })
	t.end()
}

// onAll writes a function of every number of X, times K unless that is nil: f works on several trios at once, whose x has the number.
func (v *vm) onAll(name, doc string, f func(s []step, t []trio, x reg.Register)) {
	a := v.begin(name, doc)
	x, k, y, n, has := v.field(a, saX), v.field(a, saK), v.field(a, saY), v.field(a, saRows), v.GP64()
	v.MOVQ(k, has)
	v.eachMany(n, []reg.GPVirtual{x, k, y}, v.side(), func(s []step) {
		t := v.trios(0, len(s))
		for i := range t {
			s[i].load(t[i].x, x)
		}
		f(s, t, x)
		bare := v.label("bare")
		v.TESTQ(has, has)
		v.JZ(operand.LabelRef(bare))
		for i := range t {
			s[i].load(t[i].n, k)
			v.mul(t[i].x, t[i].x, t[i].n)
		}
		v.Label(bare)
		for i := range t {
			s[i].store(y, t[i].x)
		}
	})
	v.end()
}

func (v *vm) sigmoid() {
	v.onAll("Step_sigmoid", "is scalar.ActMul of the sigmoid for Rows numbers: Y = 1/(1 + e^−X)·K, without the product when K is nil.", func(_ []step, t []trio, _ reg.Register) {
		for _, r := range t {
			v.xor(r.x, r.x, v.splat(1<<31))
		}
		v.exps1(t)
		for _, r := range t {
			v.load(r.n, v.splatf(1))
			v.div(r.x, r.n, r.x)
		}
	})
}

// softplus: max(x, 0) + log1p(e^−|x|), the second by artanh's series as in scalar.
func (v *vm) softplus() {
	v.onAll("Step_softplus", "is scalar.ActMul of Softplus for Rows numbers: Y = ln(1 + e^X)·K, without the product when K is nil.", func(s []step, t []trio, x reg.Register) {
		for _, r := range t {
			v.or(r.x, r.x, v.splat(1<<31))
		}
		v.exps(t)
		for _, r := range t {
			v.add(r.n, r.x, v.splatf(2))
			v.div(r.x, r.x, r.n)
		}
		for _, r := range t {
			v.mul(r.n, r.x, r.x)
			v.poly(r.p, r.n, scalar.ArtanhC7, scalar.ArtanhC6, scalar.ArtanhC5, scalar.ArtanhC4, scalar.ArtanhC3, scalar.ArtanhC2, scalar.ArtanhC1, 2)
			v.mul(r.x, r.x, r.p)
		}
		for i, r := range t {
			// max gives its second operand for a NaN, which the sum is already.
			s[i].load(r.n, x)
			v.zeros(r.p)
			v.max(r.n, r.n, r.p)
			v.add(r.x, r.n, r.x)
		}
	})
}

func (v *vm) zeros(r reg.Register) {
	if v.wide {
		v.VPXORD(r, r, r)
	} else {
		v.VXORPS(r, r, r)
	}
}
