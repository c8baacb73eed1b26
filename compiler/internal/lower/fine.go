package lower

import "jns/format"

// markFine chooses the quantised matrices that take their input in two rows, the values and what rounding left of them, so that the rounding of
// activations adds no error there. The choice follows what it costs and what it gives (RATIONALE.md has the measurements): the matrices that make keys and values are
// small, and what they get wrong is read again by every later position, as is what goes into a recurrent state; the logits are computed for few rows, straight from their input; the output
// projection of attention adds to the residual stream. Each costs a second pass of integer products over weights that are in registers already, and no more bytes.
//
// Where a router chooses experts, every matrix does: a small error before a router can change its choice, which is a large error after it.
func markFine(g *graph) {
	users := map[*node][]*node{}
	for _, n := range g.nodes {
		for _, x := range n.inputs() {
			users[x] = append(users[x], n)
		}
	}
	routed := g.routed()
	for _, n := range g.nodes {
		switch n.params.(type) {
		case *format.MatMulParams:
			n.fine = quantised(n.w[0]) && (routed || fromAttention(n.in[0]) || g.endsIn(n, users))
		case *format.ExpertsParams:
			n.fine = quantised(n.w[1])
		case *format.HeadMatMulParams:
			n.fine = quantised(n.w[0])
		}
	}
}

// routed says whether a router chooses experts.
func (g *graph) routed() bool {
	for _, n := range g.nodes {
		if _, ok := n.params.(*format.RouteParams); ok {
			return true
		}
	}
	return false
}

// fromAttention says whether x is the result of attention.
func fromAttention(x *node) bool {
	for {
		switch x.params.(type) {
		case *format.AttentionParams, *format.HeadMatMulParams:
			return true
		case *format.SelectParams:
			x = x.in[0]
		default:
			return false
		}
	}
}

// endsIn says whether the result of n becomes keys, values or logits with nothing but norms, rotations and scales in between.
func (g *graph) endsIn(n *node, users map[*node][]*node) bool {
	if g.logits == n {
		return true
	}
	for _, u := range users[n] {
		switch u.params.(type) {
		case *format.KVAppendParams, *format.ConvParams, *format.ScanParams, *format.DeltaParams, *format.WKVParams, *format.RetainParams:
			return true
		case *format.NormParams, *format.RopeParams, *format.SoftCapParams, *format.ElementParams, *format.SliceParams, *format.TemperParams:
			if u.residual == nil && len(compact(u.in)) == 1 && g.endsIn(u, users) {
				return true
			}
		}
	}
	return false
}
