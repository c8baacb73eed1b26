package arch

import (
	"math"

	"jns/format"
)

var _ = register("gemma", gemma)

// gemma is Gemma 1: as llama, with embeddings times √width, GELU and rotation of halves.
func gemma(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true}
	x := b.Embed(float32(math.Sqrt(float64(b.NEmbed))))
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActGELU, Width: b.FF(), Unscale: true}), x)
	})
	b.Output(x, 1, 0)
}
