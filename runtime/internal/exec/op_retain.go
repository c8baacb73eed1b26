package exec

import "jns/format"

// bindRetain is linear attention whose memory decays. With a decay for every key a step is WKVStep's without its correction, with one for a head ScanStep's, whose rows are keys.
func (m *Model) bindRetain(p *format.RetainParams) error {
	q, k, v, decay, out := m.buf(p.Q), m.buf(p.K), m.buf(p.V), m.buf(p.Decay), m.buf(p.Out)
	state, dk, dv, first := int(p.State), int(p.KeyDim), int(p.ValDim), m.vector(p.First)
	none, same := alignedF32(dk), alignedF32(dk)
	for i := range same {
		same[i] = 1
	}
	for i := range m.work {
		m.work[i].need(3*dk + 2*dv)
	}
	m.eachPiece(int(p.Heads), func(w *worker, h int) {
		query, gamma, weight, d, unused := w.scratch[:dk], w.scratch[dk:2*dk], w.scratch[2*dk:3*dk], w.scratch[3*dk:3*dk+dv], w.scratch[3*dk+dv:3*dk+2*dv]
		for r := range m.n {
			s := m.numbers(r, state)[h*dk*dv : (h+1)*dk*dv]
			key, value, y := k.f32(r)[h*dk:(h+1)*dk], v.f32(r)[h*dv:(h+1)*dv], out.f32(r)[h*dv:(h+1)*dv]
			m.vec.Scale(query, q.f32(r)[h*dk:(h+1)*dk], p.Scale)
			if decay == nil && first == nil {
				m.vec.ScanStep(s, value, key, query, p.Decays[h], y)
				continue
			}
			if decay != nil {
				copy(gamma, decay.f32(r)[h*dk:(h+1)*dk])
			} else {
				for i := range gamma {
					gamma[i] = p.Decays[h]
				}
			}
			if first == nil {
				m.vec.WKVStep(s, query, gamma, key, value, none, none, d, y)
				continue
			}
			// What is remembered is read first, then changed; the step's own output is not used.
			m.vec.WKVStep(s, query, same, none, value, none, none, d, y)
			m.vec.Mul(weight, query, first[h*dk:(h+1)*dk])
			m.vec.AddScaled(y, y, value, m.vec.Dot(weight, key))
			m.vec.WKVStep(s, none, gamma, key, value, none, none, d, unused)
		}
	})
	return nil
}
