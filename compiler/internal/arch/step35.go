package arch

import "jns/format"

var _ = register("step35", step35)

// step35 is Step 3.5: layers with a sliding window among full ones, which rotate half as many elements; gates of attention's heads; leading dense layers, then experts chosen by a
// sigmoid and a shared one, whose hidden values some layers limit. Blocks of multi-token prediction may follow.
func step35(b *Builder) {
	b.Predicted()
	full := b.Rotation()
	near := full
	near.Base, near.Factors, near.Dims = b.Nonzero("rope.freq_base_swa", 10000), nil, b.nearDims(full.Dims)
	near.Scaling = ScaleNone
	full.Dims /= 2
	if full.Factors != nil {
		full.Factors = full.Factors[:full.Dims/2]
	}
	window := b.bounded("attention.sliding_window", 0, 1, 1<<31)
	swa := b.windowPattern(window, 0)
	limits, sharedLimits := b.floats("swiglu_clamp_exp"), b.floats("swiglu_clamp_shexp")
	m := Moe{Act: format.ActSiLU, Func: b.Gating(format.RouteSigmoid), Renormalise: b.Bool("expert_weights_norm", false), Scale: b.WeightScale(), Width: b.ExpertFF(), Choice: true}
	shared := b.SharedFF(0)
	x := b.Embed(1)
	b.Layers(func(i int) {
		dense := !b.Has("ffn_gate_inp.weight")
		a := Attn{Rope: b.RopeTable(full), NeoX: true, QKNorm: b.Has("attn_q_norm.weight")}
		if swa[i] {
			a.Rope, a.Window = b.RopeTable(near), window
		}
		if b.Has("attn_gate.weight") {
			a.Gate = format.ActSigmoid
		}
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		y := b.Norm(x, "ffn_norm.weight")
		m.Limit, m.SharedLimit = limits[i], sharedLimits[i]
		x = b.Add(b.leading(dense, y, m, shared), x)
		if !dense {
			b.ignoreDense()
		}
	})
	b.Output(x, 1, 0)
}
