package arch

import "jns/format"

var _ = register("minimax-m2", minimaxM2)

// minimaxM2 is MiniMax M2: norms of the whole query and key rows, experts chosen with a bias, no shared one.
func minimaxM2(b *Builder) {
	b.refuse("expert_shared_feed_forward_length", "leading_dense_block_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true, RowNorm: true}
	m := Moe{Act: format.ActSiLU, Func: b.Gating(format.RouteSigmoid), Renormalise: true, Scale: b.WeightScale(), Width: b.ExpertFF(), Choice: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.Experts(b.Norm(x, "ffn_norm.weight"), m), x)
	})
	b.Output(x, 1, 0)
}
