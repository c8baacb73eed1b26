package arch

import "jns/format"

var (
	_ = register("qwen2vl", qwen2vl)
	_ = register("paddleocr", qwen2vl)
)

// qwen2vl is the language model of Qwen 2 VL and 2.5 VL, and of PaddleOCR-VL, for text: as qwen2.
func qwen2vl(b *Builder) {
	if b.g.Arch == "qwen2vl" {
		b.refuse("expert_count")
	}
	if b.Eps == 0 {
		// llama.cpp reads no epsilon here and computes with 0, which files that it saves then say. This is as good as 0.
		b.Eps = 1e-30
	}
	r := b.Rotation()
	b.sections(&r, false)
	b.ignore("bias that this architecture does not use", "output.bias")
	a := Attn{Rope: b.RopeTable(r), NeoX: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, false, a, FFN{Act: format.ActSiLU, Unscale: true})
	})
	b.Output(x, 1, 0)
}
