package main

import "fmt"

// floatFile writes the products of float weights: one chain of FMLA per output over k in order. A single activation row takes two tile rows, to have eight chains.
func floatFile() {
	s := newSource("gemm_float", "GemmArgs")
	for _, t := range []struct {
		name string
		col  int // bytes of a column of 16 rows
	}{{"f16x16", 32}, {"bf16x16", 32}, {"f32x16", 64}} {
		for _, k := range [][2]int{{2, 1}, {1, 4}, {1, 2}, {1, 1}} {
			f := s.fn(fmt.Sprintf("Gemv_%s_f32_%dx%d_dotprod", t.name, 16*k[0], k[1]),
				fmt.Sprintf("multiplies Tiles times %d tile rows, Blocks columns, with %d activation rows.", k[0], k[1]))
			floatProduct(f, t.name, t.col, k[0], k[1])
		}
	}
}

func floatProduct(f *fn, name string, col, rows, n int) {
	base, stride, tiles := f.field(gaP1), f.field(gaStride), f.field(gaTiles)
	y, ystride, xstride := f.field(gaY), f.field(gaYStride), f.field(gaXStride)
	cols, ahead := f.r(), f.field(gaAhead)
	var x, w []R
	for range n {
		x = append(x, f.r())
	}
	for range rows {
		w = append(w, f.r())
	}
	acc := f.vs(4 * rows * n) // [column][row quarter]
	step := func(q []V, lane int) {
		for i, p := range w {
			v := f.weights(name, p, lane*col)
			for r := range 4 {
				for c := range n {
					f.fmlaLane(acc[4*(c*rows+i)+r], v[r], q[c], lane)
				}
			}
			f.put(v...)
		}
	}
	f.loop(tiles, func() {
		f.ins("MOVD R%d, R%d", base, w[0])
		f.ins("ADD R%d, R%d", stride, base)
		if rows == 2 {
			f.ins("MOVD R%d, R%d", base, w[1])
			f.ins("ADD R%d, R%d", stride, base)
		}
		f.ins("MOVD %d(R0), R%d", gaX, x[0])
		for c := 1; c < n; c++ {
			f.ins("ADD R%d, R%d, R%d", xstride, x[c-1], x[c])
		}
		f.ins("MOVD %d(R0), R%d", gaBlocks, cols)
		for _, v := range acc {
			f.movi(v, 0)
		}
		four, tail, one, done := f.label("four"), f.label("tail"), f.label("one"), f.label("done")
		f.ins("SUBS $4, R%d", cols)
		f.ins("BLT %s", tail)
		f.at(four)
		q := f.vs(n)
		for _, p := range w {
			f.prefetch(ahead, run{p, 4 * col})
		}
		f.measure(64*rows, 4*col*rows, func() {
			for c := range n {
				f.ldq(q[c], x[c], 0)
				f.add(x[c], 16)
			}
			for lane := range 4 {
				step(q, lane)
			}
			for _, p := range w {
				f.add(p, 4*col)
			}
		})
		f.cost.instructions += rows // what leaves prefetching out
		f.ins("SUBS $4, R%d", cols)
		f.ins("BGE %s", four)
		f.at(tail)
		f.ins("ADDS $4, R%d", cols)
		f.ins("BEQ %s", done)
		f.at(one)
		for c := range n {
			f.lds(q[c], x[c], 0)
			f.add(x[c], 4)
		}
		step(q, 0)
		for _, p := range w {
			f.add(p, col)
		}
		f.ins("SUBS $1, R%d", cols)
		f.ins("BNE %s", one)
		f.at(done)
		f.put(q...)
		at := f.r()
		f.ins("MOVD R%d, R%d", y, at)
		for c := range n {
			for i := range 4 * rows {
				f.stq(acc[4*c*rows+i], at, 16*i)
			}
			if c < n-1 {
				f.ins("ADD R%d, R%d", ystride, at)
			}
		}
		f.putR(at)
		f.add(y, 64*rows)
	})
}

// weights loads a column of sixteen rows.
func (f *fn) weights(name string, p R, off int) []V {
	v := f.vs(4)
	if name == "f32x16" {
		for r := range v {
			f.ldq(v[r], p, off+16*r)
		}
		return v
	}
	widen := []string{"fcvtl", "fcvtl2"}
	if name == "bf16x16" {
		widen = []string{"shll", "shll2"}
	}
	for h := range 2 {
		f.ldq(v[2*h+1], p, off+16*h)
		f.un(widen[0], v[2*h], v[2*h+1])
		f.un(widen[1], v[2*h+1], v[2*h+1])
	}
	return v
}
