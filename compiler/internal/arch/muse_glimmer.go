package arch

import "jns/format"

var _ = register("muse-glimmer", museGlimmer)

// museGlimmer is Muse Glimmer: the embedding is normed; norms before and after both parts, those after with an epsilon of their own; three layers of four have a sliding window and
// rotate, the fourth sees everything and does not; attention's output is gated.
func museGlimmer(b *Builder) {
	b.refuse("expert_count")
	const after = 1e-8
	r := b.Rotation()
	r.Base, r.Factors = b.Nonzero("rope.freq_base_swa", r.Base), nil
	if r.Scaling != ScaleNone {
		b.unsupported("key %q: architecture %s is known here without it", b.key("rope.scaling.type"), b.g.Arch)
	}
	table := b.RopeTable(r)
	window := b.bounded("attention.sliding_window", 0, 0, 1<<31)
	swa := b.windowPattern(window, 4)
	post := func(x Value, name string) Value {
		return b.norm(x, format.NormRMS, b.Vector(name, b.NEmbed), nil, 1, false, after)
	}
	x := b.norm(b.Embed(1), format.NormRMS, nil, nil, 1, false, b.Eps)
	b.Layers(func(i int) {
		a := Attn{Rope: NoRope, QKNorm: true, Gate: format.ActSigmoid}
		if swa[i] {
			a.Rope, a.Window = table, window
		}
		y := b.SelfAttention(b.Norm(x, "attn_norm.weight"), a)
		x = b.Add(post(y, "post_attention_norm.weight"), x)
		y = b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true})
		x = b.Add(post(y, "post_ffw_norm.weight"), x)
	})
	b.Output(x, float32(b.Nonzero("logit_scale", 1)), float32(b.Float("final_logit_softcapping", 0)))
}
