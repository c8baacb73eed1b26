package main

func init() {
	for name, f := range mixtures2 {
		recipes[name] = f
	}
}

// mixtures2 are more recipes of models with experts or recurrent layers.
var mixtures2 = map[string]func(m *model){
	"hunyuan-moe": func(m *model) {
		m.set("expert_shared_feed_forward_length", m.ff)
		m.mixture(moe{width: m.ff})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.headNorms(p, m.dim)
			m.norm(p+"ffn_norm", false)
			m.second(p, i)
			m.shared(p, m.ff)
		})
	},
	"bailingmoe": func(m *model) {
		m.ff = 160
		m.mixture(moe{shared: 2, renormalise: true})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.norm(p+"ffn_norm", false)
			m.second(p, i)
		})
	},
	"afmoe": func(m *model) {
		m.set("attention.sliding_window", 16)
		m.mixture(moe{leading: 1, shared: 1, gating: 2, bias: true, renormalise: true, scale: 1.5})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.mat(p+"attn_gate.weight", 1, m.embd, m.heads*m.dim)
			m.headNorms(p, m.dim)
			m.norm(p+"post_attention_norm", false)
			m.norm(p+"ffn_norm", false)
			m.second(p, i)
			m.norm(p+"post_ffw_norm", false)
		})
	},
	"exaone-moe": func(m *model) {
		m.set("attention.sliding_window", 16)
		m.mixture(moe{leading: 1, shared: 1, gating: 2, bias: true, renormalise: true, scale: 1.5})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.headNorms(p, m.dim)
			m.norm(p+"ffn_norm", false)
			m.second(p, i)
		})
	},
	"smallthinker": func(m *model) {
		m.mixture(moe{gating: 2})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.norm(p+"ffn_norm", false)
			m.second(p, i)
		})
	},
	"grok": func(m *model) {
		m.set("attention.temperature_length", 16) // which nothing uses
		m.mixture(moe{})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.norm(p+"attn_output_norm", false)
			m.norm(p+"ffn_norm", false)
			m.gated(p)
			m.second(p, i)
			m.norm(p+"layer_output_norm", false)
		})
	},
	"llama4": func(m *model) {
		m.set("interleave_moe_layer_step", 2)
		m.mixture(moe{})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.norm(p+"ffn_norm", false)
			if i%2 == 0 {
				m.gated(p)
			} else {
				m.second(p, i)
				m.shared(p, m.width)
			}
		})
	},
	"rwkv7": func(m *model) {
		m.heads, m.kvHeads = 0, 0
		const low = 16
		n := m.embd
		m.basics("attention.layer_norm_epsilon")
		m.set("wkv.head_size", 64) // as all models have it
		m.set("token_shift_count", 2)
		for _, s := range []string{"decay", "iclr", "value_residual_mix", "gate"} {
			m.set("attention."+s+"_lora_rank", low)
		}
		m.outside(true, true)
		m.norm("token_embd_norm", true)
		m.each(func(p string) {
			m.norm(p+"attn_norm", true)
			m.norm(p+"attn_norm_2", true)
			for _, s := range []string{"w", "a", "v"} {
				m.vec(p+"time_mix_"+s+"0.weight", 0, 0.3, n)
				m.mat(p+"time_mix_"+s+"1.weight", 1, n, low)
				m.mat(p+"time_mix_"+s+"2.weight", 1, low, n)
			}
			m.mat(p+"time_mix_g1.weight", 1, n, low)
			m.mat(p+"time_mix_g2.weight", 1, low, n)
			m.vec(p+"time_mix_lerp_fused.weight", 0.5, 0.2, n, 1, 1, 6)
			m.vec(p+"time_mix_k_k.weight", 1, 0.2, n)
			m.vec(p+"time_mix_k_a.weight", 1, 0.2, n)
			m.vec(p+"time_mix_r_k.weight", 0, 0.3, n)
			for _, s := range []string{"key", "value", "receptance", "output"} {
				m.mat(p+"time_mix_"+s+".weight", 1, n, n)
			}
			m.norm(p+"time_mix_ln", true)
			m.vec(p+"channel_mix_lerp_k.weight", 0.5, 0.2, n, 1, 1)
			m.mat(p+"channel_mix_key.weight", 1, n, m.ff)
			m.mat(p+"channel_mix_value.weight", 1, m.ff, n)
		})
	},
	"qwen3vlmoe": func(m *model) {
		m.set("rope.dimension_sections", []int32{7, 5, 4, 0})
		m.mixture(moe{})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.headNorms(p, m.dim)
			m.norm(p+"ffn_norm", false)
			m.second(p, i)
		})
	},
	"mellum": func(m *model) {
		m.set("attention.sliding_window", 16)
		m.set("rope.scaling.type", "yarn")
		m.set("rope.scaling.factor", 4.0)
		m.set("rope.scaling.original_context_length", 64)
		m.mixture(moe{})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.headNorms(p, m.dim)
			m.norm(p+"ffn_norm", false)
			m.second(p, i)
		})
	},
	"dbrx": func(m *model) {
		m.layers = 3
		m.set("attention.layer_norm_epsilon", 1e-5)
		m.set("attention.clamp_kqv", 1.5)
		m.mixture(moe{width: m.ff})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.fused(p, false)
			m.norm(p+"attn_output_norm", false)
			m.second(p, i)
		})
	},
	"arctic": func(m *model) {
		m.ff = m.embd
		m.mixture(moe{width: m.ff})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.norm(p+"ffn_norm", false)
			m.gated(p)
			m.norm(p+"ffn_norm_exps", false)
			m.second(p, i)
		})
	},
	"mimo2": func(m *model) {
		m.set("attention.sliding_window", 16)
		m.set("attention.sliding_window_pattern", []bool{false, true, true, false})
		m.set("attention.value_scale", 0.7)
		m.set("rope.freq_base_swa", 5000.0)
		m.set("rope.dimension_count", 16)
		m.mixture(moe{leading: 1, gating: 2, bias: true})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			if i == 1 || i == 2 {
				m.vec(p+"attn_sinks.weight", 1, 0.5, m.heads)
			}
			m.norm(p+"ffn_norm", false)
			m.second(p, i)
		})
	},
	"minicpm3": func(m *model) {
		m.latent(32, 64, 48, 16, 0, 0, false)
		m.basics("attention.layer_norm_rms_epsilon")
		m.outside(true, false)
		m.each(func(p string) {
			m.norm(p+"attn_norm", false)
			m.latentTensors(p, false)
			m.norm(p+"ffn_norm", false)
			m.gated(p)
		})
	},
	"plm": func(m *model) {
		m.latent(0, 64, 48, 16, 0, 0, false)
		m.basics("attention.layer_norm_rms_epsilon")
		m.outside(false, false)
		m.each(func(p string) {
			m.norm(p+"attn_norm", false)
			m.latentTensors(p, false)
			m.norm(p+"ffn_norm", false)
			m.plain(p)
		})
	},
}
