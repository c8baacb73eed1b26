package exec

import "jns/format"

// bindPosition writes numbers that follow from a row's position alone, as those that a linear bias of attention adds to queries and keys.
func (m *Model) bindPosition(p *format.PositionParams) error {
	out := m.buf(p.Out)
	m.eachRow(false, func(_ *worker, r int) {
		pos := m.batch[r].Pos
		high, low := float32(pos/int(p.Step)), float32(pos%int(p.Step))
		y := out.f32(r)
		for i := range y {
			y[i] = p.Base[i] + float32(p.High[i]*high) + float32(p.Low[i]*low)
		}
	})
	return nil
}

// keyPositions says whether keys hold positions, which eight bits beside other numbers are too few for.
func keyPositions(p *format.Program) bool {
	for _, o := range p.Ops {
		if o.Kind == format.OpPosition {
			return true
		}
	}
	return false
}

func (m *Model) bindXIELU(p *format.XIELUParams, selected bool) error {
	in, out := m.buf(p.In), m.buf(p.Out)
	for i := range m.work {
		m.work[i].need(in.len)
	}
	m.eachSpan(selected, in.len, func(k *worker, r, from, to int) {
		x, y, e := in.f32(r)[from:to], out.f32(r)[from:to], k.scratch[:to-from]
		for i, v := range x {
			e[i] = min(v, p.Eps)
		}
		m.vec.Exp(e, e)
		for i, v := range x {
			w := float32((e[i] - 1 - v) * p.AlphaN)
			if v > 0 {
				w = float32(float32(v*v) * p.AlphaP)
			}
			y[i] = w + float32(v*p.Beta)
		}
	})
	return nil
}
