package arch

import "jns/format"

var _ = register("olmo2", olmo2)

// olmo2 is OLMo 2 and 3: norms after both parts of a layer and none before, norms of all queries and all keys together. OLMo 3 has three layers with sliding window
// for every full one; rotations are stretched only in full layers.
func olmo2(b *Builder) {
	b.refuse("expert_count")
	window := b.bounded("attention.sliding_window", 0, 0, 1<<31)
	swa := b.windowPattern(window, 4)
	full := b.Rotation()
	near := full
	near.Scaling, near.Magnitude = ScaleNone, 1
	x := b.Embed(1)
	b.Layers(func(i int) {
		a := Attn{NeoX: true, RowNorm: true}
		if swa[i] {
			a.Rope, a.Window = b.RopeTable(near), window
		} else {
			a.Rope = b.RopeTable(full)
		}
		x = b.Add(b.Norm(b.SelfAttention(x, a), "post_attention_norm.weight"), x)
		y := b.FFN(x, FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true})
		x = b.Add(b.Norm(y, "post_ffw_norm.weight"), x)
	})
	b.Output(x, 1, 0)
}
