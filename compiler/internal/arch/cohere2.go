package arch

import "jns/format"

var _ = register("cohere2", cohere2)

// cohere2 is Command R7B: layer norms without bias, attention and feed-forward part side by side over one norm, three layers with sliding window and rotation
// for every full one, which has no rotation; the logits are scaled.
func cohere2(b *Builder) {
	b.refuse("expert_count")
	window := b.bounded("attention.sliding_window", 0, 1, 1<<31)
	swa := b.windowPattern(window, 4)
	table := b.RopeTable(b.Rotation())
	x := b.Embed(1)
	b.Layers(func(i int) {
		a := Attn{Rope: NoRope}
		if swa[i] {
			a.Rope, a.Window = table, window
		}
		n := b.LayerNorm(x, "attn_norm")
		y := b.SelfAttention(n, a)
		z := b.FFN(n, FFN{Act: format.ActSiLU, Width: b.FF()})
		x = b.Add(z, b.Add(y, x))
	})
	b.Logits(b.LayerNorm(x, "output_norm"), float32(b.Nonzero("logit_scale", 1)), 0)
}
