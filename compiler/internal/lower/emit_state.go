package lower

import "jns/format"

// recurrent emits the operations of recurrent layers, and of heads with a matrix each.
func (e *emitter) recurrent(n *node) {
	switch p := n.params.(type) {
	case *format.ConvParams:
		q := *p
		q.X, q.W, q.Bias = e.read(n.in[0]), e.weight(n.w, 0), e.weight(n.w, 1)
		q.Out = e.result(n, nil)
		e.add(&q)
	case *format.ScanParams:
		q := *p
		q.X, q.DT, q.B, q.C = e.read(n.in[0]), e.read(n.in[1]), e.read(n.in[2]), e.read(n.in[3])
		q.A, q.Bias, q.D = e.weight(n.w, 0), e.weight(n.w, 1), e.weight(n.w, 2)
		q.Out = e.result(n, nil)
		e.add(&q)
	case *format.DeltaParams:
		q := *p
		q.Q, q.K, q.V, q.Alpha, q.Beta = e.read(n.in[0]), e.read(n.in[1]), e.read(n.in[2]), e.read(n.in[3]), e.read(n.in[4])
		q.A, q.Bias = e.weight(n.w, 0), e.weight(n.w, 1)
		q.Out = e.result(n, nil)
		e.add(&q)
	case *format.HeadMatMulParams:
		q := *p
		q.In, q.W, q.Fine = e.readAs(n.in[0], quantised(n.w[0])), e.weight(n.w, 0), n.in[0].wantFine && quantised(n.w[0])
		q.Out = e.result(n, nil)
		e.add(&q)
	case *format.JoinParams:
		q := *p
		q.A, q.B = e.read(n.in[0]), e.read(n.in[1])
		q.Out = e.result(n, nil)
		e.add(&q)
	case *format.AffineParams:
		q := *p
		q.A, q.B, q.W = e.read(n.in[0]), e.read(n.in[1]), e.weight(n.w, 0)
		if q.B == format.None {
			q.Out = e.result(n, n.in[0])
		} else {
			q.Out = e.result(n, n.in[1])
		}
		e.add(&q)
	case *format.PositionParams:
		q := *p
		q.Out = e.result(n, nil)
		e.add(&q)
	case *format.XIELUParams:
		q := *p
		q.In = e.read(n.in[0])
		q.Out = e.result(n, n.in[0])
		e.add(&q)
	case *format.RetainParams:
		q := *p
		q.Q, q.K, q.V, q.Decay = e.read(n.in[0]), e.read(n.in[1]), e.read(n.in[2]), e.read(n.in[3])
		q.First = e.weight(n.w, 0)
		q.Out = e.result(n, nil)
		e.add(&q)
	case *format.WKVParams:
		q := *p
		q.R, q.W, q.K, q.V, q.A, q.B = e.read(n.in[0]), e.read(n.in[1]), e.read(n.in[2]), e.read(n.in[3]), e.read(n.in[4]), e.read(n.in[5])
		q.Out = e.result(n, nil)
		e.add(&q)
	default:
		return
	}
	e.quantise(n)
}
