package arch

import "jns/format"

var _ = register("phimoe", phimoe)

// phimoe is Phi 3.5 MoE: as phi3, with biases everywhere and experts.
func phimoe(b *Builder) {
	b.refuse("expert_shared_feed_forward_length")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true}
	norm := func(x Value, prefix string) Value {
		n := b.NEmbed
		y := b.norm(x, format.NormRMS, b.Vector(prefix+".weight", n), b.Optional(prefix+".bias", n), 1, false, b.Eps)
		b.g.Nodes[y].Name = shortName(prefix)
		return y
	}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(norm(x, "attn_norm"), a), x)
		y := norm(x, "ffn_norm")
		x = b.Add(b.Experts(y, Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Renormalise: true, Scale: b.WeightScale(), Width: b.FF()}), x)
	})
	b.Logits(norm(x, "output_norm"), 1, 0)
}
