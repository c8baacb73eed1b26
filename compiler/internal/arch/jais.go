package arch

import "jns/format"

var _ = register("jais", jais)

// jais is Jais 1: linear biases, layer norms, biases everywhere; scores are divided by the width of a head, not by its root.
func jais(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: NoRope, Alibi: b.maxBias(), Scale: 1 / float32(b.HeadDim)}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, true, a, FFN{Act: format.ActSiLU, Unscale: true})
	})
	b.Logits(b.LayerNorm(x, "output_norm"), 1, 0)
}
