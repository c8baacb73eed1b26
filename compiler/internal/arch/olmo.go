package arch

import "jns/format"

var _ = register("olmo", olmo)

// olmo is OLMo 1: as llama, with layer norms that have no weights.
func olmo(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), Clamp: b.ClampQKV()}
	norm := func(x Value) Value { return b.norm(x, format.NormLayer, nil, nil, 1, false, b.LayerEps) }
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(norm(x), a), x)
		x = b.Add(b.FFN(norm(x), FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true}), x)
	})
	b.Logits(norm(x), 1, 0)
}
