package arch

import "jns/format"

var _ = register("jais2", jais2)

// jais2 is Jais 2: layer norms, biases, rotation of halves and a plain feed-forward part with a squared ReLU.
func jais2(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true}
	f := FFN{Act: format.ActReLU2, Unscale: true, Plain: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, true, a, f)
	})
	b.Logits(b.LayerNorm(x, "output_norm"), 1, 0)
}
