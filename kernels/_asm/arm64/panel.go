package main

import "fmt"

// form is what expanded weights look like: signed codes, scale groups and offset groups in 32 columns.
type form struct {
	name         string
	groups, offs int
}

var forms = []form{{"s8s", 1, 0}, {"s8m", 1, 1}, {"s8g", 2, 0}, {"s8n", 2, 2}}

func (p form) subBytes() int { return 64 * (p.groups + p.offs) }

func panelFile() {
	s := newSource("gemm_panel", "GemmArgs")
	for _, p := range forms {
		for _, n := range []int{4, 2, 1} {
			doc := fmt.Sprintf("multiplies Blocks × 32 expanded columns of a tile row, eight rows at a time, with Panels times %d activation rows.", n)
			panelDot(s.fn(fmt.Sprintf("Panel_%s_q8x_8x%d_dotprod", p.name, n), doc), p, n)
			panelMMLA(s.fn(fmt.Sprintf("Panel_%s_q8x_8x%d_i8mm", p.name, n), doc), p, n)
		}
	}
}

// panel is the frame of a panel kernel: panels of columns, in each the two halves of the rows, in each the blocks.
type panel struct {
	*fn
	form
	n             int
	codes, scales R
	x             []R
	y, ystride    R
	load          R
}

func newPanel(f *fn, p form, n int) *panel { return &panel{fn: f, form: p, n: n} }

func (p *panel) run(halfBytes int, start, block, finish func()) {
	codes0, scales0 := p.field(gaCodes), p.field(gaScales)
	x0, xstride := p.field(gaX), p.field(gaXStride)
	y0, panels := p.field(gaY), p.field(gaPanels)
	p.ystride, p.load = p.field(gaYStride), p.field(gaLoad)
	p.codes, p.scales, p.y = p.r(), p.r(), p.r()
	half, blocks := p.r(), p.r()
	for range p.n {
		p.x = append(p.x, p.r())
	}
	p.loop(panels, func() {
		p.ins("MOVD $2, R%d", half)
		p.loop(half, func() {
			// The second half comes first, so that the offset is made from the counter.
			p.ins("SUB $1, R%d, R%d", half, p.y)
			p.ins("LSL $%d, R%d, R%d", map[int]int{32: 5, 64: 6}[halfBytes], p.y, p.codes)
			p.ins("LSL $5, R%d, R%d", p.y, p.scales)
			p.ins("ADD R%d, R%d, R%d", y0, p.scales, p.y)
			p.ins("ADD R%d, R%d", codes0, p.codes)
			p.ins("ADD R%d, R%d", scales0, p.scales)
			p.ins("MOVD R%d, R%d", x0, p.x[0])
			for c := 1; c < p.n; c++ {
				p.ins("ADD R%d, R%d, R%d", xstride, p.x[c-1], p.x[c])
			}
			p.ins("MOVD %d(R0), R%d", gaBlocks, blocks)
			start()
			p.loop(blocks, func() {
				p.measure(8*32, (512+p.subBytes())/2, func() {
					block()
					p.add(p.codes, 512)
					p.add(p.scales, p.subBytes())
					for _, x := range p.x {
						p.add(x, q8xBytes)
					}
				})
			})
			finish()
		})
		for range p.n {
			p.ins("ADD R%d, R%d", xstride, x0)
			p.ins("ADD R%d, R%d", p.ystride, y0)
		}
	})
}

// columns calls f with the address of each output column's eight rows.
func (p *panel) columns(f func(c int, at R)) {
	at := p.r()
	p.ins("MOVD R%d, R%d", p.y, at)
	for c := range p.n {
		f(c, at)
		if c < p.n-1 {
			p.ins("ADD R%d, R%d", p.ystride, at)
		}
	}
	p.putR(at)
}

// begin zeroes the accumulators, or loads them where this is not the first chunk of K.
func (p *panel) begin(acc []V, load func()) {
	zero, done := p.label("zero"), p.label("begun")
	p.ins("CBZ R%d, %s", p.load, zero)
	load()
	p.ins("B %s", done)
	p.at(zero)
	for _, v := range acc {
		p.movi(v, 0)
	}
	p.at(done)
}

func panelDot(f *fn, p form, n int) {
	k := newPanel(f, p, n)
	acc, sums := f.vs(2*n), f.vs(2*n) // [column][quarter]
	k.run(32, func() {
		k.begin(acc, func() {
			k.columns(func(c int, at R) {
				f.ldq(acc[2*c], at, 0)
				f.ldq(acc[2*c+1], at, 16)
			})
		})
	}, func() {
		q, meta := f.vs(2*n), f.vs(n)
		for c := range n {
			f.ldq(q[2*c], k.x[c], 0)
			f.ldq(q[2*c+1], k.x[c], 16)
			f.ldq(meta[c], k.x[c], q8xMeta)
		}
		for i := range p.groups {
			for _, v := range sums {
				f.movi(v, 0)
			}
			per := 8 / p.groups
			for t := i * per; t < (i+1)*per; t++ {
				code := f.vs(2)
				for r, v := range code {
					f.ldq(v, k.codes, 64*t+16*r)
				}
				for c := range n {
					for r, v := range code {
						f.sdot(sums[2*c+r], v, q[2*c+t>>2], t&3)
					}
				}
				f.put(code...)
			}
			for r := range 2 {
				scale, t := f.v(), f.v()
				f.ldq(scale, k.scales, 64*i+16*r)
				for c := range n {
					f.un("scvtf", sums[2*c+r], sums[2*c+r])
					f.fmulLane(t, scale, meta[c], metaD)
					f.op("fmla.4s", acc[2*c+r], sums[2*c+r], t)
				}
				f.put(scale, t)
			}
		}
		if p.offs > 0 {
			f.put(sums...) // free here, and needed by halfSums
			sum := make([]V, n)
			for c := range n {
				if p.offs == 2 {
					sum[c] = f.halfSums(meta[c])
				}
			}
			for i := range p.offs {
				for r := range 2 {
					off := f.v()
					f.ldq(off, k.scales, 64*(p.groups+i)+16*r)
					for c := range n {
						if p.offs == 2 {
							f.fmlaLane(acc[2*c+r], off, sum[c], i)
						} else {
							f.fmlaLane(acc[2*c+r], off, meta[c], metaM)
						}
					}
					f.put(off)
				}
			}
			if p.offs == 2 {
				f.put(sum...)
			}
			f.retake(sums)
		}
		f.put(q...)
		f.put(meta...)
	}, func() {
		k.columns(func(c int, at R) {
			f.stq(acc[2*c], at, 0)
			f.stq(acc[2*c+1], at, 16)
		})
	})
}

// retake takes given registers again after put.
func (f *fn) retake(vs []V) {
	for _, v := range vs {
		for i, w := range f.free {
			if w == v {
				f.free = append(f.free[:i], f.free[i+1:]...)
				break
			}
		}
	}
}

// panelMMLA holds 2 × 2 outputs a register, [row][column]. A last single column is paired with itself.
func panelMMLA(f *fn, p form, n int) {
	k := newPanel(f, p, n)
	pairs := (n + 1) / 2
	acc, sums := f.vs(4*pairs), f.vs(4*pairs) // [pair of columns][pair of rows]
	second := func(c int) R { return k.x[min(2*c+1, n-1)] }
	k.run(64, func() {
		k.begin(acc, func() {
			a := f.vs(4)
			k.columns(func(c int, at R) {
				f.ldq(a[2*(c&1)], at, 0)
				f.ldq(a[2*(c&1)+1], at, 16)
				if c&1 == 0 && c < n-1 {
					return
				}
				for r := range 2 {
					b := a[2+r]
					if n == 1 {
						b = a[r]
					}
					f.op("zip1.4s", acc[4*(c/2)+2*r], a[r], b)
					f.op("zip2.4s", acc[4*(c/2)+2*r+1], a[r], b)
				}
			})
			f.put(a...)
		})
	}, func() {
		q, meta := f.vs(4*pairs), f.vs(pairs)
		var sum []V
		if p.offs == 2 {
			sum = f.vs(pairs)
		}
		for c := range pairs {
			a, b := f.v(), f.v()
			for h := range 2 {
				f.ldq(a, k.x[2*c], 16*h)
				f.ldq(b, second(c), 16*h)
				f.op("zip1.2d", q[4*c+2*h], a, b)
				f.op("zip2.2d", q[4*c+2*h+1], a, b)
			}
			f.ldq(a, k.x[2*c], q8xMeta)
			f.ldq(b, second(c), q8xMeta)
			f.op("zip1.4s", meta[c], a, b) // d d m m
			if p.offs == 2 {
				f.op("zip2.4s", sum[c], a, b) // c c c0 c0
			}
			f.put(a, b)
		}
		for i := range p.groups {
			for _, v := range sums {
				f.movi(v, 0)
			}
			per := 4 / p.groups
			for t := i * per; t < (i+1)*per; t++ {
				for r := range 4 {
					code := f.v()
					f.ldq(code, k.codes, 128*t+16*r)
					for c := range pairs {
						f.smmla(sums[4*c+r], code, q[4*c+t])
					}
					f.put(code)
				}
			}
			for h := range 2 {
				s := f.rowPairs(k.scales, 64*i+16*h)
				d, t := f.v(), f.v()
				for c := range pairs {
					f.dupD(d, meta[c], 0)
					for r := range 2 {
						v := sums[4*c+2*h+r]
						f.un("scvtf", v, v)
						f.op("fmul.4s", t, s[r], d)
						f.op("fmla.4s", acc[4*c+2*h+r], v, t)
					}
				}
				f.put(d, t)
				f.put(s...)
			}
		}
		for i := range p.offs {
			for h := range 2 {
				o := f.rowPairs(k.scales, 64*(p.groups+i)+16*h)
				m, t := f.v(), f.v()
				for c := range pairs {
					if p.offs == 1 {
						f.dupD(m, meta[c], 1)
					} else {
						f.dupD(m, sum[c], 1)
						if i == 1 {
							f.dupD(t, sum[c], 0)
							f.op("sub.4s", m, t, m)
						}
						f.un("neg", m, m)
						f.sshr("4s", m, m, 7)
						f.un("scvtf", m, m)
						f.dupD(t, meta[c], 0)
						f.op("fmul.4s", m, m, t)
					}
					for r := range 2 {
						f.op("fmla.4s", acc[4*c+2*h+r], o[r], m)
					}
				}
				f.put(m, t)
				f.put(o...)
			}
		}
		f.put(q...)
		f.put(meta...)
		f.put(sum...)
	}, func() {
		t := f.v()
		k.columns(func(c int, at R) {
			for h := range 2 {
				a, b := acc[4*(c/2)+2*h], acc[4*(c/2)+2*h+1]
				f.op([]string{"uzp1.4s", "uzp2.4s"}[c&1], t, a, b)
				f.stq(t, at, 16*h)
			}
		})
		f.put(t)
	})
}

// rowPairs loads four rows' numbers and gives them twice each, for two pairs of rows.
func (f *fn) rowPairs(base R, off int) []V {
	a, b := f.v(), f.v()
	f.ldq(b, base, off)
	f.op("zip1.4s", a, b, b)
	f.op("zip2.4s", b, b, b)
	return []V{a, b}
}
