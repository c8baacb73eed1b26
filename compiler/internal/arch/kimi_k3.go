package arch

import (
	"jns/compiler/internal/gguf"
	"jns/format"
)

var _ = register("kimi-k3", kimiK3)

// kimiK3 is Kimi K3: the delta rule and the latent attention of Kimi Linear, both gated; experts in a narrower space, with an activation that is capped softly; and inputs of the parts of
// layers that are mixtures of the stream and of what it was every so many layers before, where it began anew.
func kimiK3(b *Builder) {
	bound := b.decayBound()
	rate := float32(0)
	if bound != 0 {
		rate = -1 // the file has −A
	}
	l := b.Latent()
	l.Gate, l.Unscale = format.ActSigmoid, true
	taps, dim := b.bounded("ssm.conv_kernel", 0, 2, 64), b.bounded("kda.head_dim", 0, 1, 1<<12)
	dense := int(b.Uint("leading_dense_block_count", 0))
	block := int(b.bounded("attn_res.block_size", 0, 0, maxLayers))
	m := Moe{
		Act: format.ActSigmoid, GateCap: float32(b.Float("activation.situ_beta", 1)), UpCap: float32(b.Float("activation.situ_linear_beta", 0)), Func: b.Gating(format.RouteSigmoid),
		Renormalise: b.Bool("expert_weights_norm", false), Scale: b.WeightScale(), Width: b.ExpertFF(), Choice: true, Wide: b.bounded("expert_latent_length", 0, 0, maxWidth/8),
	}
	shared := b.times(m.Width, max(1, b.bounded("expert_shared_count", 0, 0, maxExpert)))
	if !(m.GateCap > 0) || m.UpCap < 0 {
		b.corrupt("key %q is %v, %q is %v", b.key("activation.situ_beta"), m.GateCap, b.key("activation.situ_linear_beta"), m.UpCap)
		return
	}
	bank := NoValue // the stream as it was, one run for each time
	x := b.Embed(1)
	b.Layers(func(i int) {
		y := b.mixed(x, bank, "attn_res_score.weight")
		began := block > 0 && i%block == 0
		if began {
			bank = b.bankedWith(bank, x)
		}
		y = b.Norm(y, "attn_norm.weight")
		if b.KVHeads() == 0 {
			y = b.kimiDelta(y, b.someHeads(), dim, taps, bound, rate)
		} else {
			y = b.LatentAttention(y, l)
		}
		if began {
			x = y
		} else {
			x = b.Add(y, x)
		}
		y = b.Norm(b.mixed(x, bank, "ffn_res_score.weight"), "ffn_norm.weight")
		if i < dense {
			y = b.cappedFFN(y, m, "", b.FF())
		} else {
			y = b.narrowExperts(y, m, shared)
		}
		x = b.Add(y, x)
	})
	b.Output(b.mixed(x, bank, "output_res_score.weight"), 1, 0)
}

func (b *Builder) bankedWith(bank, x Value) Value {
	if bank == NoValue {
		return x
	}
	return b.Join(bank, x, 1, false)
}

// mixed is the sum of the bank's runs and x, weighed by a softmax of what each scores: its RMS norm times a vector. Without a bank it is x.
func (b *Builder) mixed(x, bank Value, score string) Value {
	if bank == NoValue {
		b.ignore("nothing is banked before the first layer", score)
		return x
	}
	all := b.Join(bank, x, 1, false)
	n := b.NEmbed
	runs := b.width(all) / n
	t := b.tensor(RoleRows, score, uint64(n))
	b.checkWeight(t)
	w := b.add(Node{Params: &format.RowsParams{Scale: 1, By: format.ByNothing}, W: []*gguf.Tensor{t}, Name: shortName(score), Width: n})
	normed := b.norm(all, format.NormRMS, nil, nil, runs, false, b.Eps)
	dot := &format.ElementParams{Element: format.ElementDot}
	scores := b.add(Node{Params: dot, In: []Value{normed, b.Repeat(w, runs)}, Name: "scores", Width: runs})
	return b.add(Node{Params: &format.MixParams{Rows: 1, Cols: runs}, In: []Value{NoValue, all, b.Softmax(scores)}, Name: "mixed", Width: n})
}

// cappedFFN is a feed-forward part whose gate and up are capped softly as the experts' are.
func (b *Builder) cappedFFN(x Value, m Moe, suffix string, width uint32) Value {
	gate, up := b.plain(x, "ffn_gate"+suffix, width), b.plain(x, "ffn_up"+suffix, width)
	h := b.Mul(b.Activate(gate, b.SoftCap(gate, m.GateCap), m.Act), b.SoftCap(up, m.UpCap))
	return b.plain(h, "ffn_down"+suffix, b.NEmbed)
}

// narrowExperts are experts in a space of their own, into which and out of which matrices lead, and shared ones that need none.
func (b *Builder) narrowExperts(x Value, m Moe, shared uint32) Value {
	m.Router = b.plain(x, "ffn_gate_inp", b.NExpert)
	y := x
	if m.Wide != 0 {
		y = b.plain(x, "ffn_routed_down", m.Wide)
	}
	y = b.Experts(y, m)
	if b.Has("ffn_routed_norm.weight") {
		y = b.Norm(y, "ffn_routed_norm.weight")
	}
	if m.Wide != 0 {
		y = b.plain(y, "ffn_routed_up", b.NEmbed)
	}
	if b.Has("ffn_gate_shexp.weight") {
		y = b.Add(b.cappedFFN(x, m, "_shexp", shared), y)
	}
	return y
}
