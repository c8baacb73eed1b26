package main

import (
	"fmt"
	"math"
)

func init() {
	forms["gemma3n"] = form{halves: true, act: gelu, embed: rootWidth, scale: 1, finalCap: 30, valNorm: true, streams: true,
		window: func(_ *model, l int) int {
			if l%5 == 4 {
				return 0
			}
			return 16
		},
		freqs: func(_ *model, l int) ([]float64, float64) {
			if l%5 == 4 {
				return plainFreqs(32, 1e6), 1
			}
			return plainFreqs(32, 1e4), 1
		},
		from: func(l int) int {
			switch {
			case l < 20:
				return l
			case l%5 == 4:
				return 19
			}
			return 18
		}}
}

func magnitude(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v * v
	}
	return math.Sqrt(s)
}

// part is rows from … from+n-1 of a matrix times x.
func part(w []float64, from, n int, x []float64) []float64 {
	y := make([]float64, n)
	for i := range y {
		for j, v := range x {
			y[i] += w[(from+i)*len(x)+j] * v
		}
	}
	return y
}

// stepOfStreams is gemma3n's: predictions of four streams, work on the first, corrections of all.
func (r *reference) stepOfStreams(token, pos int) []float64 {
	d := int(r.m.embd)
	x := scaled(r.get("token_embd.weight")[token*d:(token+1)*d], r.embed(r.m))
	n := 256 * int(r.m.layers)
	perLayer := heads(scaled(r.mul("per_layer_model_proj", x), 1/rootWidth(r.m)), 256, func(h []float64) []float64 { return r.norm("per_layer_proj_norm", h) })
	perLayer = scaled(add(perLayer, scaled(r.get("per_layer_token_embd.weight")[token*n:(token+1)*n], 16)), 1/math.Sqrt2)
	like := func(x, y []float64) []float64 { return scaled(x, magnitude(y)/magnitude(x)) }
	s := [][]float64{x}
	for i := range 3 {
		s = append(s, like(part(r.get("altup_proj.weight"), i*d, d, x), x))
	}
	for l := range int(r.m.layers) {
		p := fmt.Sprintf("blk.%d.", l)
		modalities := func(x []float64) []float64 {
			y := scaled(r.mul(p+"altup_router", r.norm(p+"altup_router_norm", x)), 1/float64(d))
			for i := range y {
				y[i] = math.Tanh(y[i])
			}
			return y
		}
		coef := r.mul(p+"altup_predict_coef", modalities(s[0]))
		predicted := make([][]float64, 4)
		for i := range predicted {
			predicted[i] = s[i]
			for j := range s {
				predicted[i] = add(predicted[i], scaled(s[j], coef[4*i+j]))
			}
		}
		active := predicted[0]
		normed := r.norm(p+"attn_norm", active)
		low := add(normed, r.norm(p+"laurel_post_norm", r.mul(p+"laurel_r", r.mul(p+"laurel_l", normed))))
		y := add(active, r.norm(p+"post_attention_norm", r.attend(l, pos, normed)))
		y = scaled(add(y, low), 1/math.Sqrt2)
		in := r.norm(p+"ffn_norm", y)
		gate, up := r.mul(p+"ffn_gate", in), r.mul(p+"ffn_up", in)
		if l < 10 {
			mean, square := 0.0, 0.0
			for _, v := range gate {
				mean += v / float64(len(gate))
			}
			for _, v := range gate {
				square += (v - mean) * (v - mean) / float64(len(gate)-1)
			}
			for i := range gate {
				gate[i] = math.Max(0, gate[i]-mean-1.6448533535003662*math.Sqrt(square))
			}
		}
		for i := range gate {
			gate[i] = gelu(gate[i]) * up[i]
		}
		y = add(y, r.norm(p+"post_ffw_norm", r.mul(p+"ffn_down", gate)))
		change := add(y, scaled(active, -1))
		for i, c := range r.mul(p+"altup_correct_coef", modalities(y)) {
			s[i] = add(predicted[i], scaled(change, 1+c))
		}
		g := append([]float64(nil), s[0]...)
		for i, w := range r.get(p + "altup_correct_scale.weight") {
			g[i] *= w
		}
		g = r.mul(p+"inp_gate", g)
		for i := range g {
			g[i] = gelu(g[i]) * perLayer[l*256+i]
		}
		g = r.norm(p+"post_norm", r.mul(p+"proj", g))
		for i := 1; i < 4; i++ {
			s[i] = add(s[i], g)
		}
	}
	y := s[0]
	for i := range 3 {
		y = add(y, like(part(r.get("altup_unembd_proj.weight"), i*d, d, s[i+1]), s[0]))
	}
	out := r.mul("token_embd", r.norm("output_norm", scaled(y, 0.25)))
	for i := range out {
		out[i] = 30 * math.Tanh(out[i]/30)
	}
	return out
}
