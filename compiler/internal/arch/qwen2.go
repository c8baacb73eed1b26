package arch

import "jns/format"

var _ = register("qwen2", qwen2)

// qwen2 is Qwen 2 and 2.5: as llama, with biases on query, key and value, and rotation of halves.
func qwen2(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true}
	x := b.Embed(float32(b.Nonzero("embedding_scale", 1)))
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true}), x)
	})
	b.Output(x, 1, 0)
}
