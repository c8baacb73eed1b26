package arch

import "jns/format"

var _ = register("xverse", xverse)

// xverse is XVERSE: as llama.
func xverse(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation())}
	f := FFN{Act: format.ActSiLU, Unscale: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, false, a, f)
	})
	b.Output(x, 1, 0)
}
