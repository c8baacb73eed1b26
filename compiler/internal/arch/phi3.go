package arch

import "jns/format"

var _ = register("phi3", phi3)

// phi3 is Phi 3 and 4: as llama, with fused matrices (query, key and value; gate and up), rotation of halves and two sets of rotation factors for short and long
// contexts. Files may give a sliding window, which the models were converted without and which is not applied.
func phi3(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActSiLU, Width: b.FF(), Fused: true, Unscale: true}), x)
	})
	b.Output(x, 1, 0)
}
