package arch

import "jns/format"

var _ = register("hy_v3", hunyuan3)

// hunyuan3 is Hunyuan 3: as qwen3moe, with leading dense layers, experts chosen by a sigmoid with a bias, and a shared one; blocks of multi-token prediction may follow.
func hunyuan3(b *Builder) {
	b.Predicted()
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true, QKNorm: true}
	m := Moe{Act: format.ActSiLU, Func: b.Gating(format.RouteSigmoid), Renormalise: b.Bool("expert_weights_norm", false), Scale: b.WeightScale(), Width: b.qwenExpertFF(), Choice: true, Scaled: true}
	shared := b.SharedFF(m.Width)
	x := b.Embed(1)
	b.Layers(func(int) {
		dense := !b.Has("ffn_gate_inp.weight")
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.leading(dense, b.Norm(x, "ffn_norm.weight"), m, shared), x)
		if !dense {
			b.ignoreDense()
		}
	})
	b.Output(x, 1, 0)
}
