package arch

import "jns/format"

var _ = register("phi2", phi2)

// phi2 is Phi 1 to 2: layer norms, biases everywhere, and attention and a plain feed-forward part side by side over one norm.
func phi2(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		n := b.LayerNorm(x, "attn_norm")
		y := b.SelfAttention(n, a)
		z := b.FFN(n, FFN{Act: format.ActGELU, Width: b.FF(), Plain: true, Unscale: true})
		x = b.Add(z, b.Add(y, x))
	})
	b.Logits(b.LayerNorm(x, "output_norm"), 1, 0)
}
