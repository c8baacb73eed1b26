package arch

import "jns/format"

var _ = register("cohere2moe", cohere2moe)

// cohere2moe is Cohere's mixture: as cohere2, with leading dense layers, all of which rotate, then experts and shared ones, whose mean is taken. The norms are layer norms unless the
// file gives an epsilon of RMS norms. Blocks of multi-token prediction may follow.
func cohere2moe(b *Builder) {
	b.Predicted()
	window := b.bounded("attention.sliding_window", 0, 1, 1<<31)
	swa := b.denseFirst(window, 4)
	table := b.RopeTable(b.Rotation())
	dense := int(b.Uint("leading_dense_block_count", 0))
	m := Moe{Act: format.ActSiLU, Func: b.Gating(format.RouteSigmoid), Renormalise: b.Bool("expert_weights_norm", false), Scale: b.WeightScale(), Width: b.ExpertFF(), Scaled: true}
	shared := uint32(0)
	if n := b.bounded("expert_shared_count", 0, 0, maxExpert); n > 0 {
		shared = b.SharedFF(b.times(m.Width, n))
	}
	norm := func(x Value, name string) Value {
		if b.Eps == 0 {
			return b.LayerNorm(x, name)
		}
		return b.Norm(x, name+".weight")
	}
	x := b.Embed(1)
	b.Layers(func(i int) {
		a := Attn{Rope: NoRope}
		if swa[i] {
			a.Window = window
		}
		if swa[i] || i < dense {
			a.Rope = table
		}
		n := norm(x, "attn_norm")
		y := b.SelfAttention(n, a)
		z := b.leading(i < dense, n, m, shared)
		if i >= dense && shared > 0 {
			z = b.Scale(z, 0.5)
		}
		x = b.Add(y, b.Add(z, x))
	})
	b.Logits(norm(x, "output_norm"), float32(b.Nonzero("logit_scale", 1)), 0)
}
