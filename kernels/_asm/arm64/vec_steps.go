package main

// stepFile writes the rows of recurrent layers: a row of the state is changed and added to what a position gives, in one pass. Offsets of factors are F, G and H of arm64.StepArgs.
func stepFile() {
	s := newSource("vec_steps", "StepArgs")
	row := func(name, doc string, body func(f *fn, row, x, y V, c []V)) {
		f := s.fn("Step_"+name+"_dotprod", doc)
		c := f.vs(3)
		r := f.r()
		for i, v := range c {
			f.ins("ADD $%d, R0, R%d", 32+4*i, r)
			f.ld1r(v, r)
		}
		f.putR(r)
		state, x, y, n := f.field(0), f.field(8), f.field(16), f.field(24)
		f.ins("LSR $2, R%d", n)
		v := f.vs(3)
		f.loop(n, func() {
			f.ldq(v[0], state, 0)
			f.ldq(v[1], x, 0)
			f.ldq(v[2], y, 0)
			body(f, v[0], v[1], v[2], c)
			f.stq(v[0], state, 0)
			f.stq(v[2], y, 0)
			f.add(state, 16)
			f.add(x, 16)
			f.add(y, 16)
		})
	}
	row("scan", "gives State = State·F + X·G; Y = State·H + Y.", func(f *fn, s, x, y V, c []V) {
		f.op("fmul.4s", s, s, c[0])
		f.op("fmul.4s", x, x, c[1])
		f.op("fadd.4s", s, s, x)
		f.op("fmul.4s", x, s, c[2])
		f.op("fadd.4s", y, x, y)
	})
	row("decay", "gives State = State·F; Y = State·G + Y. X is read only.", func(f *fn, s, x, y V, c []V) {
		f.op("fmul.4s", s, s, c[0])
		f.op("fmul.4s", x, s, c[1])
		f.op("fadd.4s", y, x, y)
	})
	row("update", "gives State = X·F + State; Y = State·G + Y.", func(f *fn, s, x, y V, c []V) {
		f.op("fmul.4s", x, x, c[0])
		f.op("fadd.4s", s, x, s)
		f.op("fmul.4s", x, s, c[1])
		f.op("fadd.4s", y, x, y)
	})
}
