package arch

import "jns/format"

var _ = register("gptneox", gptNeoX)

// gptNeoX is GPT-NeoX, Pythia and their like: layer norms, biases, partial rotation of halves and a plain feed-forward part, beside attention (over a norm of its
// own) or after it.
func gptNeoX(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true}
	f := FFN{Act: format.ActGELU, Plain: true, Unscale: true}
	parallel := b.Bool("use_parallel_residual", true)
	x := b.Embed(1)
	b.Layers(func(int) {
		if !parallel {
			x = b.sequential(x, true, a, f)
			return
		}
		y := b.SelfAttention(b.LayerNorm(x, "attn_norm"), a)
		f.Width = b.FF()
		z := b.FFN(b.LayerNorm(x, "ffn_norm"), f)
		x = b.Add(z, b.Add(y, x))
	})
	b.Logits(b.LayerNorm(x, "output_norm"), 1, 0)
}
