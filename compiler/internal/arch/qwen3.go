package arch

import "jns/format"

var (
	_ = register("qwen3", qwen3)
	_ = register("qwen3moe", qwen3)
)

// qwen3 is Qwen 3, dense and with experts: as llama, with norms of every query and key head and rotation of halves.
func qwen3(b *Builder) {
	b.refuse("expert_shared_feed_forward_length")
	if b.g.Arch == "qwen3moe" && b.NExpert == 0 {
		b.corrupt("key %q must be given", b.key("expert_count"))
	}
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true, QKNorm: true}
	x := b.Embed(float32(b.Nonzero("embedding_scale", 1)))
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		y := b.Norm(x, "ffn_norm.weight")
		if b.NExpert > 0 {
			y = b.Experts(y, Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Renormalise: true, Scaled: true,
				Scale: float32(b.Nonzero("expert_weights_scale", 1)), Width: b.qwenExpertFF()})
		} else {
			y = b.FeedForward(y, format.ActSiLU, "", b.FF())
		}
		x = b.Add(y, x)
	})
	b.Output(x, 1, 0)
}

// qwenExpertFF is the hidden width of an expert; files without the key divide the common width among the chosen experts.
func (b *Builder) qwenExpertFF() uint32 {
	if v := b.bounded("expert_feed_forward_length", 0, 0, maxWidth); v != 0 {
		return v
	}
	return b.FF() / max(1, b.NUsed)
}
