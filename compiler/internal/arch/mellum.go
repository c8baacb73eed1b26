package arch

import "jns/format"

var _ = register("mellum", mellum)

// mellum is Mellum 2: as qwen3moe, with a sliding window in three layers of four, whose rotation is never stretched.
func mellum(b *Builder) {
	full := b.Rotation()
	near := full
	near.Scaling, near.Factors, near.Magnitude = ScaleNone, nil, 1
	window := b.bounded("attention.sliding_window", 0, 0, 1<<31)
	swa := b.windowPattern(window, 4)
	m := Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Renormalise: true, Scaled: true, Scale: b.WeightScale(), Width: b.ExpertFF()}
	x := b.Embed(1)
	b.Layers(func(i int) {
		a := Attn{Rope: b.RopeTable(full), NeoX: true, QKNorm: true}
		if swa[i] {
			a.Rope, a.Window = b.RopeTable(near), window
		}
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.Experts(b.Norm(x, "ffn_norm.weight"), m), x)
	})
	b.Output(x, 1, 0)
}
