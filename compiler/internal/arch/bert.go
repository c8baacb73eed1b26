package arch

import (
	"jns/compiler/internal/gguf"
	"jns/format"
)

var (
	_ = register("bert", bert)
	_ = register("nomic-bert", bert)
	_ = register("nomic-bert-moe", bert)
	_ = register("jina-bert-v3", bert)
)

// bert is BERT and its like: learned positions (in the others rotation of halves), every token sees all others, layer norms after both parts of a layer and none
// before, a plain feed-forward part (gated in nomic-bert), or experts in some layers. Its results are hidden states.
func bert(b *Builder) {
	learned := b.g.Arch == "bert"
	every := 0
	if b.g.Arch == "nomic-bert-moe" {
		every = int(b.bounded("moe_every_n_layers", 0, 0, maxLayers))
	} else {
		b.refuse("expert_count")
	}
	a, f := Attn{Rope: NoRope, All: true, RowLayer: true}, FFN{Act: format.ActGELU, Plain: true, Unscale: true}
	if !learned {
		a.Rope, a.NeoX = b.RopeTable(b.Rotation()), true
	}
	if b.g.Arch == "nomic-bert" {
		f.Act, f.Plain = format.ActSiLU, false
	}
	x := b.typed(b.Embed(1))
	if learned {
		x = b.Add(x, b.Positions())
	}
	x = b.LayerNorm(x, "token_embd_norm")
	b.Layers(func(i int) {
		x = b.LayerNorm(b.Add(b.SelfAttention(x, a), x), "attn_output_norm")
		f.Width = b.FF()
		var y Value
		if every > 0 && i%every == 1 {
			y = b.Experts(x, Moe{Act: f.Act, Func: format.RouteSoftmax, Scale: b.WeightScale(), Width: f.Width, Plain: true})
		} else {
			y = b.FFN(x, f)
		}
		x = b.LayerNorm(b.Add(y, x), "layer_output_norm")
	})
	b.hidden(x)
}

// typed adds what stands for the first type of tokens, which all are of, if the file has types.
func (b *Builder) typed(x Value) Value {
	t := b.find("token_types.weight")
	if t == nil {
		return x
	}
	rows := uint64(1)
	if len(t.Dims) == 2 {
		rows = t.Dims[1]
	}
	t = b.tensor(RoleRows, "token_types.weight", uint64(b.NEmbed), rows)
	b.checkWeight(t)
	return b.Add(x, b.add(Node{Params: &format.RowsParams{Scale: 1, By: format.ByNothing}, W: []*gguf.Tensor{t}, Name: "token_type", Width: b.NEmbed}))
}
