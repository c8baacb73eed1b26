package arch

import "jns/format"

var _ = register("exaone-moe", exaoneMoe)

// exaoneMoe is K-EXAONE: three layers of four have a sliding window and rotate, the fourth sees everything and does not; leading dense layers, then experts and shared ones; blocks
// of multi-token prediction may follow.
func exaoneMoe(b *Builder) {
	b.Predicted()
	table := b.RopeTable(b.Rotation())
	window := b.bounded("attention.sliding_window", 128, 1, 1<<31)
	swa := b.windowPattern(window, 4)
	m := Moe{Act: format.ActSiLU, Func: b.Gating(format.RouteSigmoid), Renormalise: b.Bool("expert_weights_norm", false), Scale: b.WeightScale(), Width: b.ExpertFF(), Choice: true}
	shared := b.times(b.SharedFF(m.Width), max(1, b.bounded("expert_shared_count", 1, 0, maxExpert)))
	x := b.Embed(1)
	b.Layers(func(i int) {
		a := Attn{Rope: NoRope, NeoX: true, QKNorm: true, NoBias: true}
		if swa[i] {
			a.Rope, a.Window = table, window
		}
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.leading(!b.Has("ffn_gate_inp.weight"), b.Norm(x, "ffn_norm.weight"), m, shared), x)
	})
	b.Output(x, 1, 0)
}
