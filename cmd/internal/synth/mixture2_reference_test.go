package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

func init() { maps.Copy(forms, mixture2Forms) }

var mixture2Forms = map[string]form{
	"hunyuan-moe": {halves: true, lateNorm: true, mix: &mix{second: experts(expertForm{renormalise: true})}},
	"bailingmoe":  {mix: &mix{second: experts(expertForm{renormalise: true})}},
	"afmoe": {halves: true, embed: rootWidth, freqs: threeOfFour, window: nearThreeOfFour,
		mix: &mix{mixer: gatedAttention, second: experts(expertForm{sigmoid: true, renormalise: true, scale: 1.5}), after: [2]string{"post_attention_norm", "post_ffw_norm"}}},
	"exaone-moe": {halves: true, freqs: threeOfFour, window: nearThreeOfFour,
		mix: &mix{second: experts(expertForm{sigmoid: true, renormalise: true, scale: 1.5})}},
	"smallthinker": {halves: true, mix: &mix{second: expertsOfInput, keepInput: true}},
	"grok": {halves: true, scale: float64(float32(0.08838834764831845)), cap: 30, embed: func(*model) float64 { return float64(float32(78.38367176906169)) }, logits: float64(float32(0.5773502691896257)),
		mix: &mix{second: grokExperts, after: [2]string{"attn_output_norm", "layer_output_norm"}}},
	"llama4": {lateNorm: true, freqs: threeOfFour, mix: &mix{mixer: bareNorms, second: expertsWeighedFirst}, chunk: 8192, temper: func(l, pos int) float64 {
		if l%4 != 3 {
			return 1
		}
		return 1 + 0.1*math.Log(1+math.Floor(float64(pos+1)/8192))
	}},
	"qwen3vlmoe": {halves: true, freqs: forms["qwen3vl"].freqs, mix: &mix{second: experts(expertForm{renormalise: true})}},
	"mellum": {halves: true, window: nearThreeOfFour, mix: &mix{second: experts(expertForm{renormalise: true})}, freqs: func(m *model, l int) ([]float64, float64) {
		if l%4 == 3 {
			f, _ := yarn(32, 64, 4)(m, l)
			return f, 1 + 0.1*math.Log(4)
		}
		return plainFreqs(32, 1e4), 1
	}},
	"dbrx":   {layerNorm: true, halves: true, secondPre: "attn_output_norm", mix: &mix{mixer: cutAttention, second: experts(expertForm{renormalise: true})}},
	"arctic": {mix: &mix{second: arcticParts, keepInput: true}},
	"mimo2": {halves: true, mix: &mix{mixer: mimoAttention, second: experts(expertForm{sigmoid: true, renormalise: true})},
		window: func(_ *model, l int) int { return []int{0, 16, 16, 0}[l] },
		freqs:  func(_ *model, l int) ([]float64, float64) { return plainFreqs(16, []float64{1e4, 5e3, 5e3, 1e4}[l]), 1 }},
	"minicpm3": {halves: true, freqs: always(16, 1e4), embed: func(*model) float64 { return 12 }, residual: 0.7, logits: 2,
		mix: &mix{mixer: latent(64, 0, 1, 1), second: func(r *reference, l int, x []float64) []float64 { return r.feedForward(fmt.Sprintf("blk.%d.", l), x) }}},
	"plm": {freqs: always(16, 1e4), act: reluSquared, plain: true,
		mix: &mix{mixer: latent(64, 0, 1, 1), second: func(r *reference, l int, x []float64) []float64 { return r.feedForward(fmt.Sprintf("blk.%d.", l), x) }}},
	"rwkv7": {layerNorm: true, secondPre: "attn_norm_2", mix: &mix{mixer: rwkvTime, second: rwkvChannel}},
}

// threeOfFour layers rotate.
func threeOfFour(m *model, l int) ([]float64, float64) {
	if l%4 == 3 {
		return nil, 1
	}
	return plainFreqs(32, 1e4), 1
}

func nearThreeOfFour(_ *model, l int) int {
	if l%4 == 3 {
		return 0
	}
	return 16
}

func gatedAttention(r *reference, l, pos int, x []float64) []float64 {
	p := fmt.Sprintf("blk.%d.", l)
	y := r.attended(l, pos, r.mul(p+"attn_q", x), r.mul(p+"attn_k", x), r.mul(p+"attn_v", x))
	return r.mul(p+"attn_output", times(y, each(r.mul(p+"attn_gate", x), sigmoid)))
}

// expertsOfInput are chosen by the layer's input and gated by ReLU.
func expertsOfInput(r *reference, l int, x []float64) []float64 {
	p, n := fmt.Sprintf("blk.%d.", l), int(r.m.experts)
	ids, weights := expertForm{sigmoid: true, renormalise: true}.choose(r.mul(p+"ffn_gate_inp", r.memory.input), nil, 3)
	out := make([]float64, len(x))
	for i, e := range ids {
		h := times(each(r.expert(p+"ffn_gate_exps.weight", e, x, n), func(v float64) float64 { return math.Max(v, 0) }), r.expert(p+"ffn_up_exps.weight", e, x, n))
		out = add(out, scaled(r.expert(p+"ffn_down_exps.weight", e, h, n), weights[i]))
	}
	return out
}

func grokExperts(r *reference, l int, x []float64) []float64 {
	p, n := fmt.Sprintf("blk.%d.", l), int(r.m.experts)
	ids, weights := expertForm{renormalise: true}.choose(r.mul(p+"ffn_gate_inp", x), nil, 3)
	out := r.mul(p+"ffn_down", times(each(r.mul(p+"ffn_gate", x), gelu), r.mul(p+"ffn_up", x)))
	for i, e := range ids {
		h := times(each(r.expert(p+"ffn_gate_exps.weight", e, x, n), gelu), r.expert(p+"ffn_up_exps.weight", e, x, n))
		out = add(out, scaled(r.expert(p+"ffn_down_exps.weight", e, h, n), weights[i]))
	}
	return scaled(out, math.Sqrt2/2)
}

// bareNorms are of query and key heads, after the rotation, in layers that rotate.
func bareNorms(r *reference, l, pos int, x []float64) []float64 {
	p, dim := fmt.Sprintf("blk.%d.", l), int(r.m.dim)
	q, k := r.mul(p+"attn_q", x), r.mul(p+"attn_k", x)
	if l%4 != 3 {
		bare := func(x []float64) []float64 {
			return heads(x, dim, func(h []float64) []float64 { return norm(h, nil, nil, false) })
		}
		q, k = bare(q), bare(k) // a rotation changes no length
	}
	return r.mul(p+"attn_output", r.attended(l, pos, q, k, r.mul(p+"attn_v", x)))
}

func expertsWeighedFirst(r *reference, l int, x []float64) []float64 {
	p, n := fmt.Sprintf("blk.%d.", l), int(r.m.experts)
	if l%2 == 0 {
		return r.feedForward(p, x)
	}
	ids, weights := expertForm{sigmoid: true}.choose(r.mul(p+"ffn_gate_inp", x), nil, 3)
	out := r.mul(p+"ffn_down_shexp", times(each(r.mul(p+"ffn_gate_shexp", x), silu), r.mul(p+"ffn_up_shexp", x)))
	for i, e := range ids {
		in := scaled(x, weights[i])
		h := times(each(r.expert(p+"ffn_gate_exps.weight", e, in, n), silu), r.expert(p+"ffn_up_exps.weight", e, in, n))
		out = add(out, r.expert(p+"ffn_down_exps.weight", e, h, n))
	}
	return out
}

// mixedWithLast is x drawn towards the input before it.
func (r *reference) mixedWithLast(key string, x, share []float64) []float64 {
	last := r.memory.seen[key]
	if len(last) == 0 {
		return times(x, each(share, func(s float64) float64 { return 1 - s }))
	}
	out := make([]float64, len(x))
	for i := range x {
		out[i] = x[i] + share[i]*(last[len(last)-1][i]-x[i])
	}
	return out
}

func rwkvChannel(r *reference, l int, x []float64) []float64 {
	p := fmt.Sprintf("blk.%d.", l)
	k := r.mixedWithLast(p+"channel", x, r.get(p+"channel_mix_lerp_k.weight"))
	r.memory.seen[p+"channel"] = append(r.memory.seen[p+"channel"], x)
	return r.mul(p+"channel_mix_value", each(r.mul(p+"channel_mix_key", k), reluSquared))
}

func rwkvTime(r *reference, l, pos int, x []float64) []float64 {
	p := fmt.Sprintf("blk.%d.time_mix_", l)
	n, dim := len(x), 64
	shares := r.get(p + "lerp_fused.weight")
	in := make([][]float64, len(shares)/n)
	for i := range in {
		in[i] = r.mixedWithLast(p, x, shares[i*n:(i+1)*n])
	}
	r.memory.seen[p] = append(r.memory.seen[p], x)
	low := func(name string, x []float64, f func(float64) float64) []float64 {
		return add(r.mul(p+name+"2", each(r.mul(p+name+"1", x), f)), r.get(p+name+"0.weight"))
	}
	same := func(x float64) float64 { return x }
	rr, k, v := r.mul(p+"receptance", in[0]), r.mul(p+"key", in[2]), r.mul(p+"value", in[3])
	w := each(low("w", in[1], math.Tanh), func(x float64) float64 { return math.Exp(-sigmoid(x) / math.Sqrt(math.E)) })
	if l == 0 {
		r.memory.input = v
	} else {
		v = add(v, times(each(low("v", in[3], same), sigmoid), add(r.memory.input, scaled(v, -1))))
	}
	rate := each(low("a", in[4], same), sigmoid)
	var gate []float64
	if len(in) > 5 {
		gate = r.mul(p+"g2", each(r.mul(p+"g1", in[5]), sigmoid))
	}
	direction := heads(times(k, r.get(p+"k_k.weight")), dim, func(h []float64) []float64 {
		s := 0.0
		for _, v := range h {
			s += v * v
		}
		return scaled(h, 1/math.Sqrt(s))
	})
	for i, a := range rate {
		k[i] *= 1 + r.get(p + "k_a.weight")[i]*(a-1)
	}
	var out []float64
	for h := range n / dim {
		a, z := h*dim, (h+1)*dim
		key := fmt.Sprint(p, h)
		s := r.memory.states[key]
		if s == nil {
			s = make([][]float64, dim)
			for i := range s {
				s[i] = make([]float64, dim)
			}
		}
		said, y := make([]float64, dim), make([]float64, dim)
		for j := range dim {
			for i := range dim {
				said[i] += direction[a+j] * s[j][i]
			}
		}
		bonus := 0.0
		for j := range dim {
			for i := range dim {
				s[j][i] = s[j][i]*w[a+j] + k[a+j]*v[a+i] - direction[a+j]*rate[a+j]*said[i]
				y[i] += rr[a+j] * s[j][i]
			}
			bonus += rr[a+j] * k[a+j] * r.get(p + "r_k.weight")[a+j]
		}
		r.memory.states[key] = s
		mean, square := 0.0, 0.0
		for _, v := range y {
			mean += v / float64(dim)
		}
		for _, v := range y {
			square += (v - mean) * (v - mean) / float64(dim)
		}
		if r.get(p+"ln.weight") != nil {
			for i := range y {
				y[i] = (y[i]-mean)/math.Sqrt(square+64e-5)*r.get(p + "ln.weight")[a+i] + r.get(p + "ln.bias")[a+i]
			}
		}
		out = append(out, add(y, scaled(slices.Clone(v[a:z]), bonus))...)
	}
	if gate != nil {
		out = times(out, gate)
	}
	return r.mul(p+"output", out)
}

// arcticParts are the dense part over x, and experts over the layer's input.
func arcticParts(r *reference, l int, x []float64) []float64 {
	p := fmt.Sprintf("blk.%d.", l)
	gated := r.feedForward(p, x)
	saved := r.norm(p+"ffn_norm_exps", r.memory.input)
	return add(gated, experts(expertForm{renormalise: true})(r, l, saved))
}

// mimoAttention has sinks in some layers: a logit that takes its share of the sum.
func mimoAttention(r *reference, l, pos int, x []float64) []float64 {
	p := fmt.Sprintf("blk.%d.", l)
	r.sinks = r.get(p + "attn_sinks.weight")
	y := r.attended(l, pos, r.mul(p+"attn_q", x), r.mul(p+"attn_k", x), r.mul(p+"attn_v", x))
	r.sinks = nil
	return scaled(r.mul(p+"attn_output", y), float64(float32(0.7)))
}

// cutAttention has queries, keys and values between −1.5 and 1.5.
func cutAttention(r *reference, l, pos int, x []float64) []float64 {
	p := fmt.Sprintf("blk.%d.", l)
	all := each(r.mul(p+"attn_qkv", x), func(v float64) float64 { return math.Max(-1.5, math.Min(1.5, v)) })
	nq, nk := int(r.m.heads*r.m.dim), int(r.m.kvHeads*r.m.dim)
	return r.mul(p+"attn_output", r.attended(l, pos, all[:nq], all[nq:nq+nk], all[nq+nk:]))
}
