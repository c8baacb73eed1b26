package arch

import "jns/format"

var _ = register("plamo", plamo)

// plamo is PLaMo 1: as llama with rotation of halves, but attention and feed-forward part stand side by side over one norm.
func plamo(b *Builder) {
	b.refuse("expert_count")
	r := b.Rotation()
	r.Dims = b.HeadDim
	a := Attn{Rope: b.RopeTable(r), NeoX: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		n := b.Norm(x, "attn_norm.weight")
		y := b.SelfAttention(n, a)
		x = b.Add(b.FFN(n, FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true}), b.Add(y, x))
	})
	b.Output(x, 1, 0)
}
