package arch

import (
	"math"

	"jns/format"
)

var _ = register("gemma2", gemma2)

// gemma2 is Gemma 2: as gemma, with norms before and after both parts of a layer, caps on attention's and the final logits, and a sliding window in every other
// layer.
func gemma2(b *Builder) {
	b.refuse("expert_count")
	window := b.bounded("attention.sliding_window", 4096, 0, 1<<31)
	swa := b.windowPattern(window, 2)
	full := b.Rotation()
	near := full
	near.Base = b.Nonzero("rope.freq_base_swa", full.Base)

	// The 27B model, the one with 46 layers, divides by the embedding's share of a head instead of the head's width.
	scale := float32(1 / math.Sqrt(float64(b.HeadDim)))
	if b.NLayer == 46 {
		scale = float32(1 / math.Sqrt(float64(b.NEmbed/max(1, b.heads[0]))))
	}
	x := b.Embed(float32(math.Sqrt(float64(b.NEmbed))))
	b.Layers(func(i int) {
		a := Attn{NeoX: true, Scale: scale, SoftCap: float32(b.Float("attn_logit_softcapping", 50))}
		if swa[i] {
			a.Rope, a.Window = b.RopeTable(near), window
		} else {
			a.Rope = b.RopeTable(full)
		}
		y := b.SelfAttention(b.Norm(x, "attn_norm.weight"), a)
		x = b.Add(b.Norm(y, "post_attention_norm.weight"), x)
		y = b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActGELU, Width: b.FF(), Unscale: true})
		x = b.Add(b.Norm(y, "post_ffw_norm.weight"), x)
	})
	b.Output(x, 1, float32(b.Float("final_logit_softcapping", 30)))
}
