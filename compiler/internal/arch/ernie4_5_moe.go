package arch

import "jns/format"

var _ = register("ernie4_5-moe", ernie45moe)

// ernie45moe is ERNIE 4.5 with experts in every n-th layer after the leading ones, and a shared expert.
func ernie45moe(b *Builder) {
	a := Attn{Rope: b.RopeTable(b.Rotation()), NoBias: true}
	dense := int(b.Uint("leading_dense_block_count", 0))
	step := int(b.bounded("interleave_moe_layer_step", 1, 1, maxLayers))
	x := b.Embed(1)
	b.Layers(func(i int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		y := b.Norm(x, "ffn_norm.weight")
		if i < dense || (i+1)%step != 0 {
			x = b.Add(b.FFN(y, FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true}), x)
			return
		}
		z := b.Experts(y, Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Renormalise: true, Scale: b.WeightScale(), Width: b.ExpertFF(), Choice: true})
		if n := b.SharedFF(0); n > 0 {
			z = b.SharedExpert(y, z, FFN{Act: format.ActSiLU, Width: n, Unscale: true})
		}
		x = b.Add(z, x)
	})
	b.Output(x, 1, 0)
}
