package main

import (
	"jns/kernels/scalar"
)

// Offsets in arm64.VecArgs.
const (
	vaDst   = 0
	vaA     = 8
	vaB     = 16
	vaC     = 24
	vaN     = 32
	vaF     = 40
	vaG     = 44
	vaU     = 48 // four words
	vaLanes = 64
)

// Vector functions take sixteen elements at a time, N being a multiple of that, at least 16: package kernels does what is left. Sums leave their sixteen lanes in Lanes.
func vecFile() {
	s := newSource("vec", "VecArgs")
	elem := func(name, doc string, inputs int, body func(f *fn, x []V)) {
		f := s.fn("Vec_"+name+"_dotprod", doc)
		f.each(inputs, true, 1, func(x []V, _ int) { body(f, x) })
	}
	factor := func(f *fn, off int) V {
		v := f.v()
		r := f.r()
		f.ins("ADD $%d, R0, R%d", off, r)
		f.ld1r(v, r)
		f.putR(r)
		return v
	}
	scaled := func(name, doc string, inputs, factors int, body func(f *fn, x []V, c []V)) {
		f := s.fn("Vec_"+name+"_dotprod", doc)
		var c []V
		for i := range factors {
			c = append(c, factor(f, vaF+4*i))
		}
		f.each(inputs, true, 1, func(x []V, _ int) { body(f, x, c) })
	}
	scaled("addscaled", "is scalar.AddScaled: Dst = B·F + A.", 2, 1, func(f *fn, x, c []V) {
		f.op("fmul.4s", x[1], x[1], c[0])
		f.op("fadd.4s", x[0], x[1], x[0])
	})
	scaled("scale", "is scalar.Scale: Dst = A·F.", 1, 1, func(f *fn, x, c []V) { f.op("fmul.4s", x[0], x[0], c[0]) })
	elem("mul", "is scalar.Mul: Dst = A·B.", 2, func(f *fn, x []V) { f.op("fmul.4s", x[0], x[0], x[1]) })
	elem("muladd", "is scalar.MulAdd: C = A·B + C; Dst is C.", 3, func(f *fn, x []V) {
		f.op("fmul.4s", x[0], x[0], x[1])
		f.op("fadd.4s", x[0], x[0], x[2])
	})
	scaled("scalemul", "gives Dst = (A·F)·B.", 2, 1, func(f *fn, x, c []V) {
		f.op("fmul.4s", x[0], x[0], c[0])
		f.op("fmul.4s", x[0], x[0], x[1])
	})
	scaled("subscale", "gives Dst = (A − G)·F.", 1, 2, func(f *fn, x, c []V) {
		f.op("fsub.4s", x[0], x[0], c[1])
		f.op("fmul.4s", x[0], x[0], c[0])
	})
	scaled("softcap", "is scalar.SoftCap: Dst = F·tanh(A·G), G = 1/F.", 1, 2, func(f *fn, x, c []V) {
		f.op("fmul.4s", x[0], x[0], c[1])
		f.tanh(x[0])
		f.op("fmul.4s", x[0], c[0], x[0])
	})
	for _, a := range []struct {
		name string
		body func(f *fn, x V)
	}{
		{"silu", func(f *fn, x V) {
			w := f.v()
			f.un("fneg", w, x)
			f.logistic(x, w)
			f.put(w)
		}},
		{"sigmoid", func(f *fn, x V) {
			f.un("fneg", x, x)
			f.exp(x)
			f.op("fadd.4s", x, x, f.fixF(1))
			f.op("fdiv.4s", x, f.fixF(1), x)
		}},
		{"gelu", func(f *fn, x V) {
			w, t := f.v(), f.v()
			f.op("fmul.4s", t, x, x)
			f.mov(w, f.fixF(1))
			f.op("fmla.4s", w, t, f.fixF(scalar.GELUCubic))
			f.op("fmul.4s", t, x, f.fixF(scalar.GELUScale))
			f.op("fmul.4s", w, t, w)
			f.put(t)
			f.logistic(x, w)
			f.put(w)
		}},
		{"geluquick", func(f *fn, x V) { f.quick(x) }},
		{"geluerf", func(f *fn, x V) {
			p := f.phi(x)
			f.op("fmul.4s", x, x, p)
			f.put(p)
		}},
		{"relu", func(f *fn, x V) { f.relu(x) }},
		{"relu2", func(f *fn, x V) {
			f.relu(x)
			f.op("fmul.4s", x, x, x)
		}},
		{"tanh", func(f *fn, x V) { f.tanh(x) }},
	} {
		elem(a.name, "is the activation: Dst = "+a.name+"(A).", 1, func(f *fn, x []V) { a.body(f, x[0]) })
		elem(a.name+"mul", "is the gated activation: Dst = "+a.name+"(A)·B.", 2, func(f *fn, x []V) {
			a.body(f, x[0])
			f.op("fmul.4s", x[0], x[0], x[1])
		})
	}
	elem("swigluoai", "is scalar.SwigluOAI of A and B.", 2, func(f *fn, x []V) {
		f.op("fmin.4s", x[0], x[0], f.fixF(7))
		f.op("fmin.4s", x[1], x[1], f.fixF(7))
		f.op("fmax.4s", x[1], x[1], f.fixF(-7))
		f.quick(x[0])
		f.op("fadd.4s", x[1], x[1], f.fixF(1))
		f.op("fmul.4s", x[0], x[0], x[1])
	})

	reduce := func(name, doc string, dst bool, body func(f *fn, x, lane V, c []V)) {
		f := s.fn("Vec_"+name+"_dotprod", doc)
		c := []V{factor(f, vaF)}
		lanes := f.vs(4)
		for _, v := range lanes {
			f.movi(v, 0)
		}
		f.each(1, dst, 0, func(x []V, i int) { body(f, x[0], lanes[i], c) })
		for i, v := range lanes {
			f.stq(v, 0, vaLanes+16*i)
		}
	}
	reduce("sum", "adds A up in sixteen lanes.", false, func(f *fn, x, l V, _ []V) { f.op("fadd.4s", l, l, x) })
	reduce("sumsq", "adds the squares of A up in sixteen lanes.", false, func(f *fn, x, l V, _ []V) { f.op("fmla.4s", l, x, x) })
	reduce("sumsqdev", "adds the squares of A − F up in sixteen lanes.", false, func(f *fn, x, l V, c []V) {
		f.op("fsub.4s", x, x, c[0])
		f.op("fmla.4s", l, x, x)
	})
	reduce("expsum", "gives Dst = Exp(A − F) and adds that up in sixteen lanes.", true, func(f *fn, x, l V, c []V) {
		f.op("fsub.4s", x, x, c[0])
		f.exp(x)
		f.op("fadd.4s", l, l, x)
	})
	maxAbs(s.fn("Vec_max_dotprod", "leaves the largest numbers of sixteen lanes in Lanes, NaN left out, from −Inf, and the largest magnitudes as bits in U."))
	ropeNeox(s.fn("Vec_ropeneox_dotprod", "rotates pairs (Dst, C) by A (cos) and B (sin)."))
	ropePairs(s.fn("Vec_ropepairs_dotprod", "rotates pairs of neighbours in Dst by A (cos) and B (sin); N counts pairs."))
	quantize(s.fn("Vec_quantize_dotprod", "is scalar.Quantize: N blocks (at least 1) of A to Dst."), false)
	quantize(s.fn("Vec_quantizefine_dotprod", "is scalar.QuantizeFine: N blocks (at least 1) of A to Dst, what rounding left of them to C."), true)
	storeV(s.fn("Vec_storev_dotprod", "rounds A to halves in Dst."))
	storeK(s.fn("Vec_storek_dotprod", "rounds A to halves, each 128 bytes after the one before."))
	attendFile()
}

func (f *fn) quick(x V) {
	w := f.v()
	f.op("fmul.4s", w, x, f.fixF(scalar.GELUQuick))
	f.logistic(x, w)
	f.put(w)
}

// relu gives +0 for what is not above 0.
func (f *fn) relu(x V) {
	t, z := f.v(), f.v()
	f.movi(z, 0)
	f.op("fcmgt.4s", t, x, z)
	f.op("and.16b", x, x, t)
	f.put(t, z)
}

// each runs the body for four quarters of sixteen elements, with a register of each input in it, whose first is stored. group is how the quarters are written: 1 one after the
// other.
func (f *fn) each(inputs int, store bool, _ int, body func(x []V, quarter int)) {
	var src []R
	for i := range inputs {
		src = append(src, f.field(vaA+8*i))
	}
	dst := f.field(vaDst)
	n := f.field(vaN)
	f.ins("LSR $4, R%d", n)
	f.loop(n, func() {
		all := make([][]V, 4)
		for i := range all {
			all[i] = f.vs(inputs)
			for j, p := range src {
				f.ldq(all[i][j], p, 16*i)
			}
			body(all[i], i)
			if store {
				f.stq(all[i][0], dst, 16*i)
			}
			f.put(all[i]...)
		}
		for _, p := range src {
			f.add(p, 64)
		}
		f.add(dst, 64)
	})
}

func maxAbs(f *fn) {
	m, u := f.vs(4), f.vs(4)
	for i := range m {
		f.mov(m[i], f.fix(0xff800000))
		f.movi(u[i], 0)
	}
	f.each(1, false, 0, func(x []V, i int) {
		t := f.v()
		f.op("fcmgt.4s", t, x[0], m[i])
		f.op("bit.16b", m[i], x[0], t)
		f.abs(t, x[0])
		f.op("umax.4s", u[i], u[i], t)
		f.put(t)
	})
	f.op("umax.4s", u[0], u[0], u[1])
	f.op("umax.4s", u[2], u[2], u[3])
	f.op("umax.4s", u[0], u[0], u[2])
	f.stq(u[0], 0, vaU)
	for i, v := range m {
		f.stq(v, 0, vaLanes+16*i)
	}
}

// turn rotates a and b by c and s.
func (f *fn) turn(a, b, c, s V) {
	t, u := f.v(), f.v()
	f.op("fmul.4s", t, b, s)
	f.op("fmul.4s", u, a, s)
	f.op("fmul.4s", a, a, c)
	f.op("fmul.4s", b, b, c)
	f.op("fsub.4s", a, a, t)
	f.op("fadd.4s", b, b, u)
	f.put(t, u)
}

func ropeNeox(f *fn) {
	x, cos, sin, y, n := f.field(vaDst), f.field(vaA), f.field(vaB), f.field(vaC), f.field(vaN)
	f.ins("LSR $2, R%d", n)
	v := f.vs(4)
	f.loop(n, func() {
		for i, p := range []R{x, y, cos, sin} {
			f.ldq(v[i], p, 0)
		}
		f.turn(v[0], v[1], v[2], v[3])
		f.stq(v[0], x, 0)
		f.stq(v[1], y, 0)
		for _, p := range []R{x, y, cos, sin} {
			f.add(p, 16)
		}
	})
}

func ropePairs(f *fn) {
	x, cos, sin, n := f.field(vaDst), f.field(vaA), f.field(vaB), f.field(vaN)
	f.ins("LSR $2, R%d", n)
	v, w := f.vs(4), f.vs(2)
	f.loop(n, func() {
		f.ldq(w[0], x, 0)
		f.ldq(w[1], x, 16)
		f.op("uzp1.4s", v[0], w[0], w[1])
		f.op("uzp2.4s", v[1], w[0], w[1])
		f.ldq(v[2], cos, 0)
		f.ldq(v[3], sin, 0)
		f.turn(v[0], v[1], v[2], v[3])
		f.op("zip1.4s", w[0], v[0], v[1])
		f.op("zip2.4s", w[1], v[0], v[1])
		f.stq(w[0], x, 0)
		f.stq(w[1], x, 16)
		f.add(x, 32)
		f.add(cos, 16)
		f.add(sin, 16)
	})
}

func storeV(f *fn) {
	dst, x, n := f.field(vaDst), f.field(vaA), f.field(vaN)
	f.ins("LSR $3, R%d", n)
	a, b := f.v(), f.v()
	f.loop(n, func() {
		f.ldq(a, x, 0)
		f.ldq(b, x, 16)
		f.un("fcvtn", a, a)
		f.un("fcvtn2", a, b)
		f.stq(a, dst, 0)
		f.add(x, 32)
		f.add(dst, 16)
	})
}

func storeK(f *fn) {
	dst, x, n := f.field(vaDst), f.field(vaA), f.field(vaN)
	f.ins("LSR $2, R%d", n)
	a := f.v()
	f.loop(n, func() {
		f.ldq(a, x, 0)
		f.un("fcvtn", a, a)
		for i := range 4 {
			f.st1h(a, i, dst)
			f.add(dst, 128)
		}
		f.add(x, 16)
	})
}

// quantize keeps a block in eight registers.
func quantize(f *fn, fine bool) {
	dst, x, n := f.field(vaDst), f.field(vaA), f.field(vaN)
	lo := f.field(vaC)
	loop, next := f.label("loop"), f.label("next")
	v := f.vs(8)
	f.at(loop)
	for i := range v {
		f.ldq(v[i], x, 16*i)
	}
	f.quantizeBlock(v, dst, lo, next, fine)
	if fine {
		f.quantizeBlock(v, lo, 0, next, false)
	}
	f.at(next)
	f.add(dst, q8xBytes)
	f.add(lo, q8xBytes)
	f.add(x, 128)
	f.ins("SUB $1, R%d", n)
	f.ins("CBNZ R%d, %s", n, loop)
}

// quantizeBlock writes v as a block to dst and goes on; a block that is 0 or not a number is written (to lo too, if fine) before going to next. With fine, v becomes what is left.
func (f *fn) quantizeBlock(v []V, dst, lo R, next string, fine bool) {
	m, d, id, t := f.v(), f.v(), f.v(), f.v()
	f.abs(m, v[0])
	for _, x := range v[1:] {
		f.abs(t, x)
		f.op("umax.4s", m, m, t)
	}
	f.un("umaxv", m, m)
	bits, limit := f.r(), f.r()
	f.umov(bits, m, 0)
	zero, nan, go_ := f.label("zero"), f.label("nan"), f.label("number")
	f.ins("MOVW $0x%08x, R%d", scalar.Q8XMin, limit)
	f.ins("CMPW R%d, R%d", limit, bits)
	f.ins("BLO %s", zero)
	f.ins("MOVW $0x%08x, R%d", scalar.Q8XInf, limit)
	f.ins("CMPW R%d, R%d", limit, bits)
	f.ins("BLO %s", go_)
	f.at(nan)
	f.movi(t, 0)
	f.word32(d, 0x7fc00000)
	f.op("zip1.2d", d, d, t)
	tail := f.label("special")
	f.ins("B %s", tail)
	f.at(zero)
	f.movi(t, 0)
	f.movi(d, 0)
	f.at(tail)
	outs := []R{dst}
	if fine {
		outs = append(outs, lo)
	}
	for _, p := range outs {
		f.stq(t, p, 0)
		f.stq(t, p, 16)
		f.stq(d, p, 32)
	}
	f.ins("B %s", next)
	f.at(go_)
	f.putR(bits, limit)

	f.dupS(m, m, 0)
	f.op("fdiv.4s", d, m, f.fixF(127))
	f.op("fdiv.4s", id, f.fixF(1), d)
	q := v
	if fine {
		q = f.vs(8)
	}
	for i := range v {
		f.op("fmul.4s", q[i], v[i], id)
		f.un("fcvtns", q[i], q[i])
	}
	first, sum := m, id
	f.op("add.4s", first, q[0], q[1])
	f.op("add.4s", t, q[2], q[3])
	f.op("add.4s", first, first, t)
	f.op("add.4s", sum, q[4], q[5])
	f.op("add.4s", t, q[6], q[7])
	f.op("add.4s", sum, sum, t)
	f.op("add.4s", sum, sum, first)
	f.un("addv", first, first)
	f.un("addv", sum, sum)
	f.un("scvtf", t, sum)
	f.op("fmul.4s", t, d, t)
	f.op("zip1.4s", t, d, t)
	f.op("zip1.4s", sum, sum, first)
	f.shl("4s", sum, sum, 7)
	f.un("neg", sum, sum)
	f.op("zip1.2d", t, t, sum)
	f.stq(t, dst, 32)
	for h := range 2 {
		a, b := q[4*h:], f.v()
		f.op("uzp1.8h", t, a[0], a[1])
		f.op("uzp1.8h", b, a[2], a[3])
		f.op("uzp1.16b", t, t, b)
		f.stq(t, dst, 16*h)
		f.put(b)
	}
	if fine {
		for i := range v {
			f.un("scvtf", q[i], q[i])
			f.op("fmls.4s", v[i], d, q[i])
		}
		f.put(q...)
	}
	f.put(m, d, id, t)
}
