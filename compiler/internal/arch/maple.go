package arch

import "jns/format"

var _ = register("maple", maple)

// maple is Maple: as qwen3moe, with layers that have a sliding window and rotate among full ones that do not, and limits of the experts' hidden values.
func maple(b *Builder) {
	r := b.Rotation()
	r.Base, r.Factors, r.Dims = b.Nonzero("rope.freq_base_swa", r.Base), nil, b.nearDims(r.Dims)
	table := b.RopeTable(r)
	window := b.bounded("attention.sliding_window", 0, 1, 1<<31)
	swa := b.windowPattern(window, 0)
	limits := b.floats("swiglu_clamp_exp")
	m := Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Renormalise: true, Width: b.ExpertFF(), LimitIn: true}
	x := b.Embed(1)
	b.Layers(func(i int) {
		a := Attn{Rope: NoRope, NeoX: true, QKNorm: true}
		if swa[i] {
			a.Rope, a.Window = table, window
		}
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		m.Limit = limits[i]
		x = b.Add(b.Experts(b.Norm(x, "ffn_norm.weight"), m), x)
	})
	b.Output(x, 1, 0)
}
