package arch

import "jns/format"

var _ = register("baichuan", baichuan)

// baichuan is Baichuan 7B, which has 32 layers and is as llama, and 13B, which has 40 and linear biases in place of the rotation. Files of other sizes, which were never published,
// llama.cpp runs without either.
func baichuan(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: NoRope}
	switch b.NLayer {
	case 32:
		r := b.Rotation()
		r.Factors = nil
		a.Rope = b.RopeTable(r)
	case 40:
		a.Alibi = 8
	}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, false, a, FFN{Act: format.ActSiLU, Unscale: true})
	})
	b.Output(x, 1, 0)
}
