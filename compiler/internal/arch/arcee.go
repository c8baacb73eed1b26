package arch

import "jns/format"

var _ = register("arcee", arcee)

// arcee is Arcee AFM: as llama, with a plain feed-forward part and a squared ReLU.
func arcee(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), Scale: float32(b.Float("attention.scale", 0))}
	f := FFN{Act: format.ActReLU2, Unscale: true, Plain: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, false, a, f)
	})
	b.Output(x, 1, 0)
}
