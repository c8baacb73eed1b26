package arch

import "jns/format"

var _ = register("gpt-oss", gptOSS)

// gptOSS is OpenAI's gpt-oss: rotation of halves with YaRN, every other layer with a sliding window, attention sinks, biases everywhere, experts chosen by
// their logits and weighted by a softmax over the chosen, with clamped gates.
func gptOSS(b *Builder) {
	b.refuse("expert_shared_feed_forward_length", "leading_dense_block_count")
	full := b.Rotation()
	near := full
	near.Base = b.Nonzero("rope.freq_base_swa", full.Base)
	window := b.bounded("attention.sliding_window", 0, 1, 1<<31)
	swa := b.windowPattern(window, 2)
	x := b.Embed(1)
	b.Layers(func(i int) {
		a := Attn{Rope: b.RopeTable(full), NeoX: true, Sinks: true}
		if swa[i] {
			a.Rope, a.Window = b.RopeTable(near), window
		}
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		y := b.Norm(x, "post_attention_norm.weight")
		x = b.Add(b.Experts(y, Moe{Act: format.ActSwigluOAI, Func: format.RouteSoftmaxChosen, Scale: b.WeightScale(), Width: b.ExpertFF(), Biased: true}), x)
	})
	b.Output(x, 1, 0)
}
