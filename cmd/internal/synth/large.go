package main

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Models of some hundred megabytes for measuring speed, in the sizes of published small ones: every matrix is Q4_K with random codes, the vocabulary is 256 bytes and
// names without meaning, which every runtime can tokenize with.

// large are their recipes, apart from the tiny ones since every test walks those.
var large = map[string]func(m *model){
	"qwen3moe+large": func(m *model) { // 32 experts of which 8, as wide as those of Granite 3.1 1B A400M
		m.size = size{layers: 12, embd: 1024, heads: 16, kvHeads: 4, dim: 64, ff: 512, vocab: 32000, context: 4096}
		m.mixture(moe{width: 512})
		m.experts = 32
		m.change("expert_count", 32)
		m.change("expert_used_count", 8)
		m.words()
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.headNorms(p, m.dim)
			m.norm(p+"ffn_norm", false)
			m.second(p, i)
		})
	},
	"granitehybrid+large": func(m *model) { // between Granite 4.0 H 350M and 1B
		m.size = size{layers: 32, embd: 1024, heads: 16, kvHeads: 4, dim: 64, ff: 3072, vocab: 32000, context: 4096}
		m.perLayerKV = m.every(8, 4)
		m.ssm(2*m.embd, 128, 32, 1)
		m.set("attention.scale", 0.125)
		m.basics("attention.layer_norm_rms_epsilon")
		m.outside(true, false)
		m.words()
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			if m.perLayerKV[i] == 0 {
				m.mamba2(p)
			} else {
				m.attention(p)
			}
			m.norm(p+"ffn_norm", false)
			m.gated(p)
		})
	},
	"qwen35+large": func(m *model) { // as Qwen 3.5 0.8B
		m.size = size{layers: 24, embd: 1024, heads: 8, kvHeads: 2, dim: 256, ff: 3584, vocab: 32000, context: 4096}
		m.set("rope.dimension_count", 64)
		m.set("rope.dimension_sections", []int32{11, 11, 10, 0})
		m.deltaNet()
		m.basics("attention.layer_norm_rms_epsilon")
		m.outside(true, false)
		m.words()
		m.deltaLayers(func(_ uint32, p string) { m.gated(p) })
	},
	"qwen35moe+large": func(m *model) { // the same with experts
		m.size = size{layers: 12, embd: 1024, heads: 8, kvHeads: 2, dim: 256, ff: 512, vocab: 32000, context: 4096}
		m.set("rope.dimension_count", 64)
		m.set("rope.dimension_sections", []int32{11, 11, 10, 0})
		m.set("expert_shared_feed_forward_length", 512)
		m.deltaNet()
		m.mixture(moe{width: 512})
		m.experts = 32
		m.change("expert_count", 32)
		m.change("expert_used_count", 8)
		m.words()
		m.deltaLayers(func(i uint32, p string) {
			m.second(p, i)
			m.shared(p, 512)
			m.vec(p+"ffn_gate_inp_shexp.weight", 0, 0.03, m.embd)
		})
	},
	"lfm2+large": func(m *model) { // LFM2 350M with twice its layers
		m.size = size{layers: 32, embd: 1024, heads: 16, kvHeads: 8, dim: 64, ff: 4608, vocab: 32000, context: 4096}
		m.perLayerKV = m.every(3, 8)
		m.set("shortconv.l_cache", 3)
		m.basics("attention.layer_norm_rms_epsilon")
		m.add("token_embd.weight", typeF16, 0, 0.3, []uint32{m.embd, m.vocab})
		m.norm("token_embd_norm", false)
		m.words()
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.shortConvOrAttention(i, p)
			m.norm(p+"ffn_norm", false)
			m.gated(p)
		})
	},
}

// shortConvOrAttention is how LFM2 mixes positions: layers without heads of keys have a convolution of three.
func (m *model) shortConvOrAttention(i uint32, p string) {
	if m.perLayerKV[i] == 0 {
		m.vec(p+"shortconv.conv.weight", 0, 0.5, 3, m.embd)
		m.mat(p+"shortconv.in_proj.weight", 1, m.embd, 3*m.embd)
		m.mat(p+"shortconv.out_proj.weight", 1, m.embd, m.embd)
		return
	}
	m.attention(p)
	m.headNorms(p, m.dim)
}

// every gives heads of keys to each n-th layer only.
func (m *model) every(n, heads uint32) []uint32 {
	out := make([]uint32, m.layers)
	for i := n - 1; i < m.layers; i += n {
		out[i] = heads
	}
	return out
}

// deltaNet sets the sizes of the gated delta rule: 16 heads of 128.
func (m *model) deltaNet() {
	m.ssm(2048, 128, 16, 16)
	m.set("full_attention_interval", 4)
}

// deltaLayers adds three layers of the gated delta rule for each of gated attention.
func (m *model) deltaLayers(second func(i uint32, p string)) {
	m.each2(func(i uint32, p string) {
		m.norm(p+"attn_norm", false)
		if i%4 == 3 {
			m.mat(p+"attn_q.weight", 1, m.embd, 2*m.heads*m.dim)
			m.mat(p+"attn_k.weight", 1, m.embd, m.kvHeads*m.dim)
			m.mat(p+"attn_v.weight", 1, m.embd, m.kvHeads*m.dim)
			m.mat(p+"attn_output.weight", 1, m.heads*m.dim, m.embd)
			m.headNorms(p, m.dim)
		} else {
			nk, nv := m.groups*m.state, m.inner
			m.mat(p+"attn_qkv.weight", 1, m.embd, 2*nk+nv)
			m.mat(p+"attn_gate.weight", 1, m.embd, nv)
			m.mat(p+"ssm_beta.weight", 1, m.embd, m.rank)
			m.mat(p+"ssm_alpha.weight", 1, m.embd, m.rank)
			m.vec(p+"ssm_conv1d.weight", 0, 0.5, 4, 2*nk+nv)
			m.vec(p+"ssm_dt.bias", -1, 0.5, m.rank)
			m.vec(p+"ssm_a", -1, 0.3, m.rank)
			m.norm(p+"ssm_norm", false, m.state)
			m.mat(p+"ssm_out.weight", 1, nv, m.embd)
		}
		m.norm(p+"post_attention_norm", false)
		second(i, p)
	})
}

// change replaces a key's value.
func (m *model) change(key string, value any) {
	i := slices.IndexFunc(m.kv, func(p pair) bool { return p.key == m.arch+"."+key })
	m.kv[i].value = value
}

// words replaces the vocabulary of names by one that any text can be written in: 256 bytes and pieces without meaning.
func (m *model) words() {
	m.kv = slices.DeleteFunc(m.kv, func(p pair) bool { return len(p.key) > 10 && p.key[:10] == "tokenizer." })
	tokens, types, scores := make([]string, m.vocab), make([]int32, m.vocab), make([]float32, m.vocab)
	for i := range tokens {
		switch {
		case i < 3:
			tokens[i], types[i] = []string{"<unk>", "<s>", "</s>"}[i], []int32{2, 3, 3}[i]
		case i < 3+256:
			tokens[i], types[i] = fmt.Sprintf("<0x%02X>", i-3), 6
		default:
			tokens[i], types[i], scores[i] = fmt.Sprintf("▁w%d", i), 1, -float32(i)
		}
	}
	m.set(".tokenizer.ggml.model", "llama")
	m.set(".tokenizer.ggml.tokens", tokens)
	m.set(".tokenizer.ggml.token_type", types)
	m.set(".tokenizer.ggml.scores", scores)
	m.set(".tokenizer.ggml.bos_token_id", 1)
	m.set(".tokenizer.ggml.eos_token_id", 2)
	m.set(".tokenizer.ggml.unknown_token_id", 0)
}

// Q4_K: 256 elements of four bits in 144 bytes.
const (
	typeQ4K  = 12
	q4kElems = 256
	q4kBytes = 144
)

// codes fills a matrix with Q4_K blocks: random codes around their mean, one scale.
func (m *model) codes(t tensor, n int, deviation float64) tensor {
	const sub, spread = 32, 4.61 // every scale of 32 elements; the deviation of 0 … 15
	d := deviation / (sub * spread)
	r := m.random(t.name)
	t.typ, t.data = typeQ4K, make([]byte, n/q4kElems*q4kBytes)
	for at := 0; at < len(t.data); at += q4kBytes {
		b := t.data[at:]
		binary.LittleEndian.PutUint16(b, half(float32(d)))
		binary.LittleEndian.PutUint16(b[2:], half(float32(7.5*d)))
		// Eight scales and eight minimums of six bits: 32 = 0b100000, whose high bits lie in the upper two of the first eight bytes.
		copy(b[4:16], []byte{160, 160, 160, 160, 160, 160, 160, 160, 0, 0, 0, 0})
		for i := 16; i < q4kBytes; i += 8 {
			binary.LittleEndian.PutUint64(b[i:], r.Uint64())
		}
	}
	return t
}
