package arch

import "jns/format"

var _ = register("laguna", laguna)

// laguna is Laguna: the first of every four layers sees everything, the others have a sliding window, a rotation of their own that is never stretched, and their own number of heads;
// attention's output is gated, element by element or head by head; leading dense layers, then experts and a shared one.
func laguna(b *Builder) {
	full := b.Rotation()
	full.Factors = nil
	near := full
	near.Base, near.Scaling, near.Magnitude, near.Dims = b.Nonzero("rope.freq_base_swa", full.Base), ScaleNone, 1, b.nearDims(full.Dims)
	window := b.bounded("attention.sliding_window", 0, 0, 1<<31)
	swa := b.denseFirst(window, 4)
	dense := int(b.Uint("leading_dense_block_count", 0))
	m := Moe{Act: format.ActSiLU, Func: b.Gating(format.RouteSigmoid), Renormalise: b.Bool("expert_weights_norm", false), Scale: b.WeightScale(), Width: b.ExpertFF(), Choice: true}
	shared := b.SharedFF(b.times(m.Width, max(1, b.bounded("expert_shared_count", 1, 0, maxExpert))))
	x := b.Embed(1)
	b.Layers(func(i int) {
		a := Attn{Rope: b.RopeTable(full), NeoX: true, QKNorm: true, Gate: format.ActSoftplus}
		if swa[i] {
			a.Rope, a.Window = b.RopeTable(near), window
		}
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.leading(i < dense, b.Norm(x, "ffn_norm.weight"), m, shared), x)
	})
	b.Output(x, 1, 0)
}
