package arch

import "jns/format"

var _ = register("falcon-h1", falconH1)

// falconH1 is Falcon H1: attention and a mixer of Mamba's second form side by side in every layer. The multipliers of the original are folded into its weights.
func falconH1(b *Builder) {
	s := b.SSM()
	r := b.Rotation()
	r.Factors = nil
	a := Attn{Rope: b.RopeTable(r), NeoX: true, NoBias: true, Scale: float32(b.Float("attention.scale", 0))}
	x := b.Embed(1)
	b.Layers(func(int) {
		y := b.Norm(x, "attn_norm.weight")
		x = b.Add(b.Add(b.SelfAttention(y, a), b.Mamba2(y, s)), x)
		name := "ffn_norm.weight"
		if !b.Has(name) {
			name = "ffn_norm"
		}
		x = b.Add(b.FFN(b.Norm(x, name), FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true}), x)
	})
	b.Output(x, 1, 0)
}
