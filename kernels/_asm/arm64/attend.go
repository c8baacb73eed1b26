package main

import "fmt"

// Offsets in arm64.AttendStep.
const (
	asQ = 8 * iota
	asQStride
	asK
	asV
	asS
	asO
	asOStride
	asD
	asDV
	asLo
	asHi
	asAny
	asScale // float32

)

const (
	asAlpha  = 112 // [4]float32, on 16 bytes for its offset to be one of a register
	asBeta   = asAlpha + 16
	asActive = asAlpha + 32
)

// attendFile writes the two halves of attention to a page, for one to four queries; what lies between, on 64 scores a query, is made of vector functions.
func attendFile() {
	s := newSource("attend", "AttendStep")
	for n := 1; n <= 4; n++ {
		scores(s.fn(fmt.Sprintf("Attend_scores%d_dotprod", n), fmt.Sprintf("writes the scores of %d queries with all 64 positions, times Scale, to S.", n)), n)
	}
	for n := 1; n <= 4; n++ {
		weigh(s.fn(fmt.Sprintf("Attend_weigh%d_dotprod", n), fmt.Sprintf("adds the values, weighted with S, to the outputs of %d queries.", n)), n)
	}
}

// scores takes sixteen positions at a time, 32 for one query, so that there are enough chains.
func scores(f *fn, n int) {
	quads := 4
	if n == 1 {
		quads = 8
	}
	qstride, k, s := f.field(asQStride), f.field(asK), f.field(asS)
	chunks, d, at := f.r(), f.r(), f.r()
	var q []R
	for range n {
		q = append(q, f.r())
	}
	scale := f.v()
	f.lds(scale, 0, asScale)
	acc := f.vs(n * quads)
	f.ins("MOVD $%d, R%d", 16/quads, chunks)
	f.loop(chunks, func() {
		f.ins("MOVD %d(R0), R%d", asQ, q[0])
		for i := 1; i < n; i++ {
			f.ins("ADD R%d, R%d, R%d", qstride, q[i-1], q[i])
		}
		f.ins("MOVD %d(R0), R%d", asD, d)
		f.ins("MOVD R%d, R%d", k, at)
		for _, v := range acc {
			f.movi(v, 0)
		}
		f.loop(d, func() {
			x := f.vs(n)
			for i := range n {
				f.lds(x[i], q[i], 0)
				f.add(q[i], 4)
			}
			for h := 0; h < quads; h += 2 {
				a, b := f.v(), f.v()
				f.ldq(b, at, 8*h)
				f.un("fcvtl", a, b)
				f.un("fcvtl2", b, b)
				for i := range n {
					f.fmlaLane(acc[i*quads+h], a, x[i], 0)
					f.fmlaLane(acc[i*quads+h+1], b, x[i], 0)
				}
				f.put(a, b)
			}
			f.put(x...)
			f.add(at, 128)
		})
		for i := range n {
			for h := range quads {
				v := acc[i*quads+h]
				f.fmulLane(v, v, scale, 0)
				f.stq(v, s, 256*i+16*h)
			}
		}
		f.add(k, 8*quads)
		f.add(s, 16*quads)
	})
}

// weigh takes sixteen columns at a time, and eight that may be left. Positions that only some of the queries see have their bits in Active.
func weigh(f *fn, n int) {
	v0, s, o0, ostride := f.field(asV), f.field(asS), f.field(asO), f.field(asOStride)
	dv, lo, hi, any := f.field(asDV), f.field(asLo), f.field(asHi), f.field(asAny)
	row, cols := f.r(), f.r()
	f.ins("LSL $1, R%d, R%d", dv, row)
	// Pointers to position lo.
	t := f.r()
	f.ins("MUL R%d, R%d, R%d", row, lo, t)
	f.ins("ADD R%d, R%d", t, v0)
	f.ins("ADD R%d<<2, R%d", lo, s)
	f.ins("ADD R%d<<1, R0, R%d", lo, t)
	f.add(t, asActive)
	active := t
	f.ins("SUB R%d, R%d", lo, hi)
	alpha, beta := f.v(), f.v()
	f.ldq(alpha, 0, asAlpha)
	f.ldq(beta, 0, asBeta)
	f.ins("LSR $4, R%d, R%d", dv, cols)
	wide, rest, done := f.label("wide"), f.label("rest"), f.label("done")
	part := func(quads int) {
		acc := f.vs(n * quads)
		for _, v := range acc {
			f.movi(v, 0)
		}
		v, e, a, count, bits := f.r(), f.r(), f.r(), f.r(), f.r()
		f.ins("MOVD R%d, R%d", v0, v)
		f.ins("MOVD R%d, R%d", s, e)
		f.ins("MOVD R%d, R%d", active, a)
		f.ins("MOVD R%d, R%d", hi, count)
		f.loop(count, func() {
			w := f.vs(quads)
			for h := 0; h < quads; h += 2 {
				f.ldq(w[h+1], v, 8*h)
				f.un("fcvtl", w[h], w[h+1])
				f.un("fcvtl2", w[h+1], w[h+1])
			}
			p := f.v()
			one := func(i int) {
				f.lds(p, e, 256*i)
				for h := range quads {
					f.fmlaLane(acc[i*quads+h], w[h], p, 0)
				}
			}
			if n == 1 {
				one(0)
			} else {
				some, seen := f.label("some"), f.label("seen")
				f.ins("MOVHU (R%d), R%d", a, bits)
				f.ins("CMP $%d, R%d", 1<<n-1, bits)
				f.ins("BNE %s", some)
				for i := range n {
					one(i)
				}
				f.ins("B %s", seen)
				f.at(some)
				for i := range n {
					skip := f.label("skip")
					f.ins("TBZ $%d, R%d, %s", i, bits, skip)
					one(i)
					f.at(skip)
				}
				f.at(seen)
			}
			f.put(p)
			f.put(w...)
			f.ins("ADD R%d, R%d", row, v)
			f.add(e, 4)
			f.add(a, 2)
		})
		zero, old := f.v(), f.v()
		f.movi(zero, 0)
		f.ins("MOVD R%d, R%d", o0, v)
		for i := range n {
			skip := f.label("unseen")
			f.ins("TBZ $%d, R%d, %s", i, any, skip)
			for h := range quads {
				c := acc[i*quads+h]
				f.ldq(old, v, 16*h)
				f.op("fadd.4s", c, c, zero)
				f.fmulLane(old, old, alpha, i)
				f.fmulLane(c, c, beta, i)
				f.op("fadd.4s", c, old, c)
				f.stq(c, v, 16*h)
			}
			f.at(skip)
			if i < n-1 {
				f.ins("ADD R%d, R%d", ostride, v)
			}
		}
		f.put(zero, old)
		f.put(acc...)
		f.putR(v, e, a, count, bits)
		f.add(v0, 8*quads)
		f.add(o0, 16*quads)
	}
	f.ins("CBZ R%d, %s", cols, rest)
	f.at(wide)
	part(4)
	f.ins("SUB $1, R%d", cols)
	f.ins("CBNZ R%d, %s", cols, wide)
	f.at(rest)
	f.ins("TBZ $3, R%d, %s", dv, done)
	part(2)
	f.at(done)
}
