package arch

import "jns/format"

var _ = register("openelm", openELM)

// openELM is OpenELM: as llama, with norms of query and key heads, a fused matrix, rotation of halves, and heads and widths that differ by layer.
func openELM(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true, QKNorm: true, PlainQKV: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, false, a, FFN{Act: format.ActSiLU, Unscale: true})
	})
	b.Output(x, 1, 0)
}
