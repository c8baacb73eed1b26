package arch

import "jns/format"

var _ = register("codeshell", codeShell)

// codeShell is CodeShell: layer norms, biases, rotation of halves and a plain feed-forward part.
func codeShell(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true}
	f := FFN{Act: format.ActGELU, Unscale: true, Plain: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, true, a, f)
	})
	b.Logits(b.LayerNorm(x, "output_norm"), 1, 0)
}
