package arch

import (
	"math"

	"jns/format"
)

var _ = register("gemma-embedding", gemmaEmbedding)

// gemmaEmbedding is EmbeddingGemma: as gemma3, but every token sees later ones too; in layers with a window those at most half of it away.
func gemmaEmbedding(b *Builder) {
	b.refuse("expert_count")
	window := b.bounded("attention.sliding_window", 0, 1, 1<<31)
	swa := b.windowPattern(window, 6)
	full := b.Rotation()
	near := full
	near.Base, near.Scaling = b.Nonzero("rope.freq_base_swa", 10000), ScaleNone
	x := b.Embed(float32(math.Sqrt(float64(b.NEmbed))))
	b.Layers(func(i int) {
		a := Attn{NeoX: true, QKNorm: true, All: true}
		if swa[i] {
			a.Rope, a.Reach = b.RopeTable(near), window/2
		} else {
			a.Rope = b.RopeTable(full)
		}
		y := b.SelfAttention(b.Norm(x, "attn_norm.weight"), a)
		x = b.Add(b.Norm(y, "post_attention_norm.weight"), x)
		y = b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActGELU, Width: b.FF(), Unscale: true})
		x = b.Add(b.Norm(y, "post_ffw_norm.weight"), x)
	})
	b.hidden(b.Norm(x, "output_norm.weight"))
}
