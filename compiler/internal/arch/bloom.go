package arch

import "jns/format"

var _ = register("bloom", bloom)

// bloom is BLOOM: linear biases, layer norms, one of them over the embedding, biases everywhere and a plain feed-forward part.
func bloom(b *Builder) {
	b.refuse("expert_count")
	x := b.LayerNorm(b.Embed(1), "token_embd_norm")
	b.Layers(func(int) {
		x = b.sequential(x, true, Attn{Rope: NoRope, Alibi: 8}, FFN{Act: format.ActGELU, Plain: true, Unscale: true})
	})
	b.Logits(b.LayerNorm(x, "output_norm"), 1, 0)
}
