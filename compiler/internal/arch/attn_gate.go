package arch

import "jns/format"

// gated is attention's result y times a function of attn_gate's product with the layer's input x. The matrix has a row for each element of y, or for each head.
func (b *Builder) gated(x, y Value, act uint8, heads uint32) Value {
	if t := b.find("attn_gate.weight"); t != nil && (len(t.Dims) == 2 && t.Dims[1] == uint64(heads) || len(t.Dims) == 1 && heads == 1) {
		return b.Spread(y, b.Activate(b.plain(x, "attn_gate", heads), NoValue, act))
	}
	return b.Activate(b.plain(x, "attn_gate", b.width(y)), y, act)
}

// Spread multiplies each of as many equal runs of x as f has elements by one of them.
func (b *Builder) Spread(x, f Value) Value {
	p := &format.ElementParams{Element: format.ElementSpread}
	return b.add(Node{Params: p, In: []Value{x, f}, Name: b.g.Nodes[x].Name + "_gated", Width: b.width(x)})
}
