package arch

import "jns/format"

var _ = register("ernie4_5", ernie45)

// ernie45 is ERNIE 4.5, dense: as llama.
func ernie45(b *Builder) {
	a := Attn{Rope: b.RopeTable(b.Rotation()), NoBias: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true}), x)
	})
	b.Output(x, 1, 0)
}
