package arch

import "jns/format"

var _ = register("qwen", qwen)

// qwen is Qwen 1: as llama, with a fused matrix with biases for query, key and value, and rotation of halves; feed_forward_length counts gate and up.
func qwen(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActSiLU, Width: b.FF() / 2, Unscale: true}), x)
	})
	b.Output(x, 1, 0)
}
