package arch

import "jns/format"

var _ = register("minimax-m3", minimaxM3)

// minimaxM3 is MiniMax M3: norms of query and key heads, leading dense layers, then experts and shared ones, clamped gates everywhere. An indexer chooses blocks of positions; see
// deepseek32.
func minimaxM3(b *Builder) {
	b.indexed(b.bounded("attention.indexer.top_k", 0, 0, 1<<31), b.bounded("attention.indexer.block_size", 1, 1, 1<<20))
	r := b.Rotation()
	r.Factors = nil
	a := Attn{Rope: b.RopeTable(r), NeoX: true, QKNorm: true, NoBias: true}
	dense := b.leadingDense()
	m := Moe{Act: format.ActSwigluOAI, Func: b.Gating(format.RouteSoftmax), Renormalise: b.Bool("expert_weights_norm", false), Scale: b.WeightScale(), Width: b.ExpertFF(), Choice: true}
	shared := b.times(m.Width, b.bounded("expert_shared_count", 0, 0, maxExpert))
	x := b.Embed(1)
	b.Layers(func(i int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.leading(i < dense, b.Norm(x, "ffn_norm.weight"), m, shared), x)
	})
	b.Output(x, 1, 0)
}
