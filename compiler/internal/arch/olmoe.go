package arch

import "jns/format"

var _ = register("olmoe", olmoe)

// olmoe is OLMoE: norms of the whole query and key rows, weights that are not renormalised.
func olmoe(b *Builder) {
	b.refuse("expert_shared_feed_forward_length")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true, RowNorm: true, Clamp: b.ClampQKV()}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		y := b.Norm(x, "ffn_norm.weight")
		x = b.Add(b.Experts(y, Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Scale: b.WeightScale(), Width: b.FF()}), x)
	})
	b.Output(x, 1, 0)
}
