package arch

import "jns/format"

var _ = register("seed_oss", seedOSS)

// seedOSS is Seed-OSS: as llama with rotation of halves; the norm before the feed-forward part is called post_attention_norm.
func seedOSS(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true, Scale: float32(b.Float("attention.scale", 0))}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.FFN(b.Norm(x, "post_attention_norm.weight"), FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true}), x)
	})
	b.Output(x, 1, 0)
}
