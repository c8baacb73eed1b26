package arch

import "jns/format"

var _ = register("qwen2moe", qwen2moe)

// qwen2moe is Qwen 1.5 and 2 with experts: as qwen2, with weights that are not renormalised and a shared expert behind a gate.
func qwen2moe(b *Builder) {
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		y := b.Norm(x, "ffn_norm.weight")
		z := b.Experts(y, Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Scale: b.WeightScale(), Width: b.qwenExpertFF()})
		z = b.SharedExpert(y, z, FFN{Act: format.ActSiLU, Width: b.SharedFF(b.FF()), Unscale: true})
		x = b.Add(z, x)
	})
	b.Output(x, 1, 0)
}

// SharedFF is the width of the shared expert, def if the file does not say.
func (b *Builder) SharedFF(def uint32) uint32 {
	if v := b.bounded("expert_shared_feed_forward_length", 0, 0, maxWidth); v != 0 {
		return v
	}
	return def
}
