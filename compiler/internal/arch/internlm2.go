package arch

import "jns/format"

var _ = register("internlm2", internLM2)

// internLM2 is InternLM 2: as llama.
func internLM2(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation())}
	f := FFN{Act: format.ActSiLU, Unscale: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, false, a, f)
	})
	b.Output(x, 1, 0)
}
