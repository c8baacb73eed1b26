package main

import "fmt"

// Products of float weights in streaming mode: column by column of 64 matrix rows, each with an element of every activation row. An output is one chain of fused multiply-adds over
// k in order, which is its definition.
func streamFloatFile() {
	s := newSource("gemv_sme_float", "StreamArgs")
	for _, t := range []struct {
		name string
		col  int // bytes of a column of 16 rows
	}{{"f16x16", 32}, {"bf16x16", 32}, {"f32x16", 64}} {
		for _, n := range []int{1, 2, 4} {
			f := s.fn(fmt.Sprintf("Gemv_%s_f32_64x%d_sme2", t.name, n),
				fmt.Sprintf("multiplies Groups × 64 rows, Blocks columns, with Cols ≤ %d activation rows. The machine must have streaming vectors of 512 bits.", n))
			p := &stream{fn: f, format: &format{}, streamFormat: &streamFormat{}, n: n}
			p.floatProduct(t.name, t.col)
		}
	}
}

func (s *stream) floatProduct(name string, col int) {
	s.frameOf(func(blocks R) {
		four, tail, one, done := s.label("four"), s.label("tail"), s.label("one"), s.label("done")
		column := func(lane int) {
			for i := range V(4) {
				v := zSum + i
				switch name {
				case "f32x16":
					s.zmem("ld1w.s", v, s.p1[i], lane*col)
				case "f16x16":
					s.zmem("ld1h.s", v, s.p1[i], lane*col)
					s.zun("fcvt", v, v)
				case "bf16x16":
					s.zmem("ld1h.s", v, s.p1[i], lane*col)
					s.zshift("lsl", "s", v, v, 16)
				}
			}
			for c := range s.n {
				s.zaFMALane(s.out(c), zSum, zX+V(c), lane)
			}
		}
		advance := func(columns int) {
			for _, p := range s.p1 {
				s.add(p, columns*col)
			}
			for _, x := range s.x {
				s.add(x, columns*4)
			}
		}
		s.ins("SUBS $4, R%d", blocks)
		s.ins("BLT %s", tail)
		s.fn.at(four)
		s.measure(64*4, 4*4*col, func() {
			for c, x := range s.x {
				s.quarters(zX+V(c), x, 0)
			}
			for lane := range 4 {
				column(lane)
			}
			advance(4)
		})
		s.ins("SUBS $4, R%d", blocks)
		s.ins("BGE %s", four)
		s.fn.at(tail)
		s.ins("ADDS $4, R%d", blocks)
		s.ins("BEQ %s", done)
		s.fn.at(one)
		for c, x := range s.x {
			s.ld1rw(zX+V(c), x)
		}
		column(0)
		advance(1)
		s.ins("SUBS $1, R%d", blocks)
		s.ins("BNE %s", one)
		s.fn.at(done)
	})
}
