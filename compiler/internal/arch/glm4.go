package arch

import "jns/format"

var _ = register("glm4", glm4)

// glm4 is GLM 4: norms before and after both parts of a layer, partial rotation of neighbouring pairs (of halves in files with rotation sections) and a fused
// matrix for gate and up.
func glm4(b *Builder) {
	b.refuse("expert_count")
	b.Predicted()
	r := b.Rotation()
	a := Attn{NeoX: b.sections(&r, false)}
	a.Rope = b.RopeTable(r)
	x := b.Embed(1)
	b.Layers(func(int) {
		y := b.SelfAttention(b.Norm(x, "attn_norm.weight"), a)
		x = b.Add(b.Norm(y, "post_attention_norm.weight"), x)
		y = b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActSiLU, Width: b.FF(), Fused: true, Unscale: true})
		x = b.Add(b.Norm(y, "post_ffw_norm.weight"), x)
	})
	b.Output(x, 1, 0)
}
