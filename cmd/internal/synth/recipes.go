package main

import "fmt"

// recipes by name: an architecture, or an architecture, a plus and what is special.
var recipes = map[string]func(m *model){
	"nemotron": func(m *model) {
		m.basics("attention.layer_norm_epsilon")
		m.set("rope.dimension_count", m.dim/2)
		m.outside(true, true)
		m.each(func(p string) {
			m.norm(p+"attn_norm", true)
			m.attention(p)
			m.norm(p+"ffn_norm", true)
			m.plain(p)
		})
	},
	"smollm3":   llamaLike,
	"ernie4_5":  llamaLike,
	"internlm2": llamaLike,
	"llama+linear": func(m *model) {
		llamaLike(m)
		m.set("rope.scaling.type", "linear")
		m.set("rope.scaling.factor", 4.0)
	},
	"llama+factors": func(m *model) { // Llama 3.1's
		llamaLike(m)
		m.vec("rope_freqs.weight", 3, 0.5, m.dim/2)
	},
	"llama+yarn": func(m *model) {
		llamaLike(m)
		m.set("rope.freq_base", 5e5)
		m.set("rope.scaling.type", "yarn")
		m.set("rope.scaling.factor", 8.0)
		m.set("rope.scaling.original_context_length", 128)
	},
	"exaone": llamaLike,
	"xverse": llamaLike,
	"deci":   llamaLike,
	"baichuan": func(m *model) {
		m.layers = 32 // how its size is told
		m.embd, m.heads, m.kvHeads, m.dim, m.ff = 64, 2, 2, 32, 96
		llamaLike(m)
	},
	"minicpm": func(m *model) {
		llamaLike(m)
		m.set("embedding_scale", 2.0)
		m.set("residual_scale", 0.7)
		m.set("logit_scale", 2.0)
	},
	"arcee":   func(m *model) { m.sequential(special{rms: true, plain: true}) },
	"chatglm": func(m *model) { m.sequential(special{rms: true, qkv: true, upUp: true, rotated: 16}) },
	"codeshell": func(m *model) {
		m.sequential(special{qkv: true, qkvBias: true, outBias: true, ffBias: true, normBias: true, plain: true})
	},
	"orion":          func(m *model) { m.sequential(special{normBias: true}) },
	"pangu-embedded": func(m *model) { m.sequential(special{rms: true, qkvBias: true, outBias: true}) },
	"jais2": func(m *model) {
		m.sequential(special{qkvBias: true, outBias: true, ffBias: true, normBias: true, plain: true})
	},
	"maincoder": func(m *model) { m.sequential(special{rms: true, headNorms: true}) },
	"starcoder": func(m *model) {
		m.kvHeads = 1
		m.mat("position_embd.weight", 3, m.embd, m.context)
		m.sequential(special{qkv: true, qkvBias: true, outBias: true, ffBias: true, normBias: true, plain: true})
	},
	"gptneox": func(m *model) {
		m.kvHeads = m.heads
		m.set("use_parallel_residual", true)
		m.sequential(special{qkv: true, qkvBias: true, outBias: true, ffBias: true, normBias: true, plain: true, rotated: 8})
	},
	"gptneox+after": func(m *model) {
		m.kvHeads = m.heads
		m.set("use_parallel_residual", false)
		m.sequential(special{qkv: true, qkvBias: true, outBias: true, ffBias: true, normBias: true, plain: true, rotated: 8})
	},
	"qwen": func(m *model) {
		m.kvHeads = m.heads
		m.basics("attention.layer_norm_rms_epsilon", 2*m.ff)
		m.outside(true, false)
		m.each(func(p string) {
			m.norm(p+"attn_norm", false)
			m.fused(p, true)
			m.norm(p+"ffn_norm", false)
			m.gated(p)
		})
	},
	"qwen2vl": func(m *model) {
		m.set("rope.dimension_sections", []int32{4, 6, 6, 0})
		m.sequential(special{rms: true, qkvBias: true})
	},
	"qwen3vl": func(m *model) {
		m.set("rope.dimension_sections", []int32{7, 5, 4, 0})
		m.sequential(special{rms: true, headNorms: true})
	},
	"paddleocr": func(m *model) {
		m.set("rope.dimension_sections", []int32{4, 6, 6, 0})
		m.sequential(special{rms: true})
	},
	"plamo": func(m *model) {
		m.basics("attention.layer_norm_rms_epsilon")
		m.outside(true, false)
		m.each(func(p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.gated(p)
		})
	},
	"exaone4+predicted": func(m *model) { // a block of multi-token prediction behind the layers
		m.layers = 5
		m.basics("attention.layer_norm_rms_epsilon")
		m.set("nextn_predict_layers", 1)
		m.outside(true, false)
		m.each(func(p string) {
			m.attention(p)
			m.headNorms(p, m.dim)
			m.norm(p+"post_attention_norm", false)
			m.gated(p)
			m.norm(p+"post_ffw_norm", false)
			if p == "blk.4." {
				m.mat(p+"nextn.eh_proj.weight", 1, 2*m.embd, m.embd)
				m.norm(p+"nextn.enorm", false)
				m.norm(p+"nextn.hnorm", false)
				m.layers-- // what computes
			}
		})
	},
	"glm4+sections": func(m *model) {
		m.basics("attention.layer_norm_rms_epsilon")
		m.set("rope.dimension_count", 16)
		m.set("rope.dimension_sections", []int32{2, 2, 1, 3})
		m.outside(true, false)
		m.each(func(p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.norm(p+"post_attention_norm", false)
			m.norm(p+"ffn_norm", false)
			m.mat(p+"ffn_up.weight", 1, m.embd, 2*m.ff)
			m.mat(p+"ffn_down.weight", 1, m.ff, m.embd)
			m.norm(p+"post_ffw_norm", false)
		})
	},
	"command-r": func(m *model) {
		m.basics("attention.layer_norm_epsilon")
		m.set("logit_scale", 0.5)
		m.outside(false, false)
		m.each(func(p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.gated(p)
		})
	},
	"olmo": func(m *model) {
		m.basics("attention.layer_norm_epsilon")
		m.add("token_embd.weight", typeF16, 0, 0.3, []uint32{m.embd, m.vocab})
		m.each(func(p string) {
			m.attention(p)
			m.gated(p)
		})
	},
	"seed_oss": func(m *model) {
		m.basics("attention.layer_norm_rms_epsilon")
		m.outside(true, false)
		m.each(func(p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.biases(p)
			m.norm(p+"post_attention_norm", false)
			m.gated(p)
		})
	},
	"hunyuan-dense": func(m *model) {
		m.basics("attention.layer_norm_rms_epsilon")
		m.set("rope.scaling.alpha", 8.0)
		m.outside(true, false)
		m.each(func(p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.headNorms(p, m.dim)
			m.norm(p+"ffn_norm", false)
			m.gated(p)
		})
	},
	"mistral3": func(m *model) {
		llamaLike(m)
		m.set("attention.temperature_scale", 0.1)
		m.set("rope.scaling.type", "yarn")
		m.set("rope.scaling.factor", 4.0)
		m.set("rope.scaling.original_context_length", 16)
		m.set("rope.scaling.yarn_log_multiplier", 1.0)
		m.set("rope.scaling.yarn_beta_fast", 32.0)
		m.set("rope.scaling.yarn_beta_slow", 1.0)
	},
	"phi3": func(m *model) { // with fused matrices and longrope, which the long factors apply to
		m.basics("attention.layer_norm_rms_epsilon")
		m.set("rope.scaling.type", "longrope")
		m.set("rope.scaling.original_context_length", 64)
		m.set("rope.scaling.attn_factor", 1.19)
		m.outside(true, false)
		m.vec("rope_factors_long.weight", 3, 0.4, m.dim/2)
		m.vec("rope_factors_short.weight", 1, 0.05, m.dim/2)
		m.each(func(p string) {
			m.norm(p+"attn_norm", false)
			m.mat(p+"attn_qkv.weight", 1, m.embd, (m.heads+2*m.kvHeads)*m.dim)
			m.mat(p+"attn_output.weight", 1, m.heads*m.dim, m.embd)
			m.norm(p+"ffn_norm", false)
			m.mat(p+"ffn_up.weight", 1, m.embd, 2*m.ff)
			m.mat(p+"ffn_down.weight", 1, m.ff, m.embd)
		})
	},
	"exaone4": func(m *model) { // the model with windows has 64 layers
		m.layers, m.embd, m.heads, m.kvHeads, m.dim, m.ff = 64, 64, 2, 1, 32, 96
		m.basics("attention.layer_norm_rms_epsilon")
		m.set("attention.sliding_window", 16)
		m.outside(true, false)
		m.each(func(p string) {
			m.attention(p)
			m.headNorms(p, m.dim)
			m.vec(p+"post_attention_norm.weight", 0.2, 0.03, m.embd) // small steps: errors do not grow through so many layers
			m.gated(p)
			m.vec(p+"post_ffw_norm.weight", 0.2, 0.03, m.embd)
		})
	},
	"gemma2": func(m *model) {
		m.basics("attention.layer_norm_rms_epsilon")
		m.set("attention.sliding_window", 16)
		m.set("attn_logit_softcapping", 50.0)
		m.set("final_logit_softcapping", 30.0)
		m.outside(false, false)
		m.each(func(p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.norm(p+"post_attention_norm", false)
			m.norm(p+"ffn_norm", false)
			m.gated(p)
			m.norm(p+"post_ffw_norm", false)
		})
	},
	"gemma3n":    gemma3n,
	"bert":       func(m *model) { bert(m) },
	"nomic-bert": func(m *model) { bert(m) },
	"gemma-embedding": func(m *model) {
		m.layers = 6
		m.basics("attention.layer_norm_rms_epsilon")
		m.set("attention.sliding_window", 16)
		m.set("rope.freq_base", 1e6)
		m.set("pooling_type", 1)
		m.set("attention.causal", false)
		m.outside(false, false)
		m.each(func(p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.headNorms(p, m.dim)
			m.norm(p+"post_attention_norm", false)
			m.norm(p+"ffn_norm", false)
			m.gated(p)
			m.norm(p+"post_ffw_norm", false)
		})
	},
	"nomic-bert-moe": func(m *model) { bert(m) },
	"jina-bert-v3":   func(m *model) { bert(m) },
	"eurobert":       func(m *model) { encoder2(m, false) },
	"neo-bert":       func(m *model) { encoder2(m, true) },
	"llama-embed": func(m *model) {
		m.set("pooling_type", 1)
		llamaLike(m)
	},
	"modern-bert": func(m *model) {
		m.kvHeads = m.heads
		m.basics("attention.layer_norm_epsilon")
		m.set("attention.sliding_window", 16)
		m.set("attention.causal", false)
		m.set("rope.freq_base", 1.6e5)
		m.set("rope.freq_base_swa", 1e4)
		m.set("pooling_type", 2)
		m.add("token_embd.weight", typeF16, 0, 0.3, []uint32{m.embd, m.vocab})
		m.norm("token_embd_norm", false)
		m.norm("output_norm", false)
		m.each(func(p string) {
			if p != "blk.0." {
				m.norm(p+"attn_norm", false)
			}
			m.fused(p, false)
			m.norm(p+"ffn_norm", false)
			m.mat(p+"ffn_up.weight", 1, m.embd, 2*m.ff)
			m.mat(p+"ffn_down.weight", 1, m.ff, m.embd)
		})
	},
	"hunyuan_vl": func(m *model) {
		m.set("rope.dimension_sections", []int32{4, 6, 6, 0})
		m.sequential(special{rms: true, headNorms: true})
	},
	"bitnet": func(m *model) {
		m.basics("attention.layer_norm_rms_epsilon")
		m.outside(false, false)
		m.each(func(p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.norm(p+"attn_sub_norm", false)
			m.norm(p+"ffn_norm", false)
			m.gated(p)
			m.norm(p+"ffn_sub_norm", false, m.ff)
		})
	},
	"openelm": func(m *model) {
		m.basics("attention.layer_norm_rms_epsilon")
		m.outside(false, false)
		m.each(func(p string) {
			m.norm(p+"attn_norm", false)
			m.fused(p, false)
			m.headNorms(p, m.dim)
			m.norm(p+"ffn_norm", false)
			m.gated(p)
		})
	},
	"qwen3+embedding": func(m *model) {
		m.set("pooling_type", 3)
		m.sequential(special{rms: true, headNorms: true})
	},
	"gemma4":     func(m *model) { gemma4(m, 0) },
	"gemma4+moe": func(m *model) { gemma4(m, 6) },
}

// gemma4 has layers of two kinds; the last two share keys and values of earlier ones.
func gemma4(m *model, experts uint32) {
	const dim, wide, perLayer = 32, 64, 32
	m.layers, m.dim = 8, wide
	swa := []bool{true, true, false, true, true, false, true, false}
	m.basics("attention.layer_norm_rms_epsilon")
	m.set("attention.sliding_window", 16)
	m.set("attention.sliding_window_pattern", swa)
	m.set("attention.shared_kv_layers", 2)
	m.set("attention.key_length_swa", dim)
	m.set("attention.value_length_swa", dim)
	m.set("rope.dimension_count", wide)
	m.set("rope.dimension_count_swa", dim)
	m.set("rope.freq_base", 1e6)
	m.set("rope.freq_base_swa", 1e4)
	m.set("embedding_length_per_layer_input", perLayer)
	m.set("final_logit_softcapping", 30.0)
	if experts > 0 {
		m.set("expert_count", experts)
		m.set("expert_used_count", 2)
		m.set("expert_feed_forward_length", 64)
	}
	m.outside(false, false)
	m.vec("rope_freqs.weight", 2, 0.3, wide/2)
	m.mat("per_layer_token_embd.weight", 1, perLayer*m.layers, m.vocab)
	m.mat("per_layer_model_proj.weight", 1, m.embd, perLayer*m.layers)
	m.norm("per_layer_proj_norm", false, perLayer)
	for i := range m.layers {
		p := fmt.Sprintf("blk.%d.", i)
		if m.dim = wide; swa[i] {
			m.dim = dim
		}
		m.norm(p+"attn_norm", false)
		m.mat(p+"attn_q.weight", 1, m.embd, m.heads*m.dim)
		m.vec(p+"attn_q_norm.weight", 0.2, 0.02, m.dim) // attention is not scaled
		if i < m.layers-2 {
			m.mat(p+"attn_k.weight", 1, m.embd, m.kvHeads*m.dim)
			m.norm(p+"attn_k_norm", false, m.dim)
			if swa[i] { // full layers take values from keys
				m.mat(p+"attn_v.weight", 1, m.embd, m.kvHeads*m.dim)
			}
		}
		m.mat(p+"attn_output.weight", 1, m.heads*m.dim, m.embd)
		m.norm(p+"post_attention_norm", false)
		m.norm(p+"ffn_norm", false)
		m.gated(p)
		m.norm(p+"post_ffw_norm", false)
		if experts > 0 {
			m.vec(p+"ffn_gate_inp.scale", 1, 0.1, m.embd)
			m.mat32(p+"ffn_gate_inp.weight", 30, m.embd, experts)
			m.norm(p+"pre_ffw_norm_2", false)
			m.norm(p+"post_ffw_norm_1", false)
			m.norm(p+"post_ffw_norm_2", false)
			m.mat(p+"ffn_gate_up_exps.weight", 1, m.embd, 2*64, experts)
			m.mat(p+"ffn_down_exps.weight", 1, 64, m.embd, experts)
			m.vec(p+"ffn_down_exps.scale", 1, 0.2, experts)
		}
		m.mat(p+"inp_gate.weight", 1, m.embd, perLayer)
		m.mat(p+"proj.weight", 1, perLayer, m.embd)
		m.norm(p+"post_norm", false)
		m.vec(p+"layer_output_scale.weight", 0.8, 0.1, 1)
	}
}

// special says what a model has besides, or instead of, the plain form with layer norms.
type special struct {
	rms, normBias       bool
	qkv                 bool // one matrix for query, key and value
	qkvBias, outBias    bool
	headNorms           bool
	plain, upUp, ffBias bool // no gate; the gate's rows before those of up
	rotated             uint32
}

// sequential is attention and then the feed-forward part, each over a norm.
func (m *model) sequential(s special) {
	epsilon := "attention.layer_norm_epsilon"
	if s.rms {
		epsilon = "attention.layer_norm_rms_epsilon"
	}
	m.basics(epsilon)
	if s.rotated != 0 {
		m.set("rope.dimension_count", s.rotated)
	}
	m.outside(true, s.normBias)
	m.each(func(p string) {
		m.norm(p+"attn_norm", s.normBias)
		if s.qkv {
			m.fused(p, s.qkvBias)
		} else {
			m.attention(p)
			if s.qkvBias {
				m.biases(p)
			}
		}
		if s.outBias {
			m.vec(p+"attn_output.bias", 0, 0.1, m.embd)
		}
		if s.headNorms {
			m.headNorms(p, m.dim)
		}
		m.norm(p+"ffn_norm", s.normBias)
		switch {
		case s.plain:
			m.plain(p)
		case s.upUp:
			m.mat(p+"ffn_up.weight", 1, m.embd, 2*m.ff)
			m.mat(p+"ffn_down.weight", 1, m.ff, m.embd)
		default:
			m.gated(p)
		}
		if s.ffBias {
			m.vec(p+"ffn_up.bias", 0, 0.1, m.ff)
			m.vec(p+"ffn_down.bias", 0, 0.1, m.embd)
		}
	})
}

// fused is attention with one matrix for query, key and value.
func (m *model) fused(p string, bias bool) {
	n := (m.heads + 2*m.kvHeads) * m.dim
	m.mat(p+"attn_qkv.weight", 1, m.embd, n)
	if bias {
		m.vec(p+"attn_qkv.bias", 0, 0.1, n)
	}
	m.mat(p+"attn_output.weight", 1, m.heads*m.dim, m.embd)
}

// llamaLike is the plain form.
func llamaLike(m *model) {
	m.basics("attention.layer_norm_rms_epsilon")
	m.outside(true, false)
	m.each(func(p string) {
		m.norm(p+"attn_norm", false)
		m.attention(p)
		m.norm(p+"ffn_norm", false)
		m.gated(p)
	})
}

// basics are the keys that all have. ff is what the file says of the feed-forward width where that is not the width.
func (m *model) basics(epsilon string, ff ...uint32) {
	m.set("block_count", m.layers)
	m.set("context_length", m.context)
	m.set("embedding_length", m.embd)
	if len(ff) == 0 {
		ff = []uint32{m.ff}
	}
	if m.perLayerFF != nil {
		m.set("feed_forward_length", m.perLayerFF)
	} else {
		m.set("feed_forward_length", ff[0])
	}
	m.set("attention.head_count", m.heads)
	if m.perLayerKV != nil {
		m.set("attention.head_count_kv", m.perLayerKV)
	} else {
		m.set("attention.head_count_kv", m.kvHeads)
	}
	m.set("attention.key_length", m.dim)
	if m.valDim == 0 {
		m.valDim = m.dim
	}
	m.set("attention.value_length", m.valDim)
	m.set("vocab_size", m.vocab)
	m.set(epsilon, 1e-5)
	tokens := make([]string, m.vocab)
	for i := range tokens {
		tokens[i] = fmt.Sprintf("tok_%d", i)
	}
	m.set(".tokenizer.ggml.model", "test")
	m.set(".tokenizer.ggml.tokens", tokens)
	m.set(".tokenizer.ggml.token_type", func() []int32 {
		t := make([]int32, m.vocab)
		for i := range t {
			t[i] = 1
		}
		return t
	}())
	m.set(".tokenizer.ggml.scores", make([]float32, m.vocab))
	m.set(".tokenizer.ggml.merges", []string{})
}

// outside are the tensors outside layers.
func (m *model) outside(untied, bias bool) {
	m.add("token_embd.weight", typeF16, 0, 0.3, []uint32{m.embd, m.vocab})
	m.norm("output_norm", bias)
	if untied {
		m.mat("output.weight", 3, m.embd, m.vocab)
	}
}

func (m *model) each(f func(prefix string)) {
	for i := range m.layers {
		f(fmt.Sprintf("blk.%d.", i))
	}
}

// norm is a norm's weight and, if asked for, its bias; of the embedding's width unless another is given.
func (m *model) norm(name string, bias bool, width ...uint32) {
	n := m.embd
	if len(width) > 0 {
		n = width[0]
	}
	m.vec(name+".weight", 1, 0.1, n)
	if bias {
		m.vec(name+".bias", 0, 0.1, n)
	}
}

func (m *model) headNorms(p string, n uint32) {
	m.norm(p+"attn_q_norm", false, n)
	m.norm(p+"attn_k_norm", false, n)
}

func (m *model) attention(p string) {
	m.mat(p+"attn_q.weight", 1, m.embd, m.heads*m.dim)
	m.mat(p+"attn_k.weight", 1, m.embd, m.kvHeads*m.dim)
	m.mat(p+"attn_v.weight", 1, m.embd, m.kvHeads*m.dim)
	m.mat(p+"attn_output.weight", 1, m.heads*m.dim, m.embd)
}

// biases are those of query, key and value.
func (m *model) biases(p string) {
	m.vec(p+"attn_q.bias", 0, 0.1, m.heads*m.dim)
	m.vec(p+"attn_k.bias", 0, 0.1, m.kvHeads*m.dim)
	m.vec(p+"attn_v.bias", 0, 0.1, m.kvHeads*m.dim)
}

func (m *model) gated(p string) {
	m.mat(p+"ffn_gate.weight", 1, m.embd, m.ff)
	m.mat(p+"ffn_up.weight", 1, m.embd, m.ff)
	m.mat(p+"ffn_down.weight", 1, m.ff, m.embd)
}

func (m *model) plain(p string) {
	m.mat(p+"ffn_up.weight", 1, m.embd, m.ff)
	m.mat(p+"ffn_down.weight", 1, m.ff, m.embd)
}

// gemma3n has sizes that its files do not give: four streams, 20 layers with keys and values of their own, 256 numbers per layer.
func gemma3n(m *model) {
	m.layers, m.embd, m.heads, m.kvHeads, m.dim, m.ff = 25, 64, 2, 1, 32, 96
	m.basics("attention.layer_norm_rms_epsilon")
	m.set("attention.sliding_window", 16)
	m.set("rope.freq_base", 1e6)
	m.outside(false, false)
	m.mat("altup_proj.weight", 1, m.embd, m.embd, 3)
	m.mat("altup_unembd_proj.weight", 1, m.embd, m.embd, 3)
	m.mat("per_layer_token_embd.weight", 1, 256*m.layers, m.vocab)
	m.mat("per_layer_model_proj.weight", 1, m.embd, 256*m.layers)
	m.norm("per_layer_proj_norm", false, 256)
	m.each(func(p string) {
		// Small steps: errors do not grow through so many layers.
		small := func(name string) { m.vec(p+name+".weight", 0.2, 0.03, m.embd) }
		m.norm(p+"attn_norm", false)
		m.attention(p)
		m.vec(p+"attn_q_norm.weight", 0.2, 0.02, m.dim) // attention is not scaled
		m.norm(p+"attn_k_norm", false, m.dim)
		small("post_attention_norm")
		m.norm(p+"ffn_norm", false)
		m.gated(p)
		small("post_ffw_norm")
		m.mat(p+"inp_gate.weight", 1, m.embd, 256)
		m.mat(p+"proj.weight", 1, 256, m.embd)
		small("post_norm")
		m.mat32(p+"altup_correct_coef.weight", 0.2, 4, 4)
		m.vec(p+"altup_correct_scale.weight", 1, 0.1, m.embd)
		m.mat32(p+"altup_predict_coef.weight", 0.2, 4, 16)
		m.mat32(p+"altup_router.weight", 30, m.embd, 4)
		m.norm(p+"altup_router_norm", false)
		m.mat(p+"laurel_l.weight", 1, m.embd, 64)
		m.mat(p+"laurel_r.weight", 1, 64, m.embd)
		small("laurel_post_norm")
	})
}

// bert is bert or, gated and with rotations, nomic-bert.
func bert(m *model) {
	m.kvHeads = m.heads
	m.basics("attention.layer_norm_epsilon")
	m.set("attention.causal", false)
	m.set(".tokenizer.ggml.token_type_count", 2)
	m.set("pooling_type", map[string]int{"bert": 2, "nomic-bert": 1, "nomic-bert-moe": 1, "jina-bert-v3": 1}[m.arch])
	const experts = 4
	if m.arch == "nomic-bert-moe" {
		m.set("moe_every_n_layers", 2)
		m.set("expert_count", experts)
		m.set("expert_used_count", 2)
	}
	m.add("token_embd.weight", typeF16, 0, 0.3, []uint32{m.embd, m.vocab})
	m.norm("token_embd_norm", true)
	m.vec("token_types.weight", 0, 0.2, m.embd, 2)
	if m.arch == "bert" {
		m.mat32("position_embd.weight", 3, m.embd, m.context)
	}
	layer := 0
	m.each(func(p string) {
		layer++
		if m.arch == "bert" {
			m.attention(p)
			m.biases(p)
		} else {
			m.fused(p, m.arch != "nomic-bert")
		}
		if m.arch != "nomic-bert" {
			m.vec(p+"attn_output.bias", 0, 0.1, m.embd)
		}
		m.norm(p+"attn_output_norm", true)
		if m.arch == "nomic-bert-moe" && layer%2 == 0 {
			m.mat32(p+"ffn_gate_inp.weight", 3, m.embd, experts)
			m.mat(p+"ffn_up_exps.weight", 1, m.embd, m.ff, experts)
			m.mat(p+"ffn_down_exps.weight", 1, m.ff, m.embd, experts)
		} else if m.arch != "nomic-bert" {
			m.plain(p)
			m.vec(p+"ffn_up.bias", 0, 0.1, m.ff)
			m.vec(p+"ffn_down.bias", 0, 0.1, m.embd)
		} else {
			m.gated(p)
		}
		m.norm(p+"layer_output_norm", true)
	})
}

// encoder2 is eurobert or, with fused matrices, neo-bert.
func encoder2(m *model, neo bool) {
	m.basics("attention.layer_norm_rms_epsilon")
	m.set("attention.causal", false)
	m.set("pooling_type", 1)
	m.add("token_embd.weight", typeF16, 0, 0.3, []uint32{m.embd, m.vocab})
	m.norm(map[bool]string{false: "output_norm", true: "enc.output_norm"}[neo], false)
	m.each(func(p string) {
		m.norm(p+"attn_norm", false)
		if neo {
			m.fused(p, false)
		} else {
			m.attention(p)
		}
		m.norm(p+"ffn_norm", false)
		if neo {
			m.mat(p+"ffn_up.weight", 1, m.embd, 2*m.ff)
			m.mat(p+"ffn_down.weight", 1, m.ff, m.embd)
		} else {
			m.gated(p)
		}
	})
}
