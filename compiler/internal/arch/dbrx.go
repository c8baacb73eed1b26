package arch

import "jns/format"

var _ = register("dbrx", dbrx)

// dbrx is DBRX: layer norms without bias, one matrix for queries, keys and values, which are cut, and experts.
func dbrx(b *Builder) {
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true, Clamp: b.ClampQKV()}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.LayerNorm(x, "attn_norm"), a), x)
		y := b.LayerNorm(x, "attn_output_norm")
		x = b.Add(b.Experts(y, Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Renormalise: true, Scale: b.WeightScale(), Width: b.FF()}), x)
	})
	b.Logits(b.LayerNorm(x, "output_norm"), 1, 0)
}
