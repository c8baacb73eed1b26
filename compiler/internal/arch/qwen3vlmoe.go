package arch

import "jns/format"

var _ = register("qwen3vlmoe", qwen3vlmoe)

// qwen3vlmoe is the language model of Qwen 3 VL with experts, for text: as qwen3vl.
func qwen3vlmoe(b *Builder) {
	r := b.Rotation()
	b.sections(&r, true)
	a := Attn{Rope: b.RopeTable(r), NeoX: true, QKNorm: true}
	m := Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Renormalise: true, Scale: b.WeightScale(), Width: b.qwenExpertFF()}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.Experts(b.Norm(x, "ffn_norm.weight"), m), x)
	})
	b.Output(x, 1, 0)
}
