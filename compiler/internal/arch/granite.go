package arch

import "jns/format"

var (
	_ = register("granite", granite)
	_ = register("granitemoe", granite)
)

// granite is IBM Granite 3, dense and with experts: as llama, with factors on embeddings, attention, both residual branches
// and logits (the logits are divided).
func granite(b *Builder) {
	a := Attn{Rope: NoRope, Scale: float32(b.Float("attention.scale", 0))}
	if b.Bool("rope.scaling.finetuned", true) {
		a.Rope = b.RopeTable(b.Rotation())
	}
	logit := float32(b.Float("logit_scale", 0))
	if logit == 0 {
		b.corrupt("key %q must be given", b.key("logit_scale"))
		logit = 1
	}
	residual := float32(b.Nonzero("residual_scale", 1))
	x := b.Embed(float32(b.Nonzero("embedding_scale", 1)))
	b.Layers(func(int) {
		y := b.SelfAttention(b.Norm(x, "attn_norm.weight"), a)
		x = b.Add(b.Scale(y, residual), x)
		y = b.graniteFeedForward(b.Norm(x, "ffn_norm.weight"))
		x = b.Add(b.Scale(y, residual), x)
	})
	b.Output(x, 1/logit, 0)
}

func (b *Builder) graniteFeedForward(x Value) Value {
	if b.NExpert == 0 {
		return b.FFN(x, FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true})
	}
	y := b.Experts(x, Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Renormalise: true,
		Scale: float32(b.Nonzero("expert_weights_scale", 1)), Width: b.ExpertFF()})
	if n := b.bounded("expert_shared_feed_forward_length", 0, 0, maxWidth); n != 0 {
		y = b.Add(b.FFN(x, FFN{Act: format.ActSiLU, Suffix: "_shexp", Width: n, Unscale: true}), y)
	}
	return y
}
