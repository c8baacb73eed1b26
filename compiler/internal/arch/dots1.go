package arch

import "jns/format"

var (
	_ = register("dots1", dots1)
	_ = register("deepseek", deepseek)
	_ = register("bailingmoe2", bailingmoe2)
)

// dots1 is dots.llm1: norms of query and key heads, leading dense layers, then experts and shared ones.
func dots1(b *Builder) {
	b.mixture(Attn{NeoX: true, QKNorm: true}, b.Gating(format.RouteSigmoid), b.Bool("expert_weights_norm", false), b.ExpertFF(), b.leadingDense())
}

// deepseek is DeepSeek MoE, the first: as llama, with leading dense layers and shared experts, weights not renormalised.
func deepseek(b *Builder) {
	b.mixture(Attn{Scale: float32(b.Float("attention.scale", 0))}, format.RouteSoftmax, false, b.ExpertFF(), b.leadingDense())
}

// bailingmoe2 is Ling 2.0: as dots1, with one matrix for queries, keys and values, groups of experts, and blocks of multi-token prediction at the end.
func bailingmoe2(b *Builder) {
	b.Predicted()
	b.mixture(Attn{NeoX: true, QKNorm: true}, b.Gating(format.RouteSigmoid), b.Bool("expert_weights_norm", false), b.SharedFF(b.ExpertFF()), b.leadingDense())
}

// mixture is the common form of models with leading dense layers and shared experts, each of width shared.
func (b *Builder) mixture(a Attn, gating uint8, renormalise bool, shared uint32, dense int) {
	a.Rope = b.RopeTable(b.Rotation())
	b.mixtureOf(a, gating, renormalise, shared, dense)
}

// mixtureOf is mixture with a rotation that is made already.
func (b *Builder) mixtureOf(a Attn, gating uint8, renormalise bool, shared uint32, dense int) {
	shared = b.times(shared, b.bounded("expert_shared_count", 1, 1, maxExpert))
	m := Moe{Act: format.ActSiLU, Func: gating, Renormalise: renormalise, Scale: b.WeightScale(), Width: b.ExpertFF(), Choice: true}
	x := b.Embed(1)
	b.Layers(func(i int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.leading(i < dense, b.Norm(x, "ffn_norm.weight"), m, shared), x)
	})
	b.Output(x, 1, 0)
}

// leadingDense is the number of layers before the first with experts.
func (b *Builder) leadingDense() int {
	return int(b.bounded("leading_dense_block_count", 0, 0, maxLayers))
}
