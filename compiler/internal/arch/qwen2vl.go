package arch

import "jns/format"

var (
	_ = register("qwen2vl", qwen2vl)
	_ = register("paddleocr", qwen2vl)
)

// qwen2vl is the language model of Qwen 2 VL and 2.5 VL, and of PaddleOCR-VL, for text: as qwen2.
func qwen2vl(b *Builder) {
	b.refuse("expert_count")
	r := b.Rotation()
	b.sections(&r, false)
	a := Attn{Rope: b.RopeTable(r), NeoX: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, false, a, FFN{Act: format.ActSiLU, Unscale: true})
	})
	b.Output(x, 1, 0)
}
