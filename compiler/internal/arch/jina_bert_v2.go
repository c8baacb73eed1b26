package arch

import "jns/format"

var _ = register("jina-bert-v2", jinaBertV2)

// jinaBertV2 is Jina's second BERT: no positions but linear biases of the distance (ALiBi), layer norms after both parts of a layer, of which those of code have a norm more and norms
// of queries and keys, and a gated feed-forward part. Its results are hidden states.
func jinaBertV2(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: NoRope, All: true, RowLayer: true, Distance: Distance{Slope: 8}}
	x := b.LayerNorm(b.typed(b.Embed(1)), "token_embd_norm")
	b.Layers(func(int) {
		in := x
		x = b.LayerNorm(b.Add(b.SelfAttention(x, a), x), "attn_output_norm")
		if b.Has("attn_norm_2.weight") {
			x = b.LayerNorm(b.Add(x, in), "attn_norm_2")
		}
		f := FFN{Act: format.ActGELU, Unscale: true, Width: b.FF()}
		if up := b.find("ffn_up.weight"); !b.Has("ffn_gate.weight") {
			f.Fused = up != nil && len(up.Dims) == 2 && up.Dims[1] == 2*uint64(f.Width)
			f.Plain = !f.Fused
		}
		x = b.LayerNorm(b.Add(b.FFN(x, f), x), "layer_output_norm")
	})
	b.hidden(x)
}
