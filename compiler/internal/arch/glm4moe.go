package arch

import "jns/format"

var _ = register("glm4moe", glm4moe)

// glm4moe is GLM 4.5 and 4.6: leading dense layers, then experts chosen by a sigmoid with a bias, and a shared expert; norms of query and key heads where the file has
// them; a block of multi-token prediction at the end.
func glm4moe(b *Builder) {
	b.Predicted()
	r := b.Rotation()
	b.sections(&r, false)
	a := Attn{Rope: b.RopeTable(r), NeoX: true}
	dense := int(b.Uint("leading_dense_block_count", 0))
	m := Moe{Act: format.ActSiLU, Func: b.Gating(format.RouteSigmoid), Renormalise: b.Bool("expert_weights_norm", true), Scale: b.WeightScale(), Width: b.ExpertFF(), Choice: true}
	shared := max(1, b.bounded("expert_shared_count", 1, 0, maxExpert))
	x := b.Embed(1)
	b.Layers(func(i int) {
		a.QKNorm = b.Has("attn_q_norm.weight")
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		y := b.Norm(x, "post_attention_norm.weight")
		x = b.Add(b.leading(i < dense, y, m, b.times(m.Width, shared)), x)
	})
	b.Output(x, 1, 0)
}

// leading is the feed-forward part of a model whose first layers are dense, and whose others have experts and a shared expert.
func (b *Builder) leading(dense bool, y Value, m Moe, shared uint32) Value {
	if dense {
		return b.FFN(y, FFN{Act: m.Act, Width: b.FF(), Unscale: !m.Scaled, Limit: m.SharedLimit})
	}
	z := b.Experts(y, m)
	if shared == 0 {
		return z
	}
	return b.SharedExpert(y, z, FFN{Act: m.Act, Width: shared, Unscale: !m.Scaled, Limit: m.SharedLimit})
}

// times is a product of widths, which must stay in bounds.
func (b *Builder) times(x, y uint32) uint32 {
	if n := uint64(x) * uint64(y); n <= maxWidth {
		return uint32(n)
	}
	b.corrupt("a width of %d times %d makes no sense", x, y)
	return 1
}
