package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/runtime/engine"
)

func init() {
	for name, f := range map[string]func(r *reference, x [][]float64) [][]float64{
		"jina-bert-v2": jinaLayers, "jina-bert-v2+code": jinaLayers, "t5encoder": t5Layers, "t5encoder+relu": t5Layers,
	} {
		distantEncoders[name] = encoder{all: true, pool: mean, layers: f, form: form{layerNorm: name[0] == 'j'}}
	}
	maps.Copy(encoders, distantEncoders)
}

var distantEncoders = map[string]encoder{}

// seen is attention of all rows to all, with a number added to the score of each head and two rows.
func seen(q, k, v [][]float64, heads int, divisor float64, more func(h, from, to int) float64) [][]float64 {
	out := make([][]float64, len(q))
	dim := len(q[0]) / heads
	for i := range q {
		out[i] = make([]float64, len(q[i]))
		for h := range heads {
			weights, sum := make([]float64, len(k)), 0.0
			for j := range k {
				s := 0.0
				for d := h * dim; d < (h+1)*dim; d++ {
					s += q[i][d] * k[j][d]
				}
				weights[j] = math.Exp(s/divisor + more(h, i, j))
				sum += weights[j]
			}
			for j, w := range weights {
				for d := h * dim; d < (h+1)*dim; d++ {
					out[i][d] += w / sum * v[j][d]
				}
			}
		}
	}
	return out
}

func mapped(x [][]float64, f func(x []float64) []float64) [][]float64 {
	out := make([][]float64, len(x))
	for i := range x {
		out[i] = f(x[i])
	}
	return out
}

func jinaLayers(r *reference, x [][]float64) [][]float64 {
	types := r.get("token_types.weight")[:r.m.embd]
	x = mapped(x, func(x []float64) []float64 { return r.norm("token_embd_norm", add(x, types)) })
	for l := range int(r.m.layers) {
		p := fmt.Sprintf("blk.%d.", l)
		project := func(name string) [][]float64 {
			return mapped(x, func(x []float64) []float64 {
				y := r.mul(p+name, x)
				if r.get(p+name+"_norm.weight") != nil {
					y = r.norm(p+name+"_norm", y)
				}
				return y
			})
		}
		n := int(r.m.heads)
		y := seen(project("attn_q"), project("attn_k"), project("attn_v"), n, math.Sqrt(float64(r.m.dim)), func(h, i, j int) float64 {
			return -slope(h, n, 8) * math.Abs(float64(i-j))
		})
		for i := range x {
			z := r.norm(p+"attn_output_norm", add(x[i], r.mul(p+"attn_output", y[i])))
			if r.get(p+"attn_norm_2.weight") != nil {
				z = r.norm(p+"attn_norm_2", add(z, x[i]))
			}
			h := r.mul(p+"ffn_up", z)
			if r.get(p+"ffn_gate.weight") != nil {
				h = times(each(r.mul(p+"ffn_gate", z), gelu), h)
			} else {
				h = times(each(h[:len(h)/2], gelu), h[len(h)/2:])
			}
			x[i] = r.norm(p+"layer_output_norm", add(z, r.mul(p+"ffn_down", h)))
		}
	}
	return x
}

// t5Bucket is what T5's published code computes: half of the buckets for positions behind, and of each half the first half one distance each.
func t5Bucket(from, to int) int {
	const side = t5Buckets / 2
	first, d := 0, from-to
	if to > from {
		first, d = side, to-from
	}
	if d < side/2 {
		return first + d
	}
	far := side/2 + int(math.Floor(math.Log(float64(d)/(side/2))/math.Log(128/(side/2))*(side/2)+1e-9))
	return first + min(far, side-1)
}

func t5Layers(r *reference, x [][]float64) [][]float64 {
	for l := range int(r.m.layers) {
		p := fmt.Sprintf("enc.blk.%d.", l)
		project := func(name string) [][]float64 {
			return mapped(x, func(x []float64) []float64 { return r.mul(p+name, r.norm(p+"attn_norm", x)) })
		}
		bias := r.get(p + "attn_rel_b.weight")
		if bias == nil {
			bias = r.get("enc.blk.0.attn_rel_b.weight")
		}
		n := int(r.m.heads)
		y := seen(project("attn_q"), project("attn_k"), project("attn_v"), n, 1, func(h, i, j int) float64 { return bias[t5Bucket(i, j)*n+h] })
		for i := range x {
			z := add(x[i], r.mul(p+"attn_o", y[i]))
			in := r.norm(p+"ffn_norm", z)
			h := r.mul(p+"ffn_up", in)
			if r.get(p+"ffn_gate.weight") != nil {
				h = times(each(r.mul(p+"ffn_gate", in), gelu), h)
			} else {
				h = each(h, func(v float64) float64 { return max(v, 0) })
			}
			x[i] = add(z, r.mul(p+"ffn_down", h))
		}
	}
	return mapped(x, func(x []float64) []float64 { return r.norm("enc.output_norm", x) })
}

// 250 tokens take several pages of keys and reach the last bucket of distances, on both sides.
func TestDistancesBeyondTheLastBucket(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(distantEncoders)) {
		t.Run(name, func(t *testing.T) {
			m, path := compiled(t, name)
			tokens := someTokens(250)
			want := encoders[name].embed(m, tokens)
			var first []float32
			for _, o := range []engine.Options{{Threads: 2}, {Threads: 3, Kernels: "scalar"}} {
				e, err := engine.Open(path, o)
				require.NoError(t, err)
				got, err := e.Embed(context.Background(), tokens, false)
				require.NoError(t, err)
				e.Close()
				requireNear(t, want, got[0], len(tokens))
				if first == nil {
					first = got[0]
				}
				require.Equal(t, first, got[0])
			}
		})
	}
}
