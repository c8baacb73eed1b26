package arch

import "jns/format"

var _ = register("arctic", arctic)

// arctic is Snowflake Arctic: a dense feed-forward part after attention, and experts beside both, which see the layer's input.
func arctic(b *Builder) {
	a := Attn{Rope: b.RopeTable(b.Rotation()), NoBias: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		in := x
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActSiLU, Width: b.NEmbed, Unscale: true}), x)
		y := b.Experts(b.Norm(in, "ffn_norm_exps.weight"), Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Renormalise: true, Scale: b.WeightScale(), Width: b.FF()})
		x = b.Add(y, x)
	})
	b.Output(x, 1, 0)
}
