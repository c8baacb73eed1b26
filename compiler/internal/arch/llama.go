package arch

import "jns/format"

var _ = register("llama", llama)

// llama is Llama 1 to 3, Mistral, Mixtral, SmolLM and what else was converted to that form: RMS norms before attention and
// feed-forward, rotation of neighbouring pairs, optional biases, optional rotation factors (Llama 3.1), optional experts
// chosen by a softmax over all of them and renormalised (Mixtral).
func llama(b *Builder) {
	b.refuse("attention.clamp_kqv", "expert_shared_feed_forward_length")
	a := Attn{Rope: b.RopeTable(b.Rotation()), Scale: float32(b.Float("attention.scale", 0))}
	x := b.Embed(float32(b.Nonzero("embedding_scale", 1)))
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		y := b.Norm(x, "ffn_norm.weight")
		if b.NExpert > 0 {
			y = b.Experts(y, Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Renormalise: true, Scaled: true,
				Scale: float32(b.Nonzero("expert_weights_scale", 1)), Width: b.ExpertFF()})
		} else {
			y = b.FeedForward(y, format.ActSiLU, "", b.FF())
		}
		x = b.Add(y, x)
	})
	b.Output(x, 1, 0)
}

// ExpertFF is the hidden width of an expert: its own key, or the common feed-forward width.
func (b *Builder) ExpertFF() uint32 {
	if v := b.expertFF[max(b.layer, 0)]; v != 0 {
		return v
	}
	return b.FF()
}
