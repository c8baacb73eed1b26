package arch

import "jns/format"

var _ = register("gpt2", gpt2)

// gpt2 is GPT-2: learned positions, layer norms, biases everywhere and a plain feed-forward part.
func gpt2(b *Builder) {
	b.refuse("expert_count")
	x := b.Add(b.Embed(1), b.Positions())
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.LayerNorm(x, "attn_norm"), Attn{Rope: NoRope}), x)
		x = b.Add(b.FFN(b.LayerNorm(x, "ffn_norm"), FFN{Act: format.ActGELU, Width: b.FF(), Plain: true, Unscale: true}), x)
	})
	b.Logits(b.LayerNorm(x, "output_norm"), 1, 0)
}
