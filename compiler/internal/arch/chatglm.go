package arch

import "jns/format"

var _ = register("chatglm", chatGLM)

// chatGLM is ChatGLM 3 and GLM 4 of its first conversion: as llama, with partial rotation and fused matrices.
func chatGLM(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation())}
	f := FFN{Act: format.ActSiLU, Unscale: true, Fused: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, false, a, f)
	})
	b.Output(x, 1, 0)
}
