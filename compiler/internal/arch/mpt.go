package arch

import (
	"jns/compiler/internal/gguf"
	"jns/format"
)

var _ = register("mpt", mpt)

// mpt is MPT: linear biases or learned positions, layer norms whose biases files may lack, also of queries and keys, limits of queries, keys and values; files of scaled activations divide the hidden values.
func mpt(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: NoRope, Alibi: b.maxBias(), Clamp: b.ClampQKV(), RowLayer: true}
	x := b.Embed(1)
	if b.Has("position_embd.weight") {
		x = b.Add(x, b.Positions())
	}
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.LayerNorm(x, "attn_norm"), a), x)
		h := b.Activate(b.biased(b.LayerNorm(x, "ffn_norm"), "ffn_up", b.FF(), false), NoValue, format.ActGELU)
		if b.Has("ffn.act.scales") {
			h = b.Div(h, b.Constant("ffn.act.scales", b.FF()))
		}
		x = b.Add(b.biased(h, "ffn_down", b.NEmbed, false), x)
	})
	b.Logits(b.LayerNorm(x, "output_norm"), 1, 0)
}

// Constant is a vector of the file as a result that is the same for every row.
func (b *Builder) Constant(name string, n uint32) Value {
	t := b.tensor(RoleRows, name, uint64(n))
	b.checkWeight(t)
	return b.add(Node{Params: &format.RowsParams{Scale: 1, By: format.ByNothing}, W: []*gguf.Tensor{t}, Name: shortName(name), Width: n})
}

// Div is x/y, element by element.
func (b *Builder) Div(x, y Value) Value {
	return b.add(Node{Params: &format.ElementParams{Element: format.ElementDiv}, In: []Value{x, y}, Name: b.g.Nodes[x].Name, Width: b.width(x)})
}
