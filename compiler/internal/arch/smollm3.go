package arch

import "jns/format"

var _ = register("smollm3", smollm3)

// smollm3 is SmolLM 3: as llama, but every fourth layer has no rotation.
func smollm3(b *Builder) {
	b.refuse("expert_count")
	table, scale := b.RopeTable(b.Rotation()), float32(b.Float("attention.scale", 0))
	x := b.Embed(1)
	b.Layers(func(i int) {
		a := Attn{Rope: table, Scale: scale}
		if i%4 == 3 {
			a.Rope = NoRope
		}
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true}), x)
	})
	b.Output(x, 1, 0)
}
