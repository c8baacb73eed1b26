package arch

import "jns/format"

var _ = register("exaone4", exaone4)

// exaone4 is EXAONE 4: norms after both parts of a layer and none before, norms of query and key heads. The model with 64 layers has three layers with sliding
// window and rotation for every full one, which has no rotation.
func exaone4(b *Builder) {
	b.refuse("expert_count")
	b.Predicted()
	hybrid := b.NLayer == 64
	window := uint32(0)
	if hybrid {
		window = b.bounded("attention.sliding_window", 4096, 1, 1<<31)
	}
	swa := b.windowPattern(window, 4)
	table := b.RopeTable(b.Rotation())
	x := b.Embed(1)
	b.Layers(func(i int) {
		a := Attn{Rope: table, NeoX: true, QKNorm: true}
		if swa[i] {
			a.Window = window
		} else if hybrid {
			a.Rope = NoRope
		}
		x = b.Add(b.Norm(b.SelfAttention(x, a), "post_attention_norm.weight"), x)
		y := b.FFN(x, FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true})
		x = b.Add(b.Norm(y, "post_ffw_norm.weight"), x)
	})
	b.Output(x, 1, 0)
}
