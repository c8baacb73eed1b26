package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

func init() { maps.Copy(forms, mixtureForms) }

var mixtureForms = map[string]form{
	"deepseek":       {mix: &mix{second: experts(expertForm{})}},
	"dots1":          {halves: true, mix: &mix{second: experts(expertForm{sigmoid: true, renormalise: true, scale: 1.5})}},
	"bailingmoe2":    {halves: true, mix: &mix{second: experts(expertForm{sigmoid: true, renormalise: true, scale: 2.5, groups: 4, topGroups: 2}), layers: 3}},
	"minimax-m2":     {halves: true, freqs: always(16, 1e4), mix: &mix{rowNorm: true, second: experts(expertForm{sigmoid: true, renormalise: true})}},
	"phimoe":         {halves: true, mix: &mix{second: experts(expertForm{renormalise: true})}},
	"lfm2moe":        {halves: true, mix: &mix{outNorm: "token_embd_norm", mixer: shortConv, second: experts(expertForm{sigmoid: true, renormalise: true})}},
	"jamba":          {freqs: still, mix: &mix{mixer: mamba1(nil), second: experts(expertForm{})}},
	"mamba+normed":   {mix: &mix{mixer: mamba1(func(x []float64) []float64 { return norm(x, nil, nil, false) }), second: none}},
	"mamba2":         {mix: &mix{mixer: mamba2, second: none}},
	"granitehybrid":  {embed: func(*model) float64 { return 2 }, residual: float64(float32(0.7)), scale: float64(float32(0.2)), logits: 0.5, mix: &mix{mixer: mamba2, second: experts(expertForm{renormalise: true})}},
	"nemotron_h_moe": {freqs: still, mix: &mix{mixer: nemotron, second: none}},
	"deepseek2":      {freqs: always(16, 1e4), mix: &mix{mixer: latent(48, 0, 1, 1), second: experts(expertForm{sigmoid: true, renormalise: true, scale: 2.5, groups: 4, topGroups: 2})}},
	"deepseek2+lite": {freqs: yarn(16, 64, 4), mix: &mix{mixer: latent(64, 0, 1, 1+0.0707*math.Log(4)), second: experts(expertForm{})}},
	"kimi-linear":    {freqs: func(*model, int) ([]float64, float64) { return nil, 1 }, mix: &mix{mixer: kimi, second: experts(expertForm{sigmoid: true, renormalise: true, scale: 2.5})}},
	"qwen3next+old":  {halves: true, freqs: always(16, 1e4), secondPre: "post_attention_norm", mix: &mix{mixer: qwenNext, second: experts(expertForm{renormalise: true})}},
}

// mix says what a model with experts or recurrent layers has instead of attention and the plain feed-forward part.
type mix struct {
	mixer     func(r *reference, l, pos int, x []float64) []float64
	second    func(r *reference, l int, x []float64) []float64
	outNorm   string
	layers    int       // 0: that of the recipe
	rowNorm   bool      // norms of the whole query and key rows
	after     [2]string // norms of the parts' results
	keepInput bool      // of a layer, for the choice of its experts
}

// remembered is what recurrent layers know of the past.
type remembered struct {
	seen    map[string][][]float64 // inputs of convolutions
	history map[string][]moment
	states  map[string][][]float64
	input   []float64
}

// stepOfMixture is step for these models.
func (r *reference) stepOfMixture(token, pos int) []float64 {
	d := int(r.m.embd)
	x := r.get("token_embd.weight")[token*d : (token+1)*d]
	if r.embed != nil {
		x = scaled(x, r.embed(r.m))
	}
	if r.start != nil {
		x = r.start(r, x)
	}
	if r.get("token_embd_norm.weight") != nil && r.layerNorm {
		x = r.norm("token_embd_norm", x)
	}
	layers, outNorm := int(r.m.layers), "output_norm"
	if r.mix.layers != 0 {
		layers = r.mix.layers
	}
	if r.mix.outNorm != "" {
		outNorm = r.mix.outNorm
	}
	for l := range layers {
		p := fmt.Sprintf("blk.%d.", l)
		if r.mix.keepInput {
			r.memory.input = x
		}
		after := func(i int, y []float64) []float64 {
			if name := r.mix.after[i]; name != "" {
				y = r.norm(p+name, y)
			}
			return scaled(y, r.residual)
		}
		y := r.norm(p+"attn_norm", x)
		if r.mix.mixer != nil {
			y = r.mix.mixer(r, l, pos, y)
		} else {
			y = r.attend(l, pos, y)
		}
		x = add(x, after(0, y))
		if r.get(p+r.secondPre+".weight") != nil {
			x = add(x, after(1, r.mix.second(r, l, r.norm(p+r.secondPre, x))))
		}
	}
	out := "output"
	if r.get("output.weight") == nil {
		out = "token_embd"
	}
	return scaled(r.mul(out, r.norm(outNorm, x)), r.logits)
}

// still turns nothing.
func still(*model, int) ([]float64, float64) { return nil, 1 }

// yarn is YaRN's mixture of frequencies, whose length stays.
func yarn(n, context int, factor float64) func(*model, int) ([]float64, float64) {
	return func(*model, int) ([]float64, float64) {
		f := plainFreqs(n, 1e4)
		turns := func(beta float64) float64 {
			return float64(n) * math.Log(float64(context)/(beta*2*math.Pi)) / (2 * math.Log(1e4))
		}
		low, high := math.Max(0, math.Floor(turns(32))), math.Min(float64(n-1), math.Ceil(turns(1)))
		for i := range f {
			keep := 1 - math.Min(1, math.Max(0, (float64(i)-low)/math.Max(0.001, high-low)))
			f[i] = f[i]/factor*(1-keep) + f[i]*keep
		}
		return f, 1
	}
}

func none(*reference, int, []float64) []float64 { return nil }

func sigmoid(x float64) float64  { return 1 / (1 + math.Exp(-x)) }
func softplus(x float64) float64 { return math.Log1p(math.Exp(x)) }

func each(x []float64, f func(float64) float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = f(v)
	}
	return out
}

func times(x, y []float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = x[i] * y[i]
	}
	return out
}

// expertForm says how experts are chosen.
type expertForm struct {
	sigmoid, renormalise bool
	scale                float64
	groups, topGroups    int
	activate             func(l int, gate, up []float64, shared bool) []float64 // nil: SiLU of the gate times up
}

// slice is matrix number e of a tensor, as a product.
func (r *reference) expert(name string, e int, x []float64, count int) []float64 {
	w := r.get(name)
	n := len(w) / count
	return product(w[e*n:(e+1)*n], x)
}

func product(w, x []float64) []float64 {
	y := make([]float64, len(w)/len(x))
	for i := range y {
		row, sum := w[i*len(x):(i+1)*len(x)], 0.0
		for j, v := range x {
			sum += row[j] * v
		}
		y[i] = sum
	}
	return y
}

// choose gives experts and weights.
func (f expertForm) choose(logits, bias []float64, top int) (ids []int, weights []float64) {
	prob := each(logits, sigmoid)
	if !f.sigmoid {
		sum := 0.0
		prob = each(logits, math.Exp)
		for _, v := range prob {
			sum += v
		}
		prob = scaled(prob, 1/sum)
	}
	pick := add(prob, bias)
	if f.groups > 1 {
		n := len(pick) / f.groups
		score := make([]float64, f.groups)
		for g := range score {
			s := slices.Sorted(slices.Values(pick[g*n : (g+1)*n]))
			score[g] = s[n-1] + s[n-2]
		}
		best := slices.Sorted(slices.Values(score))
		for g, s := range score {
			if s < best[f.groups-f.topGroups] {
				for i := range n {
					pick[g*n+i] = math.Inf(-1)
				}
			}
		}
	}
	sum := 0.0
	for range top {
		b := 0
		for i, v := range pick {
			if v > pick[b] {
				b = i
			}
		}
		pick[b] = math.Inf(-1)
		ids, weights = append(ids, b), append(weights, prob[b])
		sum += prob[b]
	}
	if f.renormalise {
		weights = scaled(weights, 1/sum)
	}
	if f.scale != 0 {
		weights = scaled(weights, f.scale)
	}
	return ids, weights
}

// experts is a feed-forward part of chosen and shared experts; a layer without a router is dense.
func experts(f expertForm) func(r *reference, l int, x []float64) []float64 {
	return func(r *reference, l int, x []float64) []float64 {
		p := fmt.Sprintf("blk.%d.", l)
		if r.get(p+"ffn_gate_inp.weight") == nil {
			return r.feedForward(p, x)
		}
		activate := f.activate
		if activate == nil {
			activate = func(_ int, gate, up []float64, _ bool) []float64 { return times(each(gate, silu), up) }
		}
		n := int(r.m.experts)
		ids, weights := f.choose(r.mul(p+"ffn_gate_inp", x), r.get(p+"exp_probs_b.bias"), 3)
		out := make([]float64, len(x))
		for i, e := range ids {
			h := activate(l, r.expert(p+"ffn_gate_exps.weight", e, x, n), r.expert(p+"ffn_up_exps.weight", e, x, n), false)
			out = add(out, scaled(r.expert(p+"ffn_down_exps.weight", e, h, n), weights[i]))
		}
		if r.get(p+"ffn_up_shexp.weight") != nil {
			s := r.mul(p+"ffn_down_shexp", activate(l, r.mul(p+"ffn_gate_shexp", x), r.mul(p+"ffn_up_shexp", x), true))
			if g := r.get(p + "ffn_gate_inp_shexp.weight"); g != nil {
				s = scaled(s, sigmoid(product(g, x)[0]))
			}
			out = add(out, s)
		}
		return out
	}
}

// past keeps what a layer's convolution has seen.
func (r *reference) conv(key string, w, bias, x []float64) []float64 {
	taps := len(w) / len(x)
	r.memory.seen[key] = append(r.memory.seen[key], x)
	seen := r.memory.seen[key]
	out := make([]float64, len(x))
	for c := range x {
		for k := range taps {
			if t := len(seen) - taps + k; t >= 0 {
				out[c] += w[c*taps+k] * seen[t][c]
			}
		}
	}
	return add(out, bias)
}

func shortConv(r *reference, l, pos int, x []float64) []float64 {
	p := fmt.Sprintf("blk.%d.", l)
	if r.m.perLayerKV[l] != 0 {
		return r.attend(l, pos, x)
	}
	in, n := r.mul(p+"shortconv.in_proj", x), len(x)
	y := r.conv(p, r.get(p+"shortconv.conv.weight"), nil, times(in[:n], in[2*n:]))
	return r.mul(p+"shortconv.out_proj", times(in[n:2*n], y))
}

// scan is the selective scan written down as the sum it is: what every earlier position left, decayed by all positions since.
func (r *reference) scan(key string, x, delta, b, c, decay []float64, dim, groups int) []float64 {
	h := r.memory.history[key]
	h = append(h, moment{x, delta, b})
	r.memory.history[key] = h
	heads := len(x) / dim
	n := len(b) / groups
	out := make([]float64, len(x))
	for i := range heads {
		g := i / (heads / groups)
		for k := range n {
			a := decay[i%len(decay)]
			if len(decay) > heads {
				a = decay[i*n+k]
			}
			since := 0.0
			for t := len(h) - 1; t >= 0; t-- {
				left := math.Exp(a*since) * h[t].delta[i] * h[t].b[g*n+k] * c[g*n+k]
				for d := range dim {
					out[i*dim+d] += left * h[t].x[i*dim+d]
				}
				since += h[t].delta[i]
			}
		}
	}
	return out
}

// moment is what a scan remembers of a position.
type moment struct{ x, delta, b []float64 }

func mamba1(plainNorm func([]float64) []float64) func(r *reference, l, pos int, x []float64) []float64 {
	return func(r *reference, l, pos int, x []float64) []float64 {
		p := fmt.Sprintf("blk.%d.", l)
		if r.m.perLayerKV != nil && r.m.perLayerKV[l] != 0 {
			return r.attend(l, pos, x)
		}
		in, inner, n, rank := r.mul(p+"ssm_in", x), int(r.m.inner), int(r.m.state), int(r.m.rank)
		z := in[inner:]
		v := each(r.conv(p, r.get(p+"ssm_conv1d.weight"), r.get(p+"ssm_conv1d.bias"), in[:inner]), silu)
		y := r.mul(p+"ssm_x", v)
		dt, b, c := y[:rank], y[rank:rank+n], y[rank+n:]
		if plainNorm != nil {
			dt, b, c = plainNorm(dt), plainNorm(b), plainNorm(c)
		} else {
			dt, b, c = r.norm(p+"ssm_dt_norm", dt), r.norm(p+"ssm_b_norm", b), r.norm(p+"ssm_c_norm", c)
		}
		delta := each(r.mul(p+"ssm_dt", dt), softplus)
		out := add(r.scan(p, v, delta, b, c, r.get(p+"ssm_a"), 1, 1), times(v, r.get(p+"ssm_d")))
		return r.mul(p+"ssm_out", times(each(z, silu), out))
	}
}

func mamba2(r *reference, l, pos int, x []float64) []float64 {
	p := fmt.Sprintf("blk.%d.", l)
	if r.m.perLayerKV != nil && r.m.perLayerKV[l] != 0 {
		return r.attend(l, pos, x)
	}
	inner, n, groups := int(r.m.inner), int(r.m.state), int(r.m.groups)
	in := product(r.get(p+"ssm_in.weight"), x)
	z, mixed, dt := in[:inner], in[inner:2*inner+2*groups*n], in[2*inner+2*groups*n:]
	mixed = each(r.conv(p, r.get(p+"ssm_conv1d.weight"), r.get(p+"ssm_conv1d.bias"), mixed), silu)
	v, b, c := mixed[:inner], mixed[inner:inner+groups*n], mixed[inner+groups*n:]
	delta := each(add(dt, r.get(p+"ssm_dt.bias")), softplus)
	dim := inner / len(dt)
	y := r.scan(p, v, delta, b, c, r.get(p+"ssm_a"), dim, groups)
	for i := range y {
		y[i] = (y[i] + r.get(p + "ssm_d")[i/dim]*v[i]) * silu(z[i])
	}
	w, i := r.get(p+"ssm_norm.weight"), 0
	y = heads(y, inner/groups, func(h []float64) []float64 {
		i += len(h)
		return norm(h, w[i-len(h):i], nil, false)
	})
	return r.mul(p+"ssm_out", y)
}

func nemotron(r *reference, l, pos int, x []float64) []float64 {
	p := fmt.Sprintf("blk.%d.", l)
	switch l {
	case 1:
		return r.attend(l, pos, x)
	case 2:
		return r.mul(p+"ffn_down", each(r.mul(p+"ffn_up", x), reluSquared))
	case 3:
		n := int(r.m.experts)
		ids, weights := expertForm{sigmoid: true, renormalise: true, scale: 2.5}.choose(r.mul(p+"ffn_gate_inp", x), r.get(p+"exp_probs_b.bias"), 3)
		narrow := r.mul(p+"ffn_latent_down", x)
		out := make([]float64, len(narrow))
		for i, e := range ids {
			h := each(r.expert(p+"ffn_up_exps.weight", e, narrow, n), reluSquared)
			out = add(out, scaled(r.expert(p+"ffn_down_exps.weight", e, h, n), weights[i]))
		}
		return add(r.mul(p+"ffn_latent_up", out), r.mul(p+"ffn_down_shexp", each(r.mul(p+"ffn_up_shexp", x), reluSquared)))
	}
	return mamba2(r, l, pos, x)
}

// latent is attention over compressed keys and values, which are decompressed here. The scale is multiplied by m².
func latent(key, _ int, _, m float64) func(r *reference, l, pos int, x []float64) []float64 {
	return func(r *reference, l, pos int, x []float64) []float64 {
		p := fmt.Sprintf("blk.%d.", l)
		n, rank, nope, rope, val := int(r.m.heads), int(r.m.kvRank), int(r.m.nope), int(r.m.rope), int(r.m.val)
		q := x
		if r.m.qRank > 0 {
			q = r.mul(p+"attn_q_b", r.norm(p+"attn_q_a_norm", r.mul(p+"attn_q_a", x)))
		} else {
			q = r.mul(p+"attn_q", x)
		}
		both := r.mul(p+"attn_kv_a_mqa", x)
		c, shared := r.norm(p+"attn_kv_a_norm", both[:rank]), r.rotate(both[rank:], l, pos)
		var k, v []float64
		for h := range n {
			var kh, vh []float64
			if w := r.get(p + "attn_k_b.weight"); w != nil {
				w = w[h*rank*nope : (h+1)*rank*nope]
				kh = make([]float64, nope)
				for i := range rank {
					for j := range nope {
						kh[j] += w[i*nope+j] * c[i]
					}
				}
				vh = r.expert(p+"attn_v_b.weight", h, c, n)
			} else {
				all := r.expert(p+"attn_kv_b.weight", h, c, n)
				kh, vh = all[:nope], all[nope:]
			}
			k, v = append(append(k, kh...), shared...), append(v, vh...)
		}
		r.keys[l], r.vals[l] = append(r.keys[l], k), append(r.vals[l], v)
		var out []float64
		for h := range n {
			qh := append(slices.Clone(q[h*key:h*key+nope]), r.rotate(q[h*key+nope:(h+1)*key], l, pos)...)
			sum, o := 0.0, make([]float64, val)
			for t := range r.keys[l] {
				s := 0.0
				for i, v := range qh {
					s += v * r.keys[l][t][h*(nope+rope)+i]
				}
				e := math.Exp(s * m * m / math.Sqrt(float64(key)))
				sum += e
				for i := range o {
					o[i] += e * r.vals[l][t][h*val+i]
				}
			}
			out = append(out, scaled(o, 1/sum)...)
		}
		return r.mul(p+"attn_output", out)
	}
}

// delta is one step of the delta rule of one head: the state forgets, then what it says about k moves towards v.
func (r *reference) delta(key string, q, k, v, decay []float64, rate float64) []float64 {
	unit := func(x []float64) []float64 {
		s := float64(float32(1e-5))
		for _, v := range x {
			s += v * v
		}
		return scaled(x, 1/math.Sqrt(s))
	}
	q, k = scaled(unit(q), 1/math.Sqrt(float64(len(q)))), unit(k)
	s := r.memory.states[key]
	if s == nil {
		s = make([][]float64, len(k))
		for i := range s {
			s[i] = make([]float64, len(v))
		}
		r.memory.states[key] = s
	}
	said := make([]float64, len(v))
	for i := range s {
		for j := range v {
			s[i][j] *= math.Exp(decay[i%len(decay)])
			said[j] += s[i][j] * k[i]
		}
	}
	out := make([]float64, len(v))
	for i := range s {
		for j := range v {
			s[i][j] += k[i] * rate * (v[j] - said[j])
			out[j] += s[i][j] * q[i]
		}
	}
	return out
}

func kimi(r *reference, l, pos int, x []float64) []float64 {
	if r.m.perLayerKV[l] != 0 {
		return latent(48, 0, 1, 1)(r, l, pos, x)
	}
	p := fmt.Sprintf("blk.%d.", l)
	const n, dim = 4, 32
	var in [3][]float64
	for i, s := range []string{"q", "k", "v"} {
		in[i] = each(r.conv(p+s, r.get(p+"ssm_conv1d_"+s+".weight"), nil, r.mul(p+"attn_"+s, x)), silu)
	}
	forget := each(add(r.mul(p+"ssm_f_b", r.mul(p+"ssm_f_a", x)), r.get(p+"ssm_dt.bias")), softplus)
	rate := each(r.mul(p+"ssm_beta", x), sigmoid)
	gate := each(r.mul(p+"ssm_g_b", r.mul(p+"ssm_g_a", x)), sigmoid)
	var out []float64
	for h := range n {
		a, z := h*dim, (h+1)*dim
		y := r.delta(fmt.Sprint(p, h), in[0][a:z], in[1][a:z], in[2][a:z], scaled(forget[a:z], r.get(p + "ssm_a")[h]), rate[h])
		out = append(out, times(r.norm(p+"ssm_norm", y), gate[a:z])...)
	}
	return r.mul(p+"attn_output", out)
}

// qwenNext takes the older form: one matrix, head of keys by head of keys.
func qwenNext(r *reference, l, pos int, x []float64) []float64 {
	p := fmt.Sprintf("blk.%d.", l)
	if l%4 == 3 {
		dim := int(r.m.dim)
		both := r.mul(p+"attn_q", x)
		var q, gate []float64
		for h := range int(r.m.heads) {
			q, gate = append(q, both[2*h*dim:(2*h+1)*dim]...), append(gate, both[(2*h+1)*dim:(2*h+2)*dim]...)
		}
		return r.mul(p+"attn_output", times(r.attended(l, pos, q, r.mul(p+"attn_k", x), r.mul(p+"attn_v", x)), each(gate, sigmoid)))
	}
	const dim, keys, n = 32, 2, 4
	in := r.mul(p+"ssm_in", x)
	stride := len(in) / keys
	var q, k, v, z []float64
	for g := range keys {
		s := in[g*stride : (g+1)*stride]
		q, k, v, z = append(q, s[:dim]...), append(k, s[dim:2*dim]...), append(v, s[2*dim:4*dim]...), append(z, s[4*dim:]...)
	}
	mixed := each(r.conv(p, r.get(p+"ssm_conv1d.weight"), nil, append(append(q, k...), v...)), silu)
	q, k, v = mixed[:keys*dim], mixed[keys*dim:2*keys*dim], mixed[2*keys*dim:]
	ba := r.mul(p+"ssm_ba", x)
	var out []float64
	for h := range n {
		g := h / 2
		alpha, beta := ba[g*4+2+h%2], ba[g*4+h%2]
		forget := r.get(p + "ssm_a")[h] * softplus(alpha+r.get(p + "ssm_dt.bias")[h])
		y := r.delta(fmt.Sprint(p, h), q[g*dim:(g+1)*dim], k[g*dim:(g+1)*dim], v[h*dim:(h+1)*dim], []float64{forget}, sigmoid(beta))
		out = append(out, times(r.norm(p+"ssm_norm", y), each(z[h*dim:(h+1)*dim], silu))...)
	}
	return r.mul(p+"ssm_out", out)
}
