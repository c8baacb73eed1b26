package arch

import "jns/format"

var _ = register("deci", deci)

// deci is DeciLM and the pruned Llama-Nemotron models: as llama, but layers may lack attention, have a matrix in its place, or lack the feed-forward part.
func deci(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), Scale: float32(b.Float("attention.scale", 0))}
	x := b.Embed(1)
	b.Layers(func(int) {
		switch {
		case b.Heads() > 0 && b.KVHeads() > 0:
			x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		case b.Heads() > 0:
			x = b.Add(b.Linear(b.Norm(x, "attn_norm.weight"), "attn_output", b.NEmbed), x)
		}
		if b.FF() > 0 {
			x = b.Add(b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true}), x)
		}
	})
	b.Output(x, 1, 0)
}
