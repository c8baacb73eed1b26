package arch

import "jns/format"

var _ = register("baichuan", baichuan)

// baichuan is Baichuan 7B: as llama. The 13B model has linear biases instead of rotations, which are not known here.
func baichuan(b *Builder) {
	b.refuse("expert_count")
	if b.NLayer == 40 {
		b.unsupported("Baichuan 13B adds linear biases to attention; architecture %s is known here without them", b.g.Arch)
	}
	a := Attn{Rope: b.RopeTable(b.Rotation())}
	f := FFN{Act: format.ActSiLU, Unscale: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, false, a, f)
	})
	b.Output(x, 1, 0)
}
