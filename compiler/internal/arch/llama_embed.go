package arch

import "jns/format"

var _ = register("llama-embed", llamaEmbed)

// llamaEmbed is Llama as an encoder: every token sees all others, and the results are hidden states.
func llamaEmbed(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), All: true, Scale: float32(b.Float("attention.scale", 0))}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, false, a, FFN{Act: format.ActSiLU})
	})
	b.hidden(b.Norm(x, "output_norm.weight"))
}
