package arch

import "jns/format"

var _ = register("maincoder", mainCoder)

// mainCoder is Maincoder: as llama, with norms of query and key heads after the rotation.
func mainCoder(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), QKNorm: true, LateNorm: true}
	f := FFN{Act: format.ActSiLU, Unscale: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, false, a, f)
	})
	b.Output(x, 1, 0)
}
