package main

import (
	"fmt"
	"maps"
	"math"
)

func init() {
	maps.Copy(forms, moreForms)
	for name, like := range map[string]string{"mistral4": "deepseek2", "deepseek32": "deepseek2", "glm-dsa": "deepseek2"} {
		forms[name] = mixtureForms[like]
	}
}

var moreForms = map[string]form{
	"deepseek2-ocr": {halves: true, mix: mixtureForms["deepseek"].mix},
	"bloom":         {layerNorm: true, act: gelu, plain: true, freqs: still, alibi: 8, start: func(r *reference, x []float64) []float64 { return r.norm("token_embd_norm", x) }},
	"mpt": {layerNorm: true, freqs: still, alibi: 6, clamp: 1.5, rowLayer: true, mix: &mix{second: func(r *reference, l int, x []float64) []float64 {
		p := fmt.Sprintf("blk.%d.", l)
		h := each(r.mul(p+"ffn_up", x), gelu)
		for i, s := range r.get(p + "ffn.act.scales") {
			h[i] /= s
		}
		return r.mul(p+"ffn_down", h)
	}}},
	"jais":         {layerNorm: true, freqs: still, alibi: 8, scale: 1.0 / 32},
	"refact":       {freqs: still, alibi: 8},
	"baichuan+13B": {freqs: still, alibi: 8},
	"olmo+clamped": {layerNorm: true, bare: true, clamp: 0.5},
	"nanbeige":     {whole: passes},
	"spark2_5":     {halves: true, act: gelu, gate: sigmoid, window: alternating(16, 0), freqs: bases(32, 5e3, 1e4)},
	"talkie":       {whole: talkative},
	"muse-glimmer": {post: true, gate: sigmoid, freqs: threeOfFour, window: nearThreeOfFour, logits: 0.5, finalCap: 30,
		start: func(_ *reference, x []float64) []float64 { return norm(x, nil, nil, false) }},
	"granite_swa": {embed: func(*model) float64 { return 2 }, residual: float64(float32(0.7)), logits: 0.5, window: alternating(16, 0),
		freqs: func(_ *model, l int) ([]float64, float64) {
			if l == 2 {
				return nil, 1
			}
			return plainFreqs(32, 1e4), 1
		},
		mix: &mix{mixer: sunk, second: dense}},
	"plamo3":   {halves: true, post: true, window: alternating(16, 0), freqs: bases(32, 5e3, 1e4)},
	"cogvlm":   {halves: true},
	"apertus":  {halves: true, mix: &mix{second: xielu}},
	"hrm_text": {halves: true, gate: sigmoid, whole: stacks},
	"plamo2":   {halves: true, ownNorms: true, mix: &mix{after: [2]string{"post_attention_norm", "post_ffw_norm"}, mixer: plamoMixer, second: dense}},
	"hy_v3":    {halves: true, mix: &mix{second: experts(expertForm{sigmoid: true, renormalise: true, scale: 1.5})}},
	"laguna": {halves: true, gate: softplus, window: alternating(0, 16), mix: &mix{second: experts(expertForm{sigmoid: true, renormalise: true, scale: 1.5})},
		freqs: func(_ *model, l int) ([]float64, float64) {
			if l%2 == 1 {
				return plainFreqs(16, 5e3), 1
			}
			return plainFreqs(32, 1e4), 1
		}},
	"laguna+elements": {halves: true, gate: softplus, mix: &mix{second: experts(expertForm{sigmoid: true})}},
	"step35": {halves: true, gate: sigmoid, window: func(_ *model, l int) int { return []int{0, 16, 16, 0}[l] },
		freqs: func(_ *model, l int) ([]float64, float64) {
			if l == 1 || l == 2 {
				return plainFreqs(32, 5e3), 1
			}
			return plainFreqs(16, 1e4), 1
		},
		mix: &mix{second: experts(expertForm{sigmoid: true, renormalise: true, scale: 1.5, activate: limited(false, []float64{0, 0.4, 0, 0.3}, []float64{0, 0.5, 0, 0.2})})}},
	"maple": {halves: true, window: func(_ *model, l int) int { return []int{0, 16, 16, 0}[l] },
		freqs: func(_ *model, l int) ([]float64, float64) {
			if l == 1 || l == 2 {
				return plainFreqs(32, 5e3), 1
			}
			return nil, 1
		},
		mix: &mix{second: experts(expertForm{renormalise: true, activate: limited(true, []float64{0.3, 0.3, 0.3, 0.3}, nil)})}},
	"minimax-m3": {halves: true, freqs: always(16, 1e4), mix: &mix{second: func(r *reference, l int, x []float64) []float64 {
		p := fmt.Sprintf("blk.%d.", l)
		if l == 0 {
			return r.mul(p+"ffn_down", clampedGate(0, r.mul(p+"ffn_gate", x), r.mul(p+"ffn_up", x), false))
		}
		return experts(expertForm{sigmoid: true, renormalise: true, activate: clampedGate})(r, l, x)
	}}},
	"nemotron_h_moe+layers": {freqs: still, mix: &mix{mixer: nemotronLayers, second: none}},
	"cohere2moe":            {layerNorm: true, whole: besides},
}

// alternating is one window in even layers and another in odd ones.
func alternating(even, odd int) func(*model, int) int {
	return func(_ *model, l int) int { return []int{even, odd}[l%2] }
}

// bases are those of even and of odd layers.
func bases(n int, even, odd float64) func(*model, int) ([]float64, float64) {
	return func(_ *model, l int) ([]float64, float64) { return plainFreqs(n, []float64{even, odd}[l%2]), 1 }
}

func dense(r *reference, l int, x []float64) []float64 {
	return r.feedForward(fmt.Sprintf("blk.%d.", l), x)
}

// sunk is attention with sinks.
func sunk(r *reference, l, pos int, x []float64) []float64 {
	r.sinks = r.get(fmt.Sprintf("blk.%d.attn_sinks.weight", l))
	defer func() { r.sinks = nil }()
	return r.attend(l, pos, x)
}

// limited cuts up to ± a limit and SiLU of the gate, or the gate itself, to at most that; a limit of 0 is none.
func limited(gateFirst bool, routed, shared []float64) func(l int, gate, up []float64, isShared bool) []float64 {
	return func(l int, gate, up []float64, isShared bool) []float64 {
		limits := routed
		if isShared {
			limits = shared
		}
		limit := limits[l]
		if limit == 0 {
			return times(each(gate, silu), up)
		}
		up = each(up, func(v float64) float64 { return math.Max(-limit, math.Min(limit, v)) })
		most := func(v float64) float64 { return math.Min(limit, v) }
		if gateFirst {
			return times(each(each(gate, most), silu), up)
		}
		return times(each(each(gate, silu), most), up)
	}
}

func clampedGate(_ int, gate, up []float64, _ bool) []float64 {
	out := make([]float64, len(gate))
	for i := range out {
		g, u := math.Min(gate[i], 7), math.Max(-7, math.Min(7, up[i]))
		out[i] = g * sigmoid(1.702*g) * (u + 1)
	}
	return out
}

func xielu(r *reference, l int, x []float64) []float64 {
	p := fmt.Sprintf("blk.%d.", l)
	at := func(v ...float32) float64 { return float64(v[l]) }
	an, ap, beta := at(0.8, 0.7, 0.9, 1), at(0.8, 0.6, 0.5, 1), at(0.5, 0.4, 0.6, 0.5)
	h := each(r.mul(p+"ffn_up", x), func(v float64) float64 {
		if v > 0 {
			return softplus(ap)*v*v + beta*v
		}
		return (beta+softplus(an))*(math.Expm1(math.Min(v, -1e-6))-v) + beta*v
	})
	return r.mul(p+"ffn_down", h)
}

// passes runs both layers three times, each time with keys and values of its own, and a norm between.
func passes(r *reference, token, pos int) []float64 {
	x := r.get("token_embd.weight")[token*int(r.m.embd) : (token+1)*int(r.m.embd)]
	for turn := range 3 {
		if turn > 0 {
			x = r.norm("output_norm", x)
		}
		for l := range 2 {
			p := fmt.Sprintf("blk.%d.", l)
			y := r.norm(p+"attn_norm", x)
			x = add(x, r.mul(p+"attn_output", r.attendedIn(2*turn+l, l, pos, r.mul(p+"attn_q", y), r.mul(p+"attn_k", y), r.mul(p+"attn_v", y))))
			x = add(x, r.feedForward(p, r.norm(p+"ffn_norm", x)))
		}
	}
	return r.mul("output", r.norm("output_norm", x))
}

// attendedIn is attended by layer l with the keys and values kept under another number.
func (r *reference) attendedIn(slot, l, pos int, q, k, v []float64) []float64 {
	keys, vals := r.keys[l], r.vals[l]
	r.keys[l], r.vals[l] = r.keys[100+slot], r.vals[100+slot]
	out := r.attended(l, pos, q, k, v)
	r.keys[100+slot], r.vals[100+slot] = r.keys[l], r.vals[l]
	r.keys[l], r.vals[l] = keys, vals
	return out
}

func bareNorm(x []float64) []float64 { return norm(x, nil, nil, false) }

func talkative(r *reference, token, pos int) []float64 {
	r.halves = true
	dim := int(r.m.dim)
	first := bareNorm(r.get("token_embd.weight")[token*int(r.m.embd) : (token+1)*int(r.m.embd)])
	x := first
	for l := range int(r.m.layers) {
		p := fmt.Sprintf("blk.%d.", l)
		y := bareNorm(x)
		// Norms without weights come after the rotation, which changes no length.
		q, k := heads(r.mul(p+"attn_q", y), dim, bareNorm), heads(r.mul(p+"attn_k", y), dim, bareNorm)
		for h, f := range r.get(p + "attn_q_norm.weight") {
			copy(q[h*dim:], scaled(q[h*dim:(h+1)*dim], f))
		}
		gain := r.cached[p+"attn_q_norm.weight"]
		r.cached[p+"attn_q_norm.weight"] = nil // not a norm of heads
		y = r.attended(l, pos, q, k, r.mul(p+"attn_v", y))
		r.cached[p+"attn_q_norm.weight"] = gain
		x = add(x, r.mul(p+"attn_output", y))
		x = add(x, r.feedForward(p, bareNorm(x)))
		x = add(x, scaled(first, r.get(p + "layer_output_scale.weight")[0]))
	}
	return scaled(r.mul("output", bareNorm(x)), 0.5)
}

func stacks(r *reference, token, pos int) []float64 {
	slot := 0
	pass := func(x []float64, first int) []float64 {
		for l := first; l < first+2; l++ {
			p := fmt.Sprintf("blk.%d.", l)
			y := bareNorm(x)
			z := r.attendedIn(slot, l, pos, r.mul(p+"attn_q", y), r.mul(p+"attn_k", y), r.mul(p+"attn_v", y))
			x = add(x, r.mul(p+"attn_output", times(z, each(r.mul(p+"attn_gate", y), sigmoid))))
			x = add(x, r.feedForward(p, bareNorm(x)))
			slot++
		}
		return bareNorm(x)
	}
	above := scaled(r.get("token_embd.weight")[token*int(r.m.embd):(token+1)*int(r.m.embd)], 2)
	below := r.get("hrm.z_l_init")
	for range 2 {
		below = pass(add(above, below), 0)
		above = pass(add(above, below), 2)
	}
	return r.mul("token_embd", above)
}

func plamoMixer(r *reference, l, pos int, x []float64) []float64 {
	p := fmt.Sprintf("blk.%d.", l)
	if r.m.perLayerKV[l] != 0 {
		return r.attend(l, pos, x)
	}
	inner, n, dim := int(r.m.inner), int(r.m.state), int(r.m.inner/r.m.rank)
	both := r.mul(p+"ssm_in", x)
	var z, v []float64
	for h := 0; h < 2*inner; h += 2 * dim {
		z, v = append(z, both[h:h+dim]...), append(v, both[h+dim:h+2*dim]...)
	}
	v = each(r.conv(p, r.get(p+"ssm_conv1d.weight"), nil, v), silu)
	y := r.mul(p+"ssm_x", v)
	b, c, dt := norm(y[:n], r.get(p+"ssm_b_norm"), nil, false), norm(y[n:2*n], r.get(p+"ssm_c_norm"), nil, false), norm(y[2*n:], r.get(p+"ssm_dt_norm"), nil, false)
	delta := each(r.mul(p+"ssm_dt", dt), softplus)
	out := r.scan(p, v, delta, b, c, r.get(p+"ssm_a"), dim, 1)
	for i := range out {
		out[i] = (out[i] + r.get(p + "ssm_d")[i/dim]*v[i]) * silu(z[i])
	}
	return r.mul(p+"ssm_out", out)
}

// besides has attention and experts side by side; layers before the first with experts and those with a window rotate.
func besides(r *reference, token, pos int) []float64 {
	x := r.get("token_embd.weight")[token*int(r.m.embd) : (token+1)*int(r.m.embd)]
	r.window = alternating(0, 16)
	r.freqs = func(_ *model, l int) ([]float64, float64) {
		if l == 2 {
			return nil, 1
		}
		return plainFreqs(32, 1e4), 1
	}
	for l := range int(r.m.layers) {
		n := r.norm(fmt.Sprintf("blk.%d.attn_norm", l), x)
		y := experts(expertForm{sigmoid: true, scale: 1.5})(r, l, n)
		if l > 0 {
			y = scaled(y, 0.5)
		}
		x = add(add(x, r.attend(l, pos, n)), y)
	}
	return scaled(r.mul("output", r.norm("output_norm", x)), 0.5)
}

// nemotronLayers choose three experts in one layer and two in the next.
func nemotronLayers(r *reference, l, pos int, x []float64) []float64 {
	p, n := fmt.Sprintf("blk.%d.", l), int(r.m.experts)
	switch l {
	case 0:
		return mamba2(r, l, pos, x)
	case 1:
		return r.attend(l, pos, x)
	}
	ids, weights := expertForm{sigmoid: true, renormalise: true, scale: 2.5}.choose(r.mul(p+"ffn_gate_inp", x), r.get(p+"exp_probs_b.bias"), 5-l)
	out := r.mul(p+"ffn_down_shexp", each(r.mul(p+"ffn_up_shexp", x), reluSquared))
	for i, e := range ids {
		h := each(r.expert(p+"ffn_up_exps.weight", e, x, n), reluSquared)
		out = add(out, scaled(r.expert(p+"ffn_down_exps.weight", e, h, n), weights[i]))
	}
	return out
}
