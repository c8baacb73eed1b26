package arch

import "jns/format"

var _ = register("bailingmoe3", bailingmoe3)

// bailingmoe3 is Ling 3: layers without heads of keys have Kimi's delta rule, with decays between 1 and e to the power of a bound; the others latent attention, gated head by head; leading dense layers,
// then experts and shared ones, with limits of their own for each layer.
func bailingmoe3(b *Builder) {
	b.Predicted()
	if !b.Bool("kda.safe_gate", true) {
		b.unsupported("key %q is false; architecture %s is known here with bounded decays", b.key("kda.safe_gate"), b.g.Arch)
	}
	bound := b.decayBound()
	l := b.Latent()
	r := b.Rotation()
	l.NeoX = b.sections(&r, false)
	l.Table, l.Gate, l.Unscale = b.RopeTable(r), format.ActSigmoid, true
	taps, dim := b.bounded("ssm.conv_kernel", 0, 2, 64), b.bounded("kda.head_dim", 0, 1, 1<<12)
	dense := int(b.Uint("leading_dense_block_count", 0))
	m := Moe{Act: format.ActSiLU, Func: b.Gating(format.RouteSigmoid), Renormalise: b.Bool("expert_weights_norm", false), Scale: b.WeightScale(), Width: b.ExpertFF(), Choice: true}
	shared := b.SharedFF(b.times(m.Width, max(1, b.bounded("expert_shared_count", 0, 0, maxExpert))))
	limits, sharedLimits := b.floats("swiglu_clamp_exp"), b.floats("swiglu_clamp_shexp")
	x := b.Embed(1)
	b.Layers(func(i int) {
		y := b.Norm(x, "attn_norm.weight")
		if b.KVHeads() == 0 {
			y = b.kimiDelta(y, b.someHeads(), dim, taps, bound, 1)
		} else {
			y = b.LatentAttention(y, l)
		}
		x = b.Add(y, x)
		m.Limit, m.SharedLimit = limits[i], sharedLimits[i]
		x = b.Add(b.leading(i < dense, b.Norm(x, "ffn_norm.weight"), m, shared), x)
	})
	b.Output(x, 1, 0)
}

// decayBound is the bound of decays, 0 if the file gives none.
func (b *Builder) decayBound() float32 {
	v := b.Float("kda.gate_lower_bound", 0)
	if v > 0 {
		b.corrupt("key %q is %v, must be below 0", b.key("kda.gate_lower_bound"), v)
		return 0
	}
	return float32(v)
}
