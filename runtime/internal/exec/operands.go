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
	}
	return all
}
