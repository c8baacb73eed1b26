package main

import "jns/kernels/scalar"

// The functions of kernels/scalar/vec_math.go on vectors, with the same operations in the same order.

// horner is p·x + c into a register of its own.
func (f *fn) horner(p *V, x V, c float32) {
	t := f.v()
	f.mov(t, f.fixF(c))
	f.op("fmla.4s", t, *p, x)
	f.put(*p)
	*p = t
}

func (f *fn) poly(x V, c ...float32) V {
	p := f.v()
	f.mov(p, f.fixF(c[0]))
	for _, c := range c[1:] {
		f.horner(&p, x, c)
	}
	return p
}

// exp is scalar.Exp of x, in place.
func (f *fn) exp(x V) {
	f.op("fmin.4s", x, x, f.fixF(scalar.ExpMax))
	n := f.v()
	f.mov(n, f.fixF(scalar.ExpRound))
	f.op("fmla.4s", n, x, f.fixF(scalar.ExpLog2E))
	f.op("fsub.4s", n, n, f.fixF(scalar.ExpRound))
	f.op("fmls.4s", x, n, f.fixF(scalar.ExpLn2Hi))
	f.op("fmls.4s", x, n, f.fixF(scalar.ExpLn2Lo))
	p := f.poly(x, scalar.ExpC6, scalar.ExpC5, scalar.ExpC4, scalar.ExpC3, scalar.ExpC2, 1, 1)
	f.op("fcmgt.4s", x, f.fixF(scalar.ExpMinN), n)
	f.un("fcvtns", n, n)
	a := f.v()
	f.sshr("4s", a, n, 1)
	f.op("sub.4s", n, n, a)
	f.op("add.4s", a, a, f.fix(127))
	f.op("add.4s", n, n, f.fix(127))
	f.shl("4s", a, a, 23)
	f.shl("4s", n, n, 23)
	f.op("fmul.4s", p, p, a)
	f.op("fmul.4s", p, p, n)
	f.op("bic.16b", x, p, x)
	f.put(n, a, p)
}

// logistic is x / (1 + Exp(w)), into x; w is used up.
func (f *fn) logistic(x, w V) {
	f.exp(w)
	f.op("fadd.4s", w, w, f.fixF(1))
	f.op("fdiv.4s", x, x, w)
}

func (f *fn) abs(d, x V) { f.un("fabs", d, x) }

// tanh is scalar.Tanh of y, in place.
func (f *fn) tanh(y V) {
	a, big, u := f.v(), f.v(), f.v()
	f.abs(a, y)
	f.op("fcmge.4s", big, a, f.fixF(scalar.TanhSmall)) // false for NaN
	f.op("fadd.4s", a, a, a)
	f.exp(a)
	f.op("fadd.4s", a, a, f.fixF(1))
	f.op("fdiv.4s", a, f.fixF(2), a)
	f.op("fsub.4s", a, f.fixF(1), a)
	f.op("and.16b", u, y, f.fix(1<<31))
	f.op("orr.16b", a, a, u)
	f.op("fmul.4s", u, y, y)
	p := f.poly(u, scalar.TanhC4, scalar.TanhC3, scalar.TanhC2, scalar.TanhC1, scalar.TanhC0)
	f.op("fmul.4s", u, y, u)
	f.op("fmla.4s", y, u, p)
	f.op("bit.16b", y, a, big)
	f.put(a, big, u, p)
}

// phi is scalar.Phi of x into a new register.
func (f *fn) phi(x V) V {
	z, t := f.v(), f.v()
	f.abs(z, x)
	f.mov(t, f.fixF(1))
	f.op("fmla.4s", t, z, f.fixF(scalar.PhiK))
	f.op("fdiv.4s", t, f.fixF(1), t)
	p := f.poly(t, scalar.PhiC8, scalar.PhiC7, scalar.PhiC6, scalar.PhiC5, scalar.PhiC4, scalar.PhiC3, scalar.PhiC2, scalar.PhiC1, scalar.PhiC0)
	f.op("fmul.4s", p, p, t)
	f.op("fmul.4s", t, z, f.fixF(-0.5))
	f.op("fmul.4s", z, t, z)
	f.exp(z)
	f.op("fmul.4s", p, p, z)
	f.op("fsub.4s", z, f.fixF(1), p)
	f.movi(t, 0)
	f.op("fcmge.4s", t, x, t) // false for NaN
	f.op("bit.16b", p, z, t)
	f.put(z, t)
	return p
}
