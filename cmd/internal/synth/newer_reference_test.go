package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

func init() { maps.Copy(forms, newerForms) }

var newerForms = map[string]form{
	"grovemoe":             {halves: true, mix: &mix{second: grove}},
	"minimax-01":           {halves: true, freqs: always(16, 1e4), whole: lightningLayers},
	"minimax-01+list":      {halves: true, freqs: always(16, 1e4), whole: lightningLayers},
	"bailingmoe3":          {freqs: always(16, 1e4), mix: &mix{mixer: lingMixer, second: experts(lingExperts)}},
	"bailingmoe3+sections": {halves: true, mix: &mix{mixer: lingMixer, second: experts(lingExperts)}, freqs: lastSectionStill},
	"kimi-k3":              {freqs: still, whole: bankedLayers(2, -5, 1.5, 3)},
	"kimi-k3+plain":        {freqs: still, whole: bankedLayers(0, 0, 1.5, 0)},
	"gemma3": {halves: true, act: gelu, post: true, embed: rootWidth, window: func(_ *model, l int) int { return []int{16, 0}[l/5] },
		freqs: func(_ *model, l int) ([]float64, float64) { return plainFreqs(32, []float64{1e4, 1e6}[l/5]), 1 }},
	"lfm2":       {halves: true, mix: &mix{outNorm: "token_embd_norm", mixer: shortConv, second: dense}},
	"qwen35":     {halves: true, freqs: always(16, 1e4), secondPre: "post_attention_norm", mix: &mix{mixer: qwenNewer, second: dense}},
	"llama+none": {},
	"chameleon":  {ownNorms: true, centred: true, whole: silentAboutImages, mix: &mix{second: dense}},
}

// lastSectionStill turns six of eight pairs.
func lastSectionStill(*model, int) ([]float64, float64) {
	f := plainFreqs(16, 1e4)
	clear(f[6:])
	return f, 1
}

// grove has a second set of experts for what the first have given: the one of each chosen expert's pair. Its weight is the first set's of the pair's number, as published files expect it.
func grove(r *reference, l int, x []float64) []float64 {
	p, n := fmt.Sprintf("blk.%d.", l), int(r.m.experts)
	y := experts(expertForm{renormalise: true})(r, l, x)
	prob := each(r.mul(p+"ffn_gate_inp", x), math.Exp)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if prob[a] > prob[b] {
			return -1
		}
		return 1
	})
	sum, more := 0.0, make([]float64, len(x))
	for _, e := range order[:3] {
		pair := e / 2
		h := times(each(r.expert(p+"ffn_gate_chexps.weight", pair, y, n/2), silu), r.expert(p+"ffn_up_chexps.weight", pair, y, n/2))
		more = add(more, scaled(r.expert(p+"ffn_down_chexps.weight", pair, h, n/2), prob[pair]))
		sum += prob[pair]
	}
	return add(y, scaled(more, float64(float32(0.4))/sum))
}

// lightningLayers add to each part's result the normed input of the part, not the stream.
func lightningLayers(r *reference, token, pos int) []float64 {
	x := r.get("token_embd.weight")[token*int(r.m.embd) : (token+1)*int(r.m.embd)]
	alpha := float64(float32(1.6))
	for l := range int(r.m.layers) {
		p := fmt.Sprintf("blk.%d.", l)
		x = r.norm(p+"attn_norm", x)
		if r.get(p+"attn_gate.weight") != nil {
			x = add(lightningAttention(r, l, x), scaled(x, alpha))
		} else {
			x = add(r.attend(l, pos, x), scaled(x, alpha))
		}
		x = r.norm(p+"ffn_norm", x)
		x = add(experts(expertForm{renormalise: true})(r, l, x), scaled(x, alpha))
	}
	return r.mul("output", r.norm("output_norm", x))
}

// lightningAttention is the sum over all positions that it is: no softmax, but a weight that falls with the distance, slower from layer to layer.
func lightningAttention(r *reference, l int, x []float64) []float64 {
	p, dim, n := fmt.Sprintf("blk.%d.", l), int(r.m.dim), int(r.m.heads)
	r.memory.seen[p] = append(r.memory.seen[p], each(r.mul(p+"attn_qkv", x), silu))
	seen := r.memory.seen[p]
	var out []float64
	for h := range n {
		slope := math.Pow(2, -8*float64(h+1)/float64(n)) * (1 - float64(l)/float64(r.m.layers-1) + 1e-5)
		part := func(t, i int) []float64 { return seen[t][(3*h+i)*dim : (3*h+i+1)*dim] }
		o := make([]float64, dim)
		for t := range seen {
			s := 0.0
			for i, q := range part(len(seen)-1, 0) {
				s += q * part(t, 1)[i]
			}
			o = add(o, scaled(part(t, 2), s*math.Exp(-slope*float64(len(seen)-1-t))))
		}
		out = append(out, o...)
	}
	return r.mul(p+"attn_output", times(r.norm(p+"attn_norm_2", out), each(r.mul(p+"attn_gate", x), sigmoid)))
}

var lingExperts = expertForm{sigmoid: true, renormalise: true, scale: 2.5, activate: limited(false, []float64{0, 0, 0.5, 0}, []float64{0, 0, 0, float64(float32(0.4))})}

func lingMixer(r *reference, l, pos int, x []float64) []float64 {
	if r.m.perLayerKV[l] == 0 {
		p := fmt.Sprintf("blk.%d.", l)
		return boundedDelta(r, l, x, r.mul(p+"ssm_f_a", x), r.mul(p+"ssm_g_a", x), func(a, f float64) float64 { return -5 * sigmoid(a*f) })
	}
	return gatedLatent(r, l, pos, x)
}

// gatedLatent is latent attention whose result is gated by heads or by elements, or not at all.
func gatedLatent(r *reference, l, pos int, x []float64) []float64 {
	p := fmt.Sprintf("blk.%d.", l)
	if r.get(p+"attn_gate.weight") == nil {
		return latent(48, 0, 1, 1)(r, l, pos, x)
	}
	gate := each(r.mul(p+"attn_gate", x), sigmoid)
	w, d := r.get(p+"attn_output.weight"), len(x)
	n := len(w) / d // of the result
	defer func() { r.cached[p+"attn_output.weight"] = w }()
	gated := make([]float64, len(w)) // a factor of the result is one of the matrix's columns
	for i := range gated {
		gated[i] = w[i] * gate[i%n/(n/len(gate))]
	}
	r.cached[p+"attn_output.weight"] = gated
	return latent(48, 0, 1, 1)(r, l, pos, x)
}

// boundedDelta is the delta rule with a decay for every key, which decay gives from the head's rate and f.
func boundedDelta(r *reference, l int, x, f, gate []float64, decay func(a, f float64) float64) []float64 {
	p := fmt.Sprintf("blk.%d.", l)
	const dim = 32
	var in [3][]float64
	for i, s := range []string{"q", "k", "v"} {
		in[i] = each(r.conv(p+s, r.get(p+"ssm_conv1d_"+s+".weight"), nil, r.mul(p+"attn_"+s, x)), silu)
	}
	f = add(f, r.get(p+"ssm_dt.bias"))
	rate := each(r.mul(p+"ssm_beta", x), sigmoid)
	var out []float64
	for h := range rate {
		a, z := h*dim, (h+1)*dim
		forget := each(f[a:z], func(v float64) float64 { return decay(r.get(p + "ssm_a")[h], v) })
		y := r.delta(fmt.Sprint(p, h), in[0][a:z], in[1][a:z], in[2][a:z], forget, rate[h])
		out = append(out, times(r.norm(p+"ssm_norm", y), each(gate[a:z], sigmoid))...)
	}
	return r.mul(p+"attn_output", out)
}

// bankedLayers are those of a stream that begins anew every so many layers, where what it was is banked; the parts of layers read a mixture of the bank and the stream.
func bankedLayers(block int, bound, gateCap, upCap float64) func(r *reference, token, pos int) []float64 {
	return func(r *reference, token, pos int) []float64 {
		x := r.get("token_embd.weight")[token*int(r.m.embd) : (token+1)*int(r.m.embd)]
		var bank [][]float64
		mixed := func(score string) []float64 {
			if bank == nil {
				return x
			}
			sum, out := 0.0, make([]float64, len(x))
			for _, v := range append(slices.Clone(bank), x) {
				w := math.Exp(product(r.get(score+".weight"), norm(v, nil, nil, false))[0])
				out, sum = add(out, scaled(v, w)), sum+w
			}
			return scaled(out, 1/sum)
		}
		for l := range int(r.m.layers) {
			p := fmt.Sprintf("blk.%d.", l)
			in := r.norm(p+"attn_norm", mixed(p+"attn_res_score"))
			var y []float64
			if r.m.perLayerKV[l] == 0 {
				y = boundedDelta(r, l, in, r.mul(p+"ssm_f_b", r.mul(p+"ssm_f_a", in)), r.mul(p+"ssm_g", in), func(a, f float64) float64 {
					if bound == 0 {
						return a * softplus(f)
					}
					return bound * sigmoid(-a*f)
				})
			} else {
				y = gatedLatent(r, l, pos, in)
			}
			if block > 0 && l%block == 0 {
				bank, x = append(bank, x), y
			} else {
				x = add(x, y)
			}
			x = add(x, situ(r, l, r.norm(p+"ffn_norm", mixed(p+"ffn_res_score")), gateCap, upCap))
		}
		return r.mul("output", r.norm("output_norm", mixed("output_res_score")))
	}
}

// situ is the feed-forward part of a layer, whose gate and, perhaps, up are capped softly.
func situ(r *reference, l int, x []float64, gateCap, upCap float64) []float64 {
	p, n := fmt.Sprintf("blk.%d.", l), int(r.m.experts)
	act := func(gate, up []float64) []float64 {
		out := make([]float64, len(gate))
		for i, g := range gate {
			if out[i] = gateCap * math.Tanh(g/gateCap) * sigmoid(g) * up[i]; upCap > 0 {
				out[i] = gateCap * math.Tanh(g/gateCap) * sigmoid(g) * upCap * math.Tanh(up[i]/upCap)
			}
		}
		return out
	}
	if r.get(p+"ffn_gate_inp.weight") == nil {
		return r.mul(p+"ffn_down", act(r.mul(p+"ffn_gate", x), r.mul(p+"ffn_up", x)))
	}
	in := x
	if r.get(p+"ffn_routed_down.weight") != nil {
		in = r.mul(p+"ffn_routed_down", x)
	}
	ids, weights := expertForm{sigmoid: true, renormalise: true, scale: 2.5}.choose(r.mul(p+"ffn_gate_inp", x), r.get(p+"exp_probs_b.bias"), 3)
	out := make([]float64, len(in))
	for i, e := range ids {
		h := act(r.expert(p+"ffn_gate_exps.weight", e, in, n), r.expert(p+"ffn_up_exps.weight", e, in, n))
		out = add(out, scaled(r.expert(p+"ffn_down_exps.weight", e, h, n), weights[i]))
	}
	if r.get(p+"ffn_routed_up.weight") != nil {
		out = r.mul(p+"ffn_routed_up", r.norm(p+"ffn_routed_norm", out))
	}
	return add(out, r.mul(p+"ffn_down_shexp", act(r.mul(p+"ffn_gate_shexp", x), r.mul(p+"ffn_up_shexp", x))))
}

// silentAboutImages gives pieces of images the least logit that there is.
func silentAboutImages(r *reference, token, pos int) []float64 {
	y := r.stepOfMixture(token, pos)
	for i := 4; i < 8196; i++ {
		y[i] = never
	}
	return y
}

// qwenNewer has a matrix for each of what the delta rule needs.
func qwenNewer(r *reference, l, pos int, x []float64) []float64 {
	p := fmt.Sprintf("blk.%d.", l)
	if l%4 == 3 {
		return qwenNext(r, l, pos, x)
	}
	const dim, keys, n = 32, 2, 4
	mixed := each(r.conv(p, r.get(p+"ssm_conv1d.weight"), nil, r.mul(p+"attn_qkv", x)), silu)
	q, k, v, z := mixed[:keys*dim], mixed[keys*dim:2*keys*dim], mixed[2*keys*dim:], r.mul(p+"attn_gate", x)
	alpha, beta := r.mul(p+"ssm_alpha", x), r.mul(p+"ssm_beta", x)
	var out []float64
	for h := range n {
		g := h % keys * dim
		forget := r.get(p + "ssm_a")[h] * softplus(alpha[h]+r.get(p + "ssm_dt.bias")[h])
		y := r.delta(fmt.Sprint(p, h), q[g:g+dim], k[g:g+dim], v[h*dim:(h+1)*dim], []float64{forget}, sigmoid(beta[h]))
		out = append(out, times(r.norm(p+"ssm_norm", y), each(z[h*dim:(h+1)*dim], silu))...)
	}
	return r.mul(p+"ssm_out", out)
}
