package exec

import "jns/format"

// weightsOf lists the tensors that an operation uses.
func weightsOf(p format.Params) []uint32 {
	var all []uint32
	add := func(w ...uint32) {
		for _, i := range w {
			if i != format.None {
				all = append(all, i)
			}
		}
	}
	switch p := p.(type) {
	case *format.RowsParams:
		add(p.W)
	case *format.NormParams:
		add(p.W, p.Bias)
	case *format.MatMulParams:
		for _, q := range p.Parts {
			add(q.W, q.Bias)
		}
	case *format.AttentionParams:
		add(p.Sinks)
		if len(p.Edges) > 0 {
			add(p.Bias)
		}
	case *format.RouteParams:
		add(p.Bias)
	case *format.ExpertsParams:
		add(p.Gate, p.Up, p.Down, p.GateScale, p.UpScale, p.DownScale, p.GateBias, p.UpBias, p.DownBias)
	case *format.ConvParams:
		add(p.W, p.Bias)
	case *format.ScanParams:
		add(p.A, p.Bias, p.D)
	case *format.DeltaParams:
		add(p.A, p.Bias)
	case *format.HeadMatMulParams:
		add(p.W)
	case *format.AffineParams:
		add(p.W)
	case *format.RetainParams:
		add(p.First)
	}
	return all
}

// Extents calls f with the ranges of the file that hold resident matrices of which every token reads all, in the order of the program.
func (m *Model) Extents(f func(off, length uint64)) {
	for i := range m.prog.Ops {
		for _, t := range weightsOf(m.prog.Ops[i].Params) {
			w := m.weights[t]
			if w.mm == nil || w.Count > 1 {
				continue
			}
			for _, p := range w.parts {
				if p.base != nil {
					f(p.offset, uint64(p.tiles)*uint64(w.stride))
				}
			}
		}
	}
}
