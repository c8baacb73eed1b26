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

// encoders by recipe: models whose results are embeddings.
var encoders = map[string]encoder{
	"bert":            {form: form{layerNorm: true, act: gelu, plain: true, freqs: always(0, 1)}, after: true, all: true, pool: first},
	"nomic-bert":      {form: form{layerNorm: true, halves: true}, after: true, all: true, pool: mean},
	"nomic-bert-moe":  {form: form{layerNorm: true, halves: true, act: gelu, plain: true}, after: true, all: true, pool: mean},
	"jina-bert-v3":    {form: form{layerNorm: true, halves: true, act: gelu, plain: true}, after: true, all: true, pool: mean},
	"eurobert":        {form: form{halves: true}, all: true, pool: mean},
	"neo-bert":        {all: true, pool: mean},
	"llama-embed":     {all: true, pool: mean},
	"qwen3+embedding": {form: form{halves: true}, pool: last},
	"modern-bert": {form: form{layerNorm: true, halves: true, act: gelu, freqs: func(_ *model, l int) ([]float64, float64) {
		return plainFreqs(32, []float64{1.6e5, 1e4, 1e4}[l%3]), 1
	}}, all: true, reach: func(l int) int { return []int{0, 8, 8}[l%3] }, pool: first},
	"gemma-embedding": {form: form{halves: true, act: gelu, post: true, embed: rootWidth, freqs: func(_ *model, l int) ([]float64, float64) {
		if l == 5 {
			return plainFreqs(32, 1e6), 1
		}
		return plainFreqs(32, 1e4), 1
	}}, all: true, reach: func(l int) int { return []int{8, 0}[l/5] }, pool: mean},
}

type encoder struct {
	form
	after bool // norms after the sums, none before
	all   bool // later positions are seen
	reach func(layer int) int
	pool  func(h [][]float64) []float64

	dense []string // matrices behind the pooling

	layers func(r *reference, x [][]float64) [][]float64 // what becomes of the tokens' embeddings, where that is all its own
}

func first(h [][]float64) []float64 { return h[0] }
func last(h [][]float64) []float64  { return h[len(h)-1] }
func mean(h [][]float64) []float64 {
	out := make([]float64, len(h[0]))
	for _, v := range h {
		out = add(out, scaled(v, 1/float64(len(h))))
	}
	return out
}

// embed computes a text layer by layer.
func (e encoder) embed(m *model, tokens []int32) []float64 {
	r := newReference(m, e.form)
	d := int(m.embd)
	x := make([][]float64, len(tokens))
	for i, t := range tokens {
		x[i] = r.get("token_embd.weight")[int(t)*d : int(t+1)*d]
	}
	if e.layers != nil {
		return e.pool(e.layers(r, x))
	}
	for i := range tokens {
		if e.after {
			x[i] = add(x[i], r.get("token_types.weight")[:d])
			if p := r.get("position_embd.weight"); p != nil {
				x[i] = add(x[i], p[i*d:(i+1)*d])
			}
		}
		if r.get("token_embd_norm.weight") != nil {
			x[i] = r.norm("token_embd_norm", x[i])
		}
		if r.form.embed != nil {
			x[i] = scaled(x[i], r.form.embed(m))
		}
	}
	for l := range int(m.layers) {
		p := fmt.Sprintf("blk.%d.", l)
		pre := func(name string, x []float64) []float64 {
			if e.after || r.get(p+name+".weight") == nil { // ModernBERT's first layer has none
				return x
			}
			return r.norm(p+name, x)
		}
		post := func(after, name string, in, y []float64) []float64 {
			switch {
			case e.after:
				return r.norm(p+after, add(in, y))
			case r.post:
				y = r.norm(p+name, y)
			}
			return add(in, y)
		}
		attended := e.attend(r, l, x, func(v []float64) []float64 { return pre("attn_norm", v) })
		for i := range x {
			x[i] = post("attn_output_norm", "post_attention_norm", x[i], r.mul(p+"attn_output", attended[i]))
			second := r.feedForward
			if r.get(p+"ffn_gate_inp.weight") != nil {
				second = r.plainExperts
			}
			x[i] = post("layer_output_norm", "post_ffw_norm", x[i], second(p, pre("ffn_norm", x[i])))
		}
	}
	if !e.after {
		name := "output_norm"
		if r.get("output_norm.weight") == nil {
			name = "enc.output_norm"
		}
		for i := range x {
			x[i] = r.norm(name, x[i])
		}
	}
	y := e.pool(x)
	for _, name := range e.dense {
		y = r.mul(name, y)
	}
	return y
}

// plainExperts are nomic-bert-moe's: two without gates, weighted by a softmax over all.
func (r *reference) plainExperts(p string, x []float64) []float64 {
	probs := r.mul(p+"ffn_gate_inp", x)
	sum := 0.0
	for i, v := range probs {
		probs[i] = math.Exp(v)
		sum += probs[i]
	}
	up, down := r.get(p+"ffn_up_exps.weight"), r.get(p+"ffn_down_exps.weight")
	d, ff := len(x), len(up)/len(probs)/len(x)
	out := make([]float64, d)
	for range 2 {
		best := 0
		for i, v := range probs {
			if v > probs[best] {
				best = i
			}
		}
		h := part(up, best*ff, ff, x)
		for i := range h {
			h[i] = gelu(h[i])
		}
		out = add(out, scaled(part(down, best*d, d, h), probs[best]/sum))
		probs[best] = -1
	}
	return out
}

// attend is the attention of a layer for all positions, before the output matrix.
func (e encoder) attend(r *reference, l int, x [][]float64, pre func([]float64) []float64) [][]float64 {
	p, dim := fmt.Sprintf("blk.%d.", l), int(r.m.dim)
	nq, nk := int(r.m.heads)*dim, int(r.m.kvHeads)*dim
	q, k, v := make([][]float64, len(x)), make([][]float64, len(x)), make([][]float64, len(x))
	for i := range x {
		in := pre(x[i])
		if r.get(p+"attn_qkv.weight") != nil {
			all := r.mul(p+"attn_qkv", in)
			q[i], k[i], v[i] = all[:nq], all[nq:nq+nk], all[nq+nk:]
		} else {
			q[i], k[i], v[i] = r.mul(p+"attn_q", in), r.mul(p+"attn_k", in), r.mul(p+"attn_v", in)
		}
		turn := func(x []float64, name string) []float64 {
			return heads(x, dim, func(h []float64) []float64 {
				if w := r.get(p + name); w != nil {
					h = norm(h, w, nil, false)
				}
				return r.rotate(h, l, i)
			})
		}
		q[i], k[i] = turn(q[i], "attn_q_norm.weight"), turn(k[i], "attn_k_norm.weight")
	}
	out := make([][]float64, len(x))
	for i := range x {
		for h := range int(r.m.heads) {
			g := h / int(r.m.heads/r.m.kvHeads) * dim
			sum, o := 0.0, make([]float64, dim)
			for t := range x {
				far := max(t-i, i-t)
				if t > i && !e.all || e.reach != nil && e.reach(l) > 0 && far > e.reach(l) {
					continue
				}
				s := 0.0
				for j := range dim {
					s += q[i][h*dim+j] * k[t][g+j]
				}
				w := math.Exp(s / math.Sqrt(float64(dim)))
				sum += w
				for j := range dim {
					o[j] += w * v[t][g+j]
				}
			}
			out[i] = append(out[i], scaled(o, 1/sum)...)
		}
	}
	return out
}

func TestEmbeddingsAreWhatAnIndependentReferenceComputes(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(encoders)) {
		t.Run(name, func(t *testing.T) {
			m, path := compiled(t, name)
			for _, n := range []int{1, 2, 40} { // 40 is wider than gemma-embedding's reach
				e, err := engine.Open(path, engine.Options{Threads: 2})
				require.NoError(t, err)
				defer e.Close()
				got, err := e.Embed(context.Background(), someTokens(n), false)
				require.NoError(t, err)
				require.Len(t, got, 1)
				requireNear(t, encoders[name].embed(m, someTokens(n)), got[0], n)
				unit, err := e.Embed(context.Background(), someTokens(n), true)
				require.NoError(t, err)
				length := 0.0
				for _, v := range unit[0] {
					length += float64(v) * float64(v)
				}
				require.InDelta(t, 1, length, 1e-5)
			}
		})
	}
}

func TestAnEncoderSeesATextAsAWhole(t *testing.T) {
	_, path := compiled(t, "bert")
	e, err := engine.Open(path, engine.Options{Threads: 1, Batch: 8})
	require.NoError(t, err)
	defer e.Close()
	_, err = e.Embed(context.Background(), someTokens(9), true)
	require.ErrorContains(t, err, "one batch")
	_, err = e.Embed(context.Background(), someTokens(8), true)
	require.NoError(t, err)
	s := e.NewSession()
	defer s.Close()
	require.ErrorIs(t, s.Eval(context.Background(), someTokens(4), nil, nil), engine.ErrNoLogits)
}

func TestAnEncoderTakesAsManyTokensAsItsContext(t *testing.T) {
	_, path := compiled(t, "bert")
	e, err := engine.Open(path, engine.Options{Threads: 2})
	require.NoError(t, err)
	defer e.Close()
	require.Equal(t, 256, e.Options().Batch)
	_, err = e.Embed(context.Background(), someTokens(256), true)
	require.NoError(t, err)
}

func TestAModelOfTextMakesNoEmbeddings(t *testing.T) {
	_, path := compiled(t, "xverse")
	e, err := engine.Open(path, engine.Options{Threads: 1})
	require.NoError(t, err)
	defer e.Close()
	_, err = e.Embed(context.Background(), someTokens(4), true)
	require.ErrorIs(t, err, engine.ErrNoEmbed)
}
