package compiler

import "jns/format"

// operands are what an operation reads and writes, by role, for showing. None stands for what is absent.
type operands struct {
	in, out []uint32 // buffers
	weights []uint32 // tensors
	state   uint32
	fused   []string // what else is done on the way
}

func (o *operands) fuse(when bool, what string) {
	if when {
		o.fused = append(o.fused, what)
	}
}

// operandsOf lists the operands of an operation.
func operandsOf(p format.Params) operands {
	o := operands{state: format.None}
	switch p := p.(type) {
	case *format.RowsParams:
		o.weights, o.out = []uint32{p.W}, []uint32{p.Out}
		o.fuse(p.Scale != 1, "scale")
	case *format.NormParams:
		o.in, o.weights, o.out = []uint32{p.In}, []uint32{p.W, p.Bias}, []uint32{p.Out, p.Q}
		o.fuse(p.Q != format.None, "quantise")
	case *format.QuantizeParams:
		o.in, o.out = []uint32{p.In}, []uint32{p.Out}
	case *format.MatMulParams:
		o.product(p)
	case *format.RopeParams:
		o.in, o.out = []uint32{p.X}, []uint32{p.X}
	case *format.KVAppendParams:
		o.in, o.state = []uint32{p.K, p.V}, p.State
	case *format.AttentionParams:
		o.in, o.weights, o.out, o.state = []uint32{p.Q}, []uint32{p.Sinks}, []uint32{p.Out}, p.State
		o.fuse(p.SoftCap != 0, "soft cap")
		o.fuse(len(p.Slopes)+len(p.Edges) > 0, "bias of distance")
		if len(p.Edges) > 0 {
			o.weights = append(o.weights, p.Bias)
		}
	case *format.ActivationParams:
		o.in, o.out = []uint32{p.Gate, p.Up}, []uint32{p.Out, p.Q}
		o.fuse(p.Up != format.None, "gate · up")
		o.fuse(p.Q != format.None, "quantise")
	case *format.ElementParams:
		o.in, o.out = []uint32{p.A, p.B}, []uint32{p.Out}
	case *format.SelectParams:
		o.in, o.out = []uint32{p.In}, []uint32{p.Out}
	case *format.RouteParams:
		o.in, o.weights, o.out = []uint32{p.In}, []uint32{p.Bias}, []uint32{p.Out}
		o.fuse(p.Renormalise, "renormalise")
		o.fuse(p.Scale != 1, "scale")
	case *format.ExpertsParams:
		o.in, o.out = []uint32{p.In, p.Route, p.Residual}, []uint32{p.Out}
		o.weights = []uint32{p.Gate, p.Up, p.Down, p.GateScale, p.UpScale, p.DownScale, p.GateBias, p.UpBias, p.DownBias}
		o.fuse(true, "gate · up, down, sum of the chosen")
		o.fuse(p.Limit > 0, "limit")
		o.fuse(p.GateCap > 0, "caps")
		o.fuse(p.Residual != format.None, "residual")
	case *format.SoftCapParams:
		o.in, o.out = []uint32{p.X}, []uint32{p.X}
	case *format.SliceParams:
		o.in, o.out = []uint32{p.In}, []uint32{p.Out}
	case *format.TemperParams:
		o.in, o.out = []uint32{p.X}, []uint32{p.X}
	case *format.MixParams:
		o.in, o.out = []uint32{p.A, p.B, p.Coef}, []uint32{p.Out}
	case *format.JoinParams:
		o.in, o.out = []uint32{p.A, p.B}, []uint32{p.Out}
	case *format.HeadMatMulParams:
		o.in, o.weights, o.out = []uint32{p.In}, []uint32{p.W}, []uint32{p.Out}
	case *format.AffineParams:
		o.in, o.weights, o.out = []uint32{p.A, p.B}, []uint32{p.W}, []uint32{p.Out}
		o.fuse(p.B != format.None, "sum")
	case *format.PositionParams:
		o.out = []uint32{p.Out}
	case *format.XIELUParams:
		o.in, o.out = []uint32{p.In}, []uint32{p.Out}
	case *format.ConvParams:
		o.in, o.weights, o.out, o.state = []uint32{p.X}, []uint32{p.W, p.Bias}, []uint32{p.Out}, p.State
		o.fuse(p.Act != 0, "activation")
	case *format.ScanParams:
		o.in, o.weights, o.out, o.state = []uint32{p.X, p.DT, p.B, p.C}, []uint32{p.A, p.Bias, p.D}, []uint32{p.Out}, p.State
	case *format.DeltaParams:
		o.in, o.weights, o.out, o.state = []uint32{p.Q, p.K, p.V, p.Alpha, p.Beta}, []uint32{p.A, p.Bias}, []uint32{p.Out}, p.State
	case *format.RetainParams:
		o.in, o.weights, o.out, o.state = []uint32{p.Q, p.K, p.V, p.Decay}, []uint32{p.First}, []uint32{p.Out}, p.State
	case *format.WKVParams:
		o.in, o.out, o.state = []uint32{p.R, p.W, p.K, p.V, p.A, p.B}, []uint32{p.Out}, p.State
	}
	return o
}

func (o *operands) product(p *format.MatMulParams) {
	o.in = []uint32{p.In}
	bias, scale, residual, fine, part := false, false, false, false, false
	for _, m := range p.Parts {
		o.in, o.weights, o.out = append(o.in, m.Residual), append(o.weights, m.W, m.Bias), append(o.out, m.Out)
		bias, scale, residual = bias || m.Bias != format.None, scale || m.Scale != 1, residual || m.Residual != format.None
		fine, part = fine || m.Fine, part || m.Rows != 0
	}
	o.fuse(len(p.Parts) > 1, "several products of one input")
	o.fuse(part, "ranges of rows")
	o.fuse(bias, "bias")
	o.fuse(scale, "scale")
	o.fuse(residual, "residual")
	o.fuse(fine, "unrounded input")
}
