package arch

import "jns/format"

var _ = register("command-r", commandR)

// commandR is Command R and R+: layer norms without bias, attention and feed-forward part side by side over one norm; the logits are scaled. The larger model has
// norms of query and key heads.
func commandR(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), LayerNorm: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		n := b.LayerNorm(x, "attn_norm")
		y := b.SelfAttention(n, a)
		z := b.FFN(n, FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true})
		x = b.Add(z, b.Add(y, x))
	})
	b.Logits(b.LayerNorm(x, "output_norm"), float32(b.Nonzero("logit_scale", 1)), 0)
}
