package arch

import "jns/format"

var _ = register("starcoder", starCoder)

// starCoder is StarCoder 1: learned positions, layer norms, biases, one head of keys and values and a plain feed-forward part.
func starCoder(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: NoRope}
	f := FFN{Act: format.ActGELU, Unscale: true, Plain: true}
	x := b.Add(b.Embed(1), b.Positions())
	b.Layers(func(int) {
		x = b.sequential(x, true, a, f)
	})
	b.Logits(b.LayerNorm(x, "output_norm"), 1, 0)
}
