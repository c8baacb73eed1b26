package arch

import (
	"jns/compiler/internal/gguf"
	"jns/format"
)

var (
	_ = register("bert", bert)
	_ = register("nomic-bert", bert)
)

// bert is BERT and its like: learned positions (or, in nomic-bert, rotation of halves), every token sees all others, layer norms after both parts of a layer and none
// before, a plain feed-forward part (gated in nomic-bert). Its results are hidden states.
func bert(b *Builder) {
	b.refuse("expert_count")
	nomic := b.g.Arch == "nomic-bert"
	a, f := Attn{Rope: NoRope, All: true}, FFN{Act: format.ActGELU, Plain: true, Unscale: true}
	if nomic {
		a.Rope, a.NeoX = b.RopeTable(b.Rotation()), true
		f.Act, f.Plain = format.ActSiLU, false
	}
	x := b.Embed(1)
	if t := b.find("token_types.weight"); t != nil {
		rows := uint64(1)
		if len(t.Dims) == 2 {
			rows = t.Dims[1]
		}
		t = b.tensor(RoleRows, "token_types.weight", uint64(b.NEmbed), rows)
		b.checkWeight(t)
		// All tokens are of the first type.
		x = b.Add(x, b.add(Node{Params: &format.RowsParams{Scale: 1, By: format.ByNothing}, W: []*gguf.Tensor{t}, Name: "token_type", Width: b.NEmbed}))
	}
	if !nomic {
		x = b.Add(x, b.Positions())
	}
	x = b.LayerNorm(x, "token_embd_norm")
	b.Layers(func(int) {
		x = b.LayerNorm(b.Add(b.SelfAttention(x, a), x), "attn_output_norm")
		f.Width = b.FF()
		x = b.LayerNorm(b.Add(b.FFN(x, f), x), "layer_output_norm")
	})
	if !b.Embedding(x) {
		b.g.Logits, b.g.Output = x, format.OutputEach
	}
}
