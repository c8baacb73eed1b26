package arch

import "jns/format"

var _ = register("pangu-embedded", panguEmbedded)

// panguEmbedded is openPangu Embedded: as llama, with biases in attention and rotation of halves.
func panguEmbedded(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true}
	f := FFN{Act: format.ActSiLU, Unscale: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, false, a, f)
	})
	b.Output(x, 1, 0)
}
