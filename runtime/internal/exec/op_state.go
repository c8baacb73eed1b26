package exec

import (
	"unsafe"

	"jns/format"
	"jns/kernels"
	"jns/runtime/internal/sched"
)

// Operations with a recurrent state. A piece is a run of channels or a head; a worker takes it through all rows of the batch in order, so that every
// state sees its session's positions one after another wherever batches are cut.

// channelRun is the number of channels in a piece.
const channelRun = 256

// numbers is the recurrent state of a row's session.
func (m *Model) numbers(row, state int) []float32 {
	return m.batch[row].Cache.Page(state, 0).Numbers(m.store.Shape(state))
}

// eachPiece is the step that hands out n pieces.
func (m *Model) eachPiece(n int, f func(w *worker, i int)) {
	m.step(false, func(w *worker, next *sched.Counter) {
		for {
			i := next.Next()
			if i >= n {
				return
			}
			f(w, i)
		}
	})
}

// transposed gives rows × cols numbers as cols × rows.
func transposed(v []float32, rows, cols int) []float32 {
	out := alignedF32(rows * cols)
	for r := range rows {
		for c := range cols {
			out[c*rows+r] = v[r*cols+c]
		}
	}
	return out
}

func (m *Model) bindConv(p *format.ConvParams) error {
	x, out, state, taps := m.buf(p.X), m.buf(p.Out), int(p.State), int(p.Taps)
	n := x.len
	if p.W == format.None {
		return m.bindDifference(x, out, state)
	}
	w, bias := transposed(m.vector(p.W), n, taps), m.vector(p.Bias)
	m.eachPiece((n+channelRun-1)/channelRun, func(k *worker, i int) {
		a, z := i*channelRun, min((i+1)*channelRun, n)
		g := &k.run
		*g = kernels.StateRun{Rows: taps - 1, Cols: z - a, SStride: uintptr(4 * n), K: pointer(w[a:]), XStride: x.stride, YStride: out.stride}
		if bias != nil {
			g.Q = pointer(bias[a:])
		}
		for r := 0; r < m.n; r += g.N {
			g.N = m.together(r, convRun)
			g.S, g.X, g.Y = pointer(m.numbers(r, state)[a:]), pointer(x.f32(r)[a:]), pointer(out.f32(r)[a:])
			m.vec.ConvRun(g)
			if p.Act != 0 {
				for i := range g.N {
					y := out.f32(r + i)[a:z]
					m.vec.ActMul(y, y, nil, kernels.Act(p.Act))
				}
			}
		}
	})
	return nil
}

// convRun is how many positions a convolution takes at a time: their rows, often far apart by a multiple of 4 KiB, must not displace one another before the activation.
const convRun = 8

// together is the number of rows from r on, at most so many, that are consecutive positions of one session.
func (m *Model) together(r, most int) int {
	n := 1
	for n < most && r+n < m.n && m.batch[r+n].Cache == m.batch[r].Cache {
		n++
	}
	return n
}

// pointer is where numbers begin.
func pointer(x []float32) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

func (m *Model) bindScan(p *format.ScanParams) error {
	x, dt, b, c, out, state := m.buf(p.X), m.buf(p.DT), m.buf(p.B), m.buf(p.C), m.buf(p.Out), int(p.State)
	heads, dim, n, groups := int(p.Heads), int(p.HeadDim), int(p.N), int(p.Groups)
	decays, bias, skip := m.vector(p.A), m.vector(p.Bias), m.vector(p.D)
	if dim == 1 {
		return m.bindScanChannels(p, decays, bias, skip)
	}
	const most = kernels.RunMax
	for i := range m.work {
		m.work[i].need(2*most*dim + 2*most)
	}
	m.eachPiece(heads, func(w *worker, h int) {
		first := h / (heads / groups) * n
		steps, decay := w.scratch[:most], w.scratch[most:2*most]
		u, y := w.scratch[2*most:][:most*dim], w.scratch[2*most+most*dim:][:most*dim]
		k := &w.run
		*k = kernels.StateRun{SStride: uintptr(4 * dim), Rows: n, Cols: dim, X: pointer(u), XStride: uintptr(4 * dim), Y: pointer(y), YStride: uintptr(4 * dim),
			KStride: b.stride, QStride: c.stride, G: pointer(decay), GStride: 4}
		for r := 0; r < m.n; r += k.N {
			k.N = m.together(r, most)
			d, g := steps[:k.N], decay[:k.N]
			for i := range d {
				d[i] = dt.f32(r + i)[h]
				if bias != nil {
					d[i] += bias[h]
				}
			}
			m.vec.ActMul(d, d, nil, kernels.ActSoftplus)
			m.vec.Scale(g, d, decays[h])
			m.vec.Exp(g, g)
			for i := range d {
				m.vec.Scale(u[i*dim:(i+1)*dim], x.f32(r + i)[h*dim:(h+1)*dim], d[i])
			}
			k.S, k.K, k.Q = pointer(m.numbers(r, state)[h*n*dim:]), pointer(b.f32(r)[first:]), pointer(c.f32(r)[first:])
			m.vec.ScanRun(k)
			for i := range d {
				to, from := out.f32(r + i)[h*dim:(h+1)*dim], y[i*dim:(i+1)*dim]
				if skip != nil {
					m.vec.AddScaled(to, from, x.f32(r + i)[h*dim:(h+1)*dim], skip[h])
				} else {
					copy(to, from)
				}
			}
		}
	})
	return nil
}

// bindScanChannels is the scan of heads of one channel, whose decays differ by number of state. A head's decay for all of them is the same decay each.
func (m *Model) bindScanChannels(p *format.ScanParams, decays, bias, skip []float32) error {
	x, dt, b, c, out, state := m.buf(p.X), m.buf(p.DT), m.buf(p.B), m.buf(p.C), m.buf(p.Out), int(p.State)
	heads, n, groups := int(p.Heads), int(p.N), int(p.Groups)
	if len(decays) == heads {
		all := make([]float32, 0, n*heads)
		for range n {
			all = append(all, decays...)
		}
		decays = all
	} else {
		decays = transposed(decays, heads, n)
	}
	for i := range m.work {
		m.work[i].need(2 * channelRun)
	}
	size := heads / groups // channels that share B and C
	run := min(channelRun, size)
	runs := (size + run - 1) / run
	m.eachPiece(groups*runs, func(w *worker, i int) {
		g := i / runs
		a := g*size + i%runs*run
		z := min(a+run, (g+1)*size)
		d, u := w.scratch[:z-a], w.scratch[channelRun:channelRun+z-a]
		for r := range m.n {
			copy(d, dt.f32(r)[a:z])
			if bias != nil {
				m.vec.AddScaled(d, d, bias[a:z], 1)
			}
			m.vec.ActMul(d, d, nil, kernels.ActSoftplus)
			in, y := x.f32(r)[a:z], out.f32(r)[a:z]
			m.vec.Mul(u, in, d)
			m.vec.ScanChannels(m.numbers(r, state)[a:], decays[a:], heads, d, u, b.f32(r)[g*n:(g+1)*n], c.f32(r)[g*n:(g+1)*n], y)
			if skip != nil {
				m.vec.Mul(u, in, skip[a:z])
				m.vec.AddScaled(y, y, u, 1)
			}
		}
	})
	return nil
}

func (m *Model) bindDelta(p *format.DeltaParams) error {
	q, k, v, alpha, beta, out := m.buf(p.Q), m.buf(p.K), m.buf(p.V), m.buf(p.Alpha), m.buf(p.Beta), m.buf(p.Out)
	state, heads, keys, dk, dv := int(p.State), int(p.Heads), int(p.KeyHeads), int(p.KeyDim), int(p.ValDim)
	decay, bias := m.vector(p.A), m.vector(p.Bias)
	each := alpha.len / heads // decays of a head
	const most = kernels.RunMax
	for i := range m.work {
		m.work[i].need(dk*kernels.RunLanes + most*(dk+each+1))
	}
	m.eachPiece(heads, func(w *worker, h int) {
		j := h % keys
		if p.Blocked {
			j = h / (heads / keys)
		}
		rest := w.scratch[dk*kernels.RunLanes:]
		scaled, decays, betas := rest[:most*dk], rest[most*dk:][:most*each], rest[most*(dk+each):][:most]
		s := &w.run
		*s = kernels.StateRun{SStride: uintptr(4 * dv), Rows: dk, Cols: dv, XStride: v.stride, YStride: out.stride, KStride: k.stride, Q: pointer(scaled), QStride: uintptr(4 * dk),
			G: pointer(decays), GStride: uintptr(4 * each), Beta: pointer(betas), T: pointer(w.scratch)}
		if each > 1 {
			s.GStep = 4
		}
		for r := 0; r < m.n; r += s.N {
			s.N = m.together(r, most)
			g, b := decays[:s.N*each], betas[:s.N]
			for i := range b {
				g := g[i*each : (i+1)*each]
				copy(g, alpha.f32(r + i)[h*each:(h+1)*each])
				if bias != nil {
					m.vec.AddScaled(g, g, bias[h*each:(h+1)*each], 1)
				}
				b[i] = beta.f32(r + i)[h]
				m.vec.Scale(scaled[i*dk:(i+1)*dk], q.f32(r + i)[j*dk:(j+1)*dk], p.Scale)
			}
			if p.Bound != 0 {
				m.vec.Scale(g, g, float32(p.Rate*decay[h]))
				m.vec.ActMul(g, g, nil, kernels.ActSigmoid)
				m.vec.Scale(g, g, p.Bound)
			} else {
				m.vec.ActMul(g, g, nil, kernels.ActSoftplus)
				m.vec.Scale(g, g, decay[h])
			}
			m.vec.Exp(g, g)
			m.vec.ActMul(b, b, nil, kernels.ActSigmoid)
			s.S, s.X, s.K, s.Y = pointer(m.numbers(r, state)[h*dk*dv:]), pointer(v.f32(r)[h*dv:]), pointer(k.f32(r)[j*dk:]), pointer(out.f32(r)[h*dv:])
			m.vec.DeltaRun(s)
		}
	})
	return nil
}

// bindDifference gives the input before less the present one.
func (m *Model) bindDifference(x, out *buffer, state int) error {
	n := x.len
	m.eachPiece((n+channelRun-1)/channelRun, func(_ *worker, i int) {
		a, z := i*channelRun, min((i+1)*channelRun, n)
		for r := range m.n {
			before, in := m.numbers(r, state)[a:z], x.f32(r)[a:z]
			m.vec.AddScaled(out.f32(r)[a:z], before, in, -1)
			copy(before, in)
		}
	})
	return nil
}

func (m *Model) bindAffine(p *format.AffineParams, selected bool) error {
	a, b, out := m.buf(p.A), m.buf(p.B), m.buf(p.Out)
	w := m.vector(p.W)[p.From:]
	m.eachSpan(selected, out.len, func(_ *worker, r, from, to int) {
		y := out.f32(r)[from:to]
		if b == nil {
			m.vec.Mul(y, a.f32(r)[from:to], w[from:to])
			return
		}
		copy(y, b.f32(r)[from:to])
		m.vec.MulAdd(y, a.f32(r)[from:to], w[from:to])
	})
	return nil
}

// decayOf is what a wkv operation multiplies with the sigmoid that makes a decay.
const decayOf = -0.606531

func (m *Model) bindWKV(p *format.WKVParams) error {
	r, w, k, v, a, b, out := m.buf(p.R), m.buf(p.W), m.buf(p.K), m.buf(p.V), m.buf(p.A), m.buf(p.B), m.buf(p.Out)
	state, n := int(p.State), int(p.Dim)
	for i := range m.work {
		m.work[i].need(2 * n)
	}
	m.eachPiece(int(p.Heads), func(t *worker, h int) {
		decay, d := t.scratch[:n], t.scratch[n:2*n]
		from, to := h*n, (h+1)*n
		for i := range m.n {
			for j, x := range w.f32(i)[from:to] {
				decay[j] = kernels.Exp(float32(decayOf * kernels.Sigmoid(x)))
			}
			m.vec.WKVStep(m.numbers(i, state)[h*n*n:(h+1)*n*n], r.f32(i)[from:to], decay, k.f32(i)[from:to], v.f32(i)[from:to], a.f32(i)[from:to], b.f32(i)[from:to],
				d, out.f32(i)[from:to])
		}
	})
	return nil
}
