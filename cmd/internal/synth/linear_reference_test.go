package main

import (
	"fmt"
	"maps"
	"math"
)

func init() { maps.Copy(forms, linearForms) }

var linearForms = map[string]form{
	"rwkv6": {layerNorm: true, whole: rwkv6Layers},
	"rwkv6qwen2": {mix: &mix{second: dense, mixer: func(r *reference, l, _ int, x []float64) []float64 {
		return rwkv6Time(r, fmt.Sprintf("blk.%d.time_mix_", l), x)
	}}},
	"arwkv7": {mix: &mix{second: dense, mixer: rwkvTime}},
}

func rwkv6Layers(r *reference, token, _ int) []float64 {
	d := int(r.m.embd)
	x := r.norm("token_embd_norm", r.get("token_embd.weight")[token*d:(token+1)*d])
	for l := range int(r.m.layers) {
		p := fmt.Sprintf("blk.%d.", l)
		x = add(x, rwkv6Time(r, p+"time_mix_", r.norm(p+"attn_norm", x)))
		p += "channel_mix_"
		y := r.norm(fmt.Sprintf("blk.%d.attn_norm_2", l), x)
		in := func(s string) []float64 { return r.mixedWithLast(p, y, r.get(p+"lerp_"+s+".weight")) }
		rate, k := each(r.mul(p+"receptance", in("r")), sigmoid), each(r.mul(p+"key", in("k")), reluSquared)
		r.memory.seen[p] = append(r.memory.seen[p], y)
		x = add(x, times(rate, r.mul(p+"value", k)))
		if l%2 == 1 {
			x = scaled(x, 0.5)
		}
	}
	return r.mul("output", r.norm("output_norm", x))
}

// rwkv6Time is the memory's part of a layer of either form.
func rwkv6Time(r *reference, p string, x []float64) []float64 {
	n, dim := len(x), 64
	both := r.mixedWithLast(p, x, r.get(p+"lerp_x.weight"))
	low, wide := each(r.mul(p+"w1", both), math.Tanh), r.get(p+"w2.weight")
	in := func(i int, s string) []float64 {
		share := part(wide, i*n, n, low[32*i:32*(i+1)])
		if fixed := r.get(p + "lerp_fused.weight"); fixed != nil {
			share = add(share, fixed[i*n:(i+1)*n])
		} else {
			share = add(share, r.get(p+"lerp_"+s+".weight"))
		}
		return r.mixedWithLast(p, x, share)
	}
	w := add(r.mul(p+"decay_w2", each(r.mul(p+"decay_w1", in(0, "w")), math.Tanh)), r.get(p+"decay.weight"))
	w = each(w, func(v float64) float64 { return math.Exp(-math.Exp(v)) })
	shared := func(v []float64) []float64 {
		var out []float64
		for h := range n / dim {
			at := h / (n / len(v)) * dim
			out = append(out, v[at:at+dim]...)
		}
		return out
	}
	k, v, q := shared(r.mul(p+"key", in(1, "k"))), shared(r.mul(p+"value", in(2, "v"))), r.mul(p+"receptance", in(3, "r"))
	gate := r.mul(p+"gate", in(4, "g"))
	r.memory.seen[p] = append(r.memory.seen[p], x)
	first := r.get(p + "first.weight")
	if first == nil {
		for i := range k {
			k[i] *= 1 - w[i]
		}
	}
	y := r.retained(p, dim, q, k, v, w, first)
	if first == nil {
		return r.mul(p+"output", times(scaled(y, 1/math.Sqrt(float64(dim))), each(gate, sigmoid)))
	}
	y = heads(y, dim, func(h []float64) []float64 {
		mean, square := 0.0, 0.0
		for _, v := range h {
			mean += v / float64(dim)
		}
		for _, v := range h {
			square += (v - mean) * (v - mean) / float64(dim)
		}
		return each(h, func(v float64) float64 { return (v - mean) / math.Sqrt(square+64e-5) })
	})
	y = add(times(y, r.get(p+"ln.weight")), r.get(p+"ln.bias"))
	return r.mul(p+"output", times(y, each(gate, silu)))
}

// retained is what heads of a memory give that decays by w: after the present token, or, with first, before it and the token by that weight.
func (r *reference) retained(key string, dim int, q, k, v, w, first []float64) []float64 {
	var out []float64
	for h := 0; h < len(q); h += dim {
		name := fmt.Sprint(key, h)
		s := r.memory.states[name]
		if s == nil {
			s = make([][]float64, dim)
			for i := range s {
				s[i] = make([]float64, dim)
			}
		}
		y := make([]float64, dim)
		for j := range dim {
			for i := range dim {
				now := k[h+j] * v[h+i]
				if first != nil {
					y[i] += q[h+j] * (s[j][i] + first[h+j]*now)
				}
				s[j][i] = s[j][i]*w[h+j] + now
				if first == nil {
					y[i] += q[h+j] * s[j][i]
				}
			}
		}
		r.memory.states[name] = s
		out = append(out, y...)
	}
	return out
}
