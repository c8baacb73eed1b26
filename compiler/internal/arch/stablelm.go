package arch

import "jns/format"

var _ = register("stablelm", stablelm)

// stablelm is StableLM: layer norms, partial rotation of halves, optional norms of query and key heads; a file without ffn_norm (the 12B model) has attention and
// feed-forward part side by side over one norm.
func stablelm(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true, LayerNorm: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		n := b.LayerNorm(x, "attn_norm")
		x = b.Add(b.SelfAttention(n, a), x)
		if b.Has("ffn_norm.weight") {
			n = b.LayerNorm(x, "ffn_norm")
		}
		x = b.Add(b.FFN(n, FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true}), x)
	})
	b.Logits(b.LayerNorm(x, "output_norm"), 1, 0)
}
