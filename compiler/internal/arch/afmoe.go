package arch

import (
	"math"

	"jns/format"
)

var _ = register("afmoe", afmoe)

// afmoe is Trinity: three layers of four have a sliding window and rotate, the fourth sees everything and does not; attention's output is gated, both parts are normed before and
// after; leading dense layers, then experts and shared ones.
func afmoe(b *Builder) {
	full := b.Rotation()
	full.Base = b.Nonzero("rope.freq_base_swa", full.Base)
	table := b.RopeTable(full)
	window := b.bounded("attention.sliding_window", 0, 0, 1<<31)
	swa := b.windowPattern(window, 4)
	dense := int(b.Uint("leading_dense_block_count", 0))
	m := Moe{Act: format.ActSiLU, Func: b.Gating(format.RouteSigmoid), Renormalise: b.Bool("expert_weights_norm", false), Scale: b.WeightScale(), Width: b.ExpertFF(), Choice: true}
	shared := b.times(m.Width, b.bounded("expert_shared_count", 0, 0, maxExpert))
	x := b.Embed(float32(math.Sqrt(float64(b.NEmbed))))
	b.Layers(func(i int) {
		a := Attn{Rope: NoRope, NeoX: true, QKNorm: true, Gate: format.ActSigmoid}
		if (i+1)%4 != 0 {
			a.Rope = table
		}
		if swa[i] {
			a.Window = window
		}
		y := b.SelfAttention(b.Norm(x, "attn_norm.weight"), a)
		x = b.Add(b.Norm(y, "post_attention_norm.weight"), x)
		y = b.leading(i < dense, b.Norm(x, "ffn_norm.weight"), m, shared)
		x = b.Add(b.Norm(y, "post_ffw_norm.weight"), x)
	})
	b.Output(x, 1, 0)
}
