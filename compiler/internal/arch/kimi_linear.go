package arch

import (
	"math"

	"jns/format"
)

var _ = register("kimi-linear", kimiLinear)

// kimiLinear is Kimi Linear: layers without heads of keys have a delta rule with a decay for every key, the others latent attention without rotation; leading dense layers, then
// experts and shared ones.
func kimiLinear(b *Builder) {
	l := b.Latent()
	taps, dim := b.bounded("ssm.conv_kernel", 0, 2, 64), b.bounded("kda.head_dim", 0, 1, 1<<12)
	dense := int(b.Uint("leading_dense_block_count", 0))
	m := Moe{Act: format.ActSiLU, Func: b.Gating(format.RouteSigmoid), Renormalise: true, Scale: b.WeightScale(), Width: b.ExpertFF(), Choice: true}
	shared := b.times(m.Width, b.bounded("expert_shared_count", 0, 0, maxExpert))
	x := b.Embed(1)
	b.Layers(func(i int) {
		y := b.Norm(x, "attn_norm.weight")
		if b.KVHeads() == 0 {
			y = b.kimiDelta(y, b.someHeads(), dim, taps, 0, 0)
		} else {
			y = b.LatentAttention(y, l)
		}
		x = b.Add(y, x)
		x = b.Add(b.leading(i < dense, b.Norm(x, "ffn_norm.weight"), m, shared), x)
	})
	b.Output(x, 1, 0)
}

// kimiDelta is a layer's delta rule. Where bound is not 0, a decay is e^(bound·sigmoid(rate·A·…)), where A is what the file gives; narrow matrices may be one wide one.
func (b *Builder) kimiDelta(x Value, heads, dim, taps uint32, bound, rate float32) Value {
	n := b.times(heads, dim)
	var qkv [3]Value
	whole := b.Has("attn_qkv.weight")
	if whole {
		copy(qkv[:], b.Fused(x, "attn_qkv", []uint32{n, n, n}, []string{"attn_q", "attn_k", "attn_v"}, false))
	}
	for i, s := range []string{"q", "k", "v"} {
		if !whole {
			qkv[i] = b.plain(x, "attn_"+s, n)
		}
		qkv[i] = b.Conv(qkv[i], "ssm_conv1d_"+s, taps, format.ActSiLU)
	}
	decay := b.narrow(x, "ssm_f", dim, n)
	beta := b.plain(x, "ssm_beta", heads)
	y := b.Delta(qkv[0], qkv[1], qkv[2], decay, beta, &format.DeltaParams{
		Heads: heads, KeyHeads: heads, KeyDim: dim, ValDim: dim, Scale: float32(1 / math.Sqrt(float64(dim))),
		Bound: bound, Rate: rate,
	})
	gate := b.narrow(x, "ssm_g", dim, n)
	return b.plain(b.Activate(gate, b.HeadNorm(y, "ssm_norm.weight", heads), format.ActSigmoid), "attn_output", b.NEmbed)
}

// narrow is x through a narrow matrix and a wide one, or through a single one, which files name as the first or without an ending.
func (b *Builder) narrow(x Value, name string, low, rows uint32) Value {
	switch {
	case b.Has(name + "_b.weight"):
		return b.plain(b.plain(x, name+"_a", low), name+"_b", rows)
	case b.Has(name + "_a.weight"):
		return b.plain(x, name+"_a", rows)
	}
	return b.plain(x, name, rows)
}
