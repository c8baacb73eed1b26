package arch

import "jns/format"

var _ = register("refact", refact)

// refact is Refact: as llama, with linear biases in place of the rotation.
func refact(b *Builder) {
	b.refuse("expert_count")
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, false, Attn{Rope: NoRope, Alibi: 8, NoBias: true}, FFN{Act: format.ActSiLU, Unscale: true, Unbias: true})
	})
	b.Output(x, 1, 0)
}
