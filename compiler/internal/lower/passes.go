package lower

import "jns/format"

// foldScales turns scale(matmul(x)) into a matrix product with that scale, where nothing else reads the product.
func foldScales(g *graph) {
	users := g.users()
	for i := 0; i < len(g.nodes); i++ {
		n := g.nodes[i]
		p, ok := n.params.(*format.ElementParams)
		if !ok || p.Element != format.ElementScale {
			continue
		}
		m, ok := n.in[0].params.(*format.MatMulParams)
		if !ok || users[n.in[0]] != 1 || n.in[0].residual != nil || m.Parts[0].Scale != 1 || m.Parts[0].BiasLast {
			continue
		}
		mm, part := *m, m.Parts[0]
		part.Scale = p.Scale
		mm.Parts = []format.MatMulPart{part}
		n.in[0].params = &mm
		g.replace(n, n.in[0], i+1)
		g.remove(i)
		i--
	}
}

// fuseResiduals turns matmul(x) + r, and experts(x) + r, into one operation where nothing else reads the product.
// A sum takes the residual as its other operand, so r must come before the product.
func fuseResiduals(g *graph) {
	users := g.users()
	for i := 0; i < len(g.nodes); i++ {
		n := g.nodes[i]
		p, ok := n.params.(*format.ElementParams)
		if !ok || p.Element != format.ElementAdd || p.Scale != 1 || n.in[0] == n.in[1] {
			continue
		}
		for side := range 2 {
			a, r := n.in[side], n.in[1-side]
			if !takesResidual(a) || users[a] != 1 || g.position(r) > g.position(a) {
				continue
			}
			a.residual, a.name = r, n.name
			g.replace(n, a, i+1)
			g.remove(i)
			i--
			break
		}
	}
}

func takesResidual(n *node) bool {
	switch n.params.(type) {
	case *format.MatMulParams, *format.ExpertsParams:
		return n.residual == nil
	}
	return false
}

// selectEarly narrows the batch to the rows whose logits are wanted as soon as no operation needs the others: after the last
// attention. What is computed for a row depends on no other row, so this changes no bit; it saves the last layer's output
// projection and feed-forward part for all other rows of a prompt.
func selectEarly(g *graph) {
	last := -1
	for i, n := range g.nodes {
		switch n.params.(type) {
		case *format.AttentionParams, *format.KVAppendParams, *format.RowsParams, *format.RopeParams, *format.TemperParams, *format.PositionParams,
			*format.ConvParams, *format.ScanParams, *format.DeltaParams, *format.WKVParams, *format.RetainParams:
			last = i
		}
	}
	var selects []*node
	before := g.nodes[:last+1]
	for _, n := range before {
		if n.width == 0 || !g.readAfter(n, last+1) {
			continue
		}
		s := &node{params: &format.SelectParams{}, in: []*node{n}, name: n.name, width: n.width}
		g.replace(n, s, last+1)
		selects = append(selects, s)
	}
	nodes := append([]*node{}, before...)
	nodes = append(nodes, selects...)
	g.nodes = append(nodes, g.nodes[last+1:]...)
}

func (g *graph) readAfter(n *node, from int) bool {
	if g.logits == n {
		return true
	}
	for _, m := range g.nodes[from:] {
		for _, x := range m.inputs() {
			if x == n {
				return true
			}
		}
	}
	return false
}

// dropDead removes nodes whose result nothing reads, except those that change a state.
func dropDead(g *graph) {
	users := g.users()
	for i := len(g.nodes) - 1; i >= 0; i-- {
		n := g.nodes[i]
		if _, effect := n.params.(*format.KVAppendParams); effect || users[n] > 0 {
			continue
		}
		for _, x := range n.inputs() {
			users[x]--
		}
		g.remove(i)
	}
}

// groupMatrices joins matrix products with one input into one operation with several parts, at the place of the first:
// query, key and value; gate and up. A part's residual must exist there. Products of float and of quantised matrices take
// different inputs and stay apart.
func groupMatrices(g *graph) {
	var out []*node
	done := map[*node]bool{}
	for i, n := range g.nodes {
		if done[n] {
			continue
		}
		if _, ok := n.params.(*format.MatMulParams); !ok {
			out = append(out, n)
			continue
		}
		group := &node{params: &format.MatMulParams{}, in: n.in, name: n.name, parts: []*node{n}}
		done[n] = true
		for j, m := range g.nodes[i+1:] {
			_, ok := m.params.(*format.MatMulParams)
			if !ok || m.in[0] != n.in[0] || quantised(m.w[0]) != quantised(n.w[0]) {
				continue
			}
			if m.residual != nil && g.position(m.residual) > i || g.blocked(i+1, i+1+j) {
				continue
			}
			group.parts = append(group.parts, m)
			done[m] = true
		}
		out = append(out, group)
	}
	g.nodes = out
}

// blocked says whether rows are selected between two positions; operations must not move across that.
func (g *graph) blocked(from, to int) bool {
	for _, n := range g.nodes[from:to] {
		if _, ok := n.params.(*format.SelectParams); ok {
			return true
		}
	}
	return false
}

// markQuantised finds out in which forms each result is read.
func markQuantised(g *graph) {
	g.logits.wantF32 = true
	for _, n := range g.nodes {
		quantisedIn := false
		switch n.params.(type) {
		case *format.MatMulParams:
			quantisedIn = quantised(n.parts[0].w[0])
		case *format.ExpertsParams:
			quantisedIn = quantised(n.w[1])
			n.in[0].wantFine = n.in[0].wantFine || quantisedIn && n.fine
		case *format.HeadMatMulParams:
			quantisedIn = quantised(n.w[0])
			n.in[0].wantFine = n.in[0].wantFine || quantisedIn && n.fine
		}
		for i, x := range n.in {
			if x == nil {
				continue
			}
			if i == 0 && quantisedIn {
				x.wantQ = true
				for _, p := range n.parts {
					x.wantFine = x.wantFine || p.fine
				}
			} else {
				x.wantF32 = true
			}
		}
		for _, x := range n.inputs()[len(compact(n.in)):] {
			x.wantF32 = true
		}
	}
}

func compact(in []*node) []*node {
	var out []*node
	for _, x := range in {
		if x != nil {
			out = append(out, x)
		}
	}
	return out
}
