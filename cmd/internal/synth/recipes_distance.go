package main

import (
	"fmt"
	"maps"
)

func init() { maps.Copy(recipes, distant) }

// distant are recipes of encoders whose scores change with the distance.
var distant = map[string]func(m *model){
	"jina-bert-v2": func(m *model) { // six heads: no power of two
		m.embd, m.heads = 192, 6
		jina(m, func(p string) { m.mat(p+"ffn_up.weight", 1, m.embd, 2*m.ff) })
	},
	"jina-bert-v2+code": func(m *model) {
		jina(m, func(p string) {
			m.norm(p+"attn_q_norm", true)
			m.norm(p+"attn_k_norm", true)
			m.norm(p+"attn_norm_2", true)
			m.mat(p+"ffn_gate.weight", 1, m.embd, m.ff)
			m.mat(p+"ffn_up.weight", 1, m.embd, m.ff)
			m.vec(p+"ffn_up.bias", 0, 0.1, m.ff)
		})
	},
	"t5encoder": func(m *model) { t5(m, true, 0) },
	"t5encoder+relu": func(m *model) { // heads wider than the embedding, and a layer with biases of its own
		m.dim = 48
		t5(m, false, 2)
	},
}

func jina(m *model, second func(p string)) {
	m.kvHeads = m.heads
	m.basics("attention.layer_norm_epsilon")
	m.set("attention.causal", false)
	m.set("pooling_type", 1)
	m.set(".tokenizer.ggml.token_type_count", 2)
	m.add("token_embd.weight", typeF16, 0, 0.3, []uint32{m.embd, m.vocab})
	m.norm("token_embd_norm", true)
	m.vec("token_types.weight", 0, 0.2, m.embd, 2)
	m.each(func(p string) {
		m.attention(p)
		m.biases(p)
		m.vec(p+"attn_output.bias", 0, 0.1, m.embd)
		m.norm(p+"attn_output_norm", true)
		second(p)
		m.mat(p+"ffn_down.weight", 1, m.ff, m.embd)
		m.vec(p+"ffn_down.bias", 0, 0.1, m.embd)
		m.norm(p+"layer_output_norm", true)
	})
}

// t5Buckets are those of distances.
const t5Buckets = 32

// t5 has no division of scores, so queries are small.
func t5(m *model, gated bool, own uint32) {
	m.kvHeads = m.heads
	m.basics("attention.layer_norm_rms_epsilon")
	m.set("attention.layer_norm_epsilon", 1e-5)
	m.set("attention.relative_buckets_count", t5Buckets)
	m.set("pooling_type", 1)
	m.add("token_embd.weight", typeF16, 0, 0.3, []uint32{m.embd, m.vocab})
	m.norm("enc.output_norm", false)
	wide := m.heads * m.dim
	for i := range m.layers {
		p := fmt.Sprintf("enc.blk.%d.", i)
		if i == 0 || i == own {
			m.vec(p+"attn_rel_b.weight", 0, 1, m.heads, t5Buckets)
		}
		m.norm(p+"attn_norm", false)
		m.mat(p+"attn_q.weight", 0.2, m.embd, wide)
		m.mat(p+"attn_k.weight", 1, m.embd, wide)
		m.mat(p+"attn_v.weight", 1, m.embd, wide)
		m.mat(p+"attn_o.weight", 1, wide, m.embd)
		m.norm(p+"ffn_norm", false)
		if gated {
			m.mat(p+"ffn_gate.weight", 1, m.embd, m.ff)
		}
		m.mat(p+"ffn_up.weight", 1, m.embd, m.ff)
		m.mat(p+"ffn_down.weight", 1, m.ff, m.embd)
	}
}
