package arch

import "jns/format"

var _ = register("nemotron", nemotron)

// nemotron is Nemotron 4 and Minitron: layer norms, partial rotation of halves and a plain feed-forward part with a squared ReLU.
func nemotron(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.LayerNorm(x, "attn_norm"), a), x)
		x = b.Add(b.FFN(b.LayerNorm(x, "ffn_norm"), FFN{Act: format.ActReLU2, Width: b.FF(), Plain: true, Unscale: true}), x)
	})
	b.Logits(b.LayerNorm(x, "output_norm"), 1, 0)
}
