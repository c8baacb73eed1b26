package arch

import "jns/format"

var (
	_ = register("nemotron_h", nemotronH)
	_ = register("nemotron_h_moe", nemotronH)
)

// nemotronH is Nemotron H: each layer has one part, a mixer of Mamba's second form, attention without rotation, or a feed-forward part without gate; in later models experts,
// which may work in a narrower space.
func nemotronH(b *Builder) {
	b.Predicted()
	s := b.SSM()
	if b.Eps == 0 {
		b.Eps = b.LayerEps
	}
	a := Attn{Rope: NoRope, Scale: float32(b.Float("attention.scale", 0))}
	x := b.Embed(1)
	b.Layers(func(int) {
		y := b.Norm(x, "attn_norm.weight")
		switch {
		case b.KVHeads() == 0 && b.FF() == 0:
			y = b.Mamba2(y, s)
		case b.FF() == 0:
			y = b.SelfAttention(y, a)
		case b.Has("ffn_gate_inp.weight"):
			y = b.nemotronExperts(y)
		default:
			y = b.FFN(y, FFN{Act: format.ActReLU2, Width: b.FF(), Plain: true})
		}
		x = b.Add(y, x)
	})
	b.Output(x, 1, 0)
}

func (b *Builder) nemotronExperts(x Value) Value {
	m := Moe{Act: format.ActReLU2, Plain: true, Func: format.RouteSigmoid, Renormalise: b.Bool("expert_weights_norm", false), Scale: b.WeightScale(), Width: b.ExpertFF(),
		Scaled: true, Choice: true, Router: b.Linear(x, "ffn_gate_inp", b.NExpert)}
	y := x
	if b.Has("ffn_latent_down.weight") {
		m.Wide = b.bounded("moe_latent_size", 0, 1, maxWidth)
		y = b.plain(x, "ffn_latent_down", m.Wide)
	}
	y = b.Experts(y, m)
	if m.Wide != 0 {
		y = b.plain(y, "ffn_latent_up", b.NEmbed)
	}
	return b.SharedExpert(x, y, FFN{Act: format.ActReLU2, Width: b.SharedFF(b.FF()), Plain: true})
}
