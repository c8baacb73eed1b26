package arch

import (
	"math"

	"jns/format"
)

var _ = register("grok", grok)

// grok is Grok 1 and 2: capped attention logits, norms before and after both parts, GELU experts, in Grok 2 beside a dense part.
func grok(b *Builder) {
	r := b.Rotation()
	if r.Scaling != ScaleYaRN || r.Ext == 0 { // YaRN has a factor of its own
		r.Magnitude *= b.Nonzero("rope.scaling.yarn_attn_factor", 1)
	}
	r.BetaFast = b.Nonzero("rope.scaling.yarn_beta_fast", 8)
	// llama.cpp reads attention.temperature_length and does not use it; no more does this.
	a := Attn{Rope: b.RopeTable(r), NeoX: true, Scale: float32(b.Nonzero("attention.output_scale", 0.08838834764831845)), SoftCap: float32(b.Nonzero("attn_logit_softcapping", 30))}
	width := b.FF()
	if v := b.bounded("expert_feed_forward_length", 0, 0, maxWidth); v != 0 {
		width = v
	}
	m := Moe{Act: format.ActGELU, Func: format.RouteSoftmax, Renormalise: true, Scale: b.WeightScale(), Width: width}
	x := b.Embed(float32(b.Nonzero("embedding_scale", 78.38367176906169)))
	b.Layers(func(int) {
		y := b.SelfAttention(b.Norm(x, "attn_norm.weight"), a)
		x = b.Add(b.Norm(y, "attn_output_norm.weight"), x)
		y = b.Norm(x, "ffn_norm.weight")
		z := b.Experts(y, m)
		if b.Has("ffn_up.weight") {
			z = b.Scale(b.Add(b.FFN(y, FFN{Act: format.ActGELU, Width: b.FF(), Unscale: true}), z), float32(math.Sqrt2/2))
		}
		after := "layer_output_norm.weight"
		if !b.Has(after) {
			after = "post_ffw_norm.weight"
		}
		x = b.Add(b.Norm(z, after), x)
	})
	b.Output(x, float32(b.Nonzero("logit_scale", 0.5773502691896257)), float32(b.Float("final_logit_softcapping", 0)))
}
