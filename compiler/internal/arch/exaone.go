package arch

import "jns/format"

var _ = register("exaone", exaone)

// exaone is EXAONE 3: as llama, with rotation of halves.
func exaone(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true}
	f := FFN{Act: format.ActSiLU, Unscale: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, false, a, f)
	})
	b.Output(x, 1, 0)
}
