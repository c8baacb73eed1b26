package exec

import (
	"fmt"
	"math"

	"jns/format"
	"jns/kernels"
	"jns/kernels/tile"
)

func (m *Model) bindRows(p *format.RowsParams) error {
	out, w := m.buf(p.Out), m.weight(p.W)
	need := w.layout.Codec.RowBytes(int(w.Cols))
	for i := range m.work {
		if len(m.work[i].source) < need {
			m.work[i].source = aligned(need)
		}
	}
	if p.By == format.ByPosition {
		m.positions = min(m.positions, int(w.Rows))
	}
	m.eachRow(false, func(k *worker, r int) {
		at := 0
		switch p.By {
		case format.ByToken:
			at = int(m.batch[r].Token)
		case format.ByPosition:
			at = m.batch[r].Pos
		}
		src := w.sourceRow(k, at)
		m.vec.Row(out.f32(r), src, w.layout.Codec, p.Scale)
	})
	return nil
}

func (m *Model) bindNorm(p *format.NormParams, selected bool) error {
	in, out, q := m.buf(p.In), m.buf(p.Out), m.buf(p.Q)
	w, bias := m.vector(p.W), m.vector(p.Bias)
	groups := int(p.Groups)
	length := in.len / groups
	if out == nil {
		// The result is wanted quantised only: it goes through a scratch row of the worker.
		for i := range m.work {
			m.work[i].need(in.len)
		}
	}
	if p.Norm < format.NormRMS || p.Norm > format.NormNone {
		return fmt.Errorf("%w: norm kind %d", format.ErrUnsupported, p.Norm)
	}
	m.eachRow(selected, func(k *worker, r int) {
		x := in.f32(r)
		var y []float32
		if out != nil {
			y = out.f32(r)
		} else {
			y = k.scratch[:in.len]
		}
		for g := 0; g < groups; g++ {
			a, b := g*length, (g+1)*length
			gw, gb := w, bias
			if p.WPerGroup {
				gw = sub(w, a, b)
				gb = sub(bias, a, b)
			}
			switch p.Norm {
			case format.NormRMS:
				m.vec.RMSNorm(y[a:b], x[a:b], gw, p.Eps)
				if gb != nil {
					m.vec.AddScaled(y[a:b], y[a:b], gb, 1)
				}
			case format.NormLayer:
				m.vec.LayerNorm(y[a:b], x[a:b], gw, gb, p.Eps)
			case format.NormNone:
				if gw != nil {
					m.vec.Mul(y[a:b], x[a:b], gw)
				} else {
					copy(y[a:b], x[a:b])
				}
				if gb != nil {
					m.vec.AddScaled(y[a:b], y[a:b], gb, 1)
				}
			default: // Σ is n times the mean
				m.vec.RMSNorm(y[a:b], x[a:b], nil, p.Eps/float32(length))
				m.vec.Scale(y[a:b], y[a:b], float32(1/math.Sqrt(float64(length))))
			}
		}
		if q != nil {
			m.quantise(q, r, 0, in.len, y)
		}
	})
	return nil
}

func sub(v []float32, a, b int) []float32 {
	if v == nil {
		return nil
	}
	return v[a:b]
}

// need makes the worker's scratch hold n floats.
func (k *worker) need(n int) {
	if len(k.scratch) < n {
		k.scratch = alignedF32(n)
	}
}

func (m *Model) bindQuantize(p *format.QuantizeParams, selected bool) error {
	in, out := m.buf(p.In), m.buf(p.Out)
	m.eachSpan(selected, in.len, func(_ *worker, r, from, to int) {
		m.quantise(out, r, from, to, in.f32(r)[from:to])
	})
	return nil
}

// quantise writes elements from … to of row r, which are x, to a quantised buffer.
func (m *Model) quantise(b *buffer, r, from, to int, x []float32) {
	a, z := tile.Q8XRowBytes(from), tile.Q8XRowBytes(to)
	if b.typ == format.ElemQ8X2 {
		m.vec.QuantizeFine(b.bytes(r)[a:z], b.rest(r)[a:z], x)
		return
	}
	m.vec.Quantize(b.bytes(r)[a:z], x)
}

func (m *Model) bindActivation(p *format.ActivationParams, selected bool) error {
	gate, up, out, q := m.buf(p.Gate), m.buf(p.Up), m.buf(p.Out), m.buf(p.Q)
	act := kernels.Act(p.Act)
	if out == nil {
		for i := range m.work {
			m.work[i].need(gate.len)
		}
	}
	m.eachSpan(selected, gate.len, func(k *worker, r, from, to int) {
		var u, y []float32
		if up != nil {
			u = up.f32(r)[from:to]
		}
		if out != nil {
			y = out.f32(r)[from:to]
		} else {
			y = k.scratch[:to-from]
		}
		m.vec.ActMul(y, gate.f32(r)[from:to], u, act)
		if q != nil {
			m.quantise(q, r, from, to, y)
		}
	})
	return nil
}

func (m *Model) bindElement(p *format.ElementParams, selected bool) error {
	a, b, out := m.buf(p.A), m.buf(p.B), m.buf(p.Out)
	switch p.Element {
	case format.ElementAdd:
		m.eachSpan(selected, out.len, func(_ *worker, r, from, to int) {
			m.vec.AddScaled(out.f32(r)[from:to], a.f32(r)[from:to], b.f32(r)[from:to], p.Scale)
		})
	case format.ElementScale:
		m.eachSpan(selected, out.len, func(_ *worker, r, from, to int) {
			m.vec.Scale(out.f32(r)[from:to], a.f32(r)[from:to], p.Scale)
		})
	case format.ElementMul:
		m.eachSpan(selected, out.len, func(_ *worker, r, from, to int) {
			m.vec.Mul(out.f32(r)[from:to], a.f32(r)[from:to], b.f32(r)[from:to])
		})
	case format.ElementClamp:
		m.eachSpan(selected, out.len, func(_ *worker, r, from, to int) {
			clamp(out.f32(r)[from:to], a.f32(r)[from:to], p.Scale)
		})
	case format.ElementDiv:
		m.eachSpan(selected, out.len, func(_ *worker, r, from, to int) {
			divide(out.f32(r)[from:to], a.f32(r)[from:to], b.f32(r)[from:to])
		})
	case format.ElementMin:
		m.eachSpan(selected, out.len, func(_ *worker, r, from, to int) {
			atMost(out.f32(r)[from:to], a.f32(r)[from:to], p.Scale)
		})
	case format.ElementDot:
		run := a.len / out.len
		m.eachRow(selected, func(_ *worker, r int) {
			x, z, y := a.f32(r), b.f32(r), out.f32(r)
			for i := range y {
				y[i] = m.vec.Dot(x[i*run:(i+1)*run], z[i*run:(i+1)*run])
			}
		})
	case format.ElementSpread:
		run := out.len / b.len
		m.eachRow(selected, func(_ *worker, r int) {
			x, y, f := a.f32(r), out.f32(r), b.f32(r)
			for i, v := range f {
				m.vec.Scale(y[i*run:(i+1)*run], x[i*run:(i+1)*run], v)
			}
		})
	case format.ElementRescale:
		m.eachRow(selected, func(_ *worker, r int) {
			x, y := a.f32(r), out.f32(r)
			norm := magnitude(b.f32(r))
			for i := 0; i < len(x); i += b.len {
				run := x[i : i+b.len]
				s := magnitude(run)
				if s != 0 {
					s = norm / s
				}
				m.vec.Scale(y[i:i+b.len], run, float32(s))
			}
		})
	case format.ElementExp:
		m.eachSpan(selected, out.len, func(_ *worker, r, from, to int) {
			y := out.f32(r)[from:to]
			m.vec.Scale(y, a.f32(r)[from:to], p.Scale)
			m.vec.Exp(y, y)
		})
	case format.ElementSoftmax:
		m.eachRow(selected, func(_ *worker, r int) { m.vec.Softmax(out.f32(r), a.f32(r)) })
	case format.ElementCutoff:
		m.eachRow(selected, func(_ *worker, r int) { cutoff(out.f32(r), a.f32(r), p.Scale) })
	default:
		return fmt.Errorf("%w: element-wise kind %d", format.ErrUnsupported, p.Element)
	}
	return nil
}

func (m *Model) bindSoftCap(p *format.SoftCapParams, selected bool) error {
	x := m.buf(p.X)
	m.eachSpan(selected, x.len, func(_ *worker, r, from, to int) {
		v := x.f32(r)[from:to]
		m.vec.SoftCap(v, v, p.Cap)
	})
	return nil
}

func (m *Model) bindSlice(p *format.SliceParams, selected bool) error {
	in, out := m.buf(p.In), m.buf(p.Out)
	from, width, stride := int(p.From), int(p.Width), int(p.Stride)
	m.eachRow(selected, func(_ *worker, r int) {
		x, y := in.f32(r), out.f32(r)
		for i, at := 0, from; i < len(y); i, at = i+width, at+stride {
			copy(y[i:i+width], x[at:at+width])
		}
	})
	return nil
}

// magnitude is √Σx². Sums of whole rows are taken in order and in float64, and products rounded before they are added, so every machine gets the same.
func magnitude(x []float32) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(float64(v) * float64(v))
	}
	return math.Sqrt(s)
}

// cutoff keeps of x what exceeds its mean by more than k deviations.
func cutoff(dst, x []float32, k float32) {
	mean, s := 0.0, 0.0
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		d := float64(v) - mean
		s += float64(d * d)
	}
	limit := float32(mean + float64(math.Sqrt(s/float64(len(x)-1))*float64(k)))
	for i, v := range x {
		dst[i] = max(0, v-limit)
	}
}

func (m *Model) bindMix(p *format.MixParams, selected bool) error {
	a, b, out, coef := m.buf(p.A), m.buf(p.B), m.buf(p.Out), m.buf(p.Coef)
	rows, cols := int(p.Rows), int(p.Cols)
	n := out.len / rows
	m.eachRow(selected, func(_ *worker, r int) {
		y, x := out.f32(r), b.f32(r)
		if a != nil {
			copy(y, a.f32(r))
		} else {
			clear(y)
		}
		for i := range rows {
			for j := range cols {
				w := float32(0)
				if coef != nil {
					w = coef.f32(r)[i*cols+j]
				}
				if len(p.Offset) > 0 {
					w += p.Offset[i*cols+j]
				}
				m.vec.AddScaled(y[i*n:(i+1)*n], y[i*n:(i+1)*n], x[j*n:(j+1)*n], w)
			}
		}
	})
	return nil
}

func (m *Model) bindTemper(p *format.TemperParams) error {
	x := m.buf(p.X)
	m.eachRow(false, func(_ *worker, r int) {
		f := p.Factors[min((m.batch[r].Pos+int(p.Offset))/int(p.Step), len(p.Factors)-1)]
		if f != 1 {
			m.vec.Scale(x.f32(r), x.f32(r), f)
		}
	})
	return nil
}

func (m *Model) bindSelect(p *format.SelectParams) error {
	in, out := m.buf(p.In), m.buf(p.Out)
	m.eachRow(true, func(_ *worker, i int) {
		copy(out.f32(i), in.f32(m.chosen[i]))
	})
	return nil
}

// clamp cuts x to ±bound; a NaN stays one.
func clamp(y, x []float32, bound float32) {
	for i, v := range x {
		if v > bound {
			v = bound
		}
		if v < -bound {
			v = -bound
		}
		y[i] = v
	}
}

// atMost cuts x to at most bound; a NaN stays one.
func atMost(y, x []float32, bound float32) {
	for i, v := range x {
		if v > bound {
			v = bound
		}
		y[i] = v
	}
}

func divide(y, a, b []float32) {
	for i, v := range a {
		y[i] = v / b[i]
	}
}
