package arch

import "jns/format"

var _ = register("falcon", falcon)

// falcon is Falcon 7B and 40B: layer norms, a fused matrix for query, key and value, and attention and a plain feed-forward part side by side, over one norm or, in
// the larger model, over one each.
func falcon(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		n := b.LayerNorm(x, "attn_norm")
		m := n
		if b.Has("attn_norm_2.weight") {
			m = b.LayerNorm(x, "attn_norm_2")
		}
		y := b.SelfAttention(m, a)
		z := b.FFN(n, FFN{Act: format.ActGELU, Width: b.FF(), Plain: true, Unscale: true})
		x = b.Add(z, b.Add(y, x))
	})
	b.Logits(b.LayerNorm(x, "output_norm"), 1, 0)
}
