package arch

import "jns/format"

var _ = register("orion", orion)

// orion is Orion: as llama, with layer norms and rotation of halves.
func orion(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true}
	f := FFN{Act: format.ActSiLU, Unscale: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, true, a, f)
	})
	b.Logits(b.LayerNorm(x, "output_norm"), 1, 0)
}
