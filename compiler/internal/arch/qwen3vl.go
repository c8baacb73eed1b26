package arch

import "jns/format"

var _ = register("qwen3vl", qwen3vl)

// qwen3vl is the language model of Qwen 3 VL, for text: as qwen3; the features of images that its first layers add have no part in text.
func qwen3vl(b *Builder) {
	b.refuse("expert_count")
	r := b.Rotation()
	b.sections(&r, true)
	a := Attn{Rope: b.RopeTable(r), NeoX: true, QKNorm: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, false, a, FFN{Act: format.ActSiLU, Unscale: true})
	})
	b.Output(x, 1, 0)
}
