package arch

import "jns/format"

var _ = register("grovemoe", groveMoE)

// groveMoE is GroveMoE: as qwen3moe, with a second set of experts, each shared by a group of the first ones, which work on what the first have given. llama.cpp, which files of this architecture
// are made for, weighs one of the second set by the router's number of the same index, not by that of its group.
func groveMoE(b *Builder) {
	b.refuse("expert_shared_feed_forward_length", "expert_group_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true, QKNorm: true}
	m := Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Renormalise: true, Scale: b.WeightScale(), Width: b.qwenExpertFF()}
	small := m
	small.Suffix, small.Share = "_chexps", b.bounded("experts_per_group", 0, 1, maxExpert)
	if small.Width = b.bounded("expert_chunk_feed_forward_length", 0, 0, maxWidth); small.Width == 0 {
		small.Width = b.HeadDim
	}
	if b.NExpert%small.Share != 0 {
		b.corrupt("%d experts in groups of %d make no sense", b.NExpert, small.Share)
		small.Share = 1
	}
	scale := float32(b.Float("expert_group_scale", 1))
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		y := b.Norm(x, "ffn_norm.weight")
		m.Router = b.plain(y, "ffn_gate_inp", b.NExpert)
		small.Router = m.Router
		y = b.Experts(y, m)
		x = b.Add(b.Add(y, b.Scale(b.Experts(y, small), scale)), x)
	})
	b.Output(x, 1, 0)
}
