package main

import "maps"

func init() { maps.Copy(recipes, newer) }

// newer are recipes of models whose layers remember linearly, with decays that are fixed or bounded, or whose experts come in two sets; of one that keeps silent about images; and of families
// that files at hand cover, for tests of what sessions keep.
var newer = map[string]func(m *model){
	"grovemoe": func(m *model) { // pairs of the eight experts share one of four more
		m.set("experts_per_group", 2)
		m.set("expert_chunk_feed_forward_length", 64)
		m.set("expert_group_scale", 0.4)
		m.mixture(moe{})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.headNorms(p, m.dim)
			m.norm(p+"ffn_norm", false)
			m.second(p, i)
			m.mat(p+"ffn_gate_chexps.weight", 1, m.embd, 64, m.experts/2)
			m.mat(p+"ffn_up_chexps.weight", 1, m.embd, 64, m.experts/2)
			m.mat(p+"ffn_down_chexps.weight", 1, 64, m.embd, m.experts/2)
		})
	},
	"minimax-01": func(m *model) { // the fourth layer attends
		m.set("full_attention_interval", 4)
		lightning(m, func(i uint32) bool { return i == 3 })
	},
	"minimax-01+list": func(m *model) { // so do the first and the third
		m.set("attention.recurrent_layers", []bool{false, true, false, true})
		lightning(m, func(i uint32) bool { return i%2 == 0 })
	},
	"bailingmoe3": func(m *model) { bailingmoe3(m) },
	"bailingmoe3+sections": func(m *model) {
		m.set("rope.dimension_sections", []int32{3, 2, 1, 2})
		bailingmoe3(m)
	},
	"kimi-k3": func(m *model) {
		m.layers = 5
		m.set("kda.gate_lower_bound", -5.0)
		m.set("expert_latent_length", 64)
		m.latent(32, 64, 32, 16, 48, 32, true)
		kimiK3(m, 2, 3, 64)
	},
	"kimi-k3+plain": func(m *model) { // without bound, bank, narrow experts, gate and cap of up
		m.latent(0, 64, 32, 16, 48, 32, true)
		kimiK3(m, 0, 0, 0)
	},
	"gemma3": func(m *model) {
		m.layers = 6 // the sixth has no window
		m.set("attention.sliding_window", 16)
		m.set("rope.freq_base", 1e6)
		m.basics("attention.layer_norm_rms_epsilon")
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
	"lfm2": func(m *model) {
		m.perLayerKV = []uint32{0, 2, 0, 2}
		m.set("shortconv.l_cache", 3)
		m.basics("attention.layer_norm_rms_epsilon")
		m.add("token_embd.weight", typeF16, 0, 0.3, []uint32{m.embd, m.vocab})
		m.norm("token_embd_norm", false)
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.shortConvOrAttention(i, p)
			m.norm(p+"ffn_norm", false)
			m.gated(p)
		})
	},
	"qwen35": func(m *model) { // heads of values take heads of keys in turn
		m.set("rope.dimension_count", 16)
		m.set("rope.dimension_sections", []int32{3, 3, 2, 0})
		m.ssm(128, 32, 4, 2)
		m.set("full_attention_interval", 4)
		m.basics("attention.layer_norm_rms_epsilon")
		m.outside(true, false)
		m.deltaLayers(func(_ uint32, p string) { m.gated(p) })
	},
	"llama+none": func(m *model) { // a factor of a scaling that is switched off
		llamaLike(m)
		m.set("rope.scaling.type", "none")
		m.set("rope.scaling.factor", 4.0)
	},
	"chameleon": func(m *model) { // logits 4 … 8195 are those of images
		m.vocab = 8196 + 60
		llamaLike(m)
		m.each(func(p string) {
			m.vec(p+"attn_q_norm.weight", 1, 0.1, m.dim, m.heads)
			m.vec(p+"attn_k_norm.weight", 1, 0.1, m.dim, m.kvHeads)
			m.vec(p+"attn_q_norm.bias", 0, 0.1, m.dim, m.heads)
			m.vec(p+"attn_k_norm.bias", 0, 0.1, m.dim, m.kvHeads)
		})
	},
}

// lightning is MiniMax's: layers attend or remember with a decay for each head.
func lightning(m *model, attends func(i uint32) bool) {
	m.set("rope.dimension_count", m.dim/2)
	m.set("residual_scale", 1.6)
	m.mixture(moe{width: m.ff})
	m.each2(func(i uint32, p string) {
		m.norm(p+"attn_norm", false)
		if n := m.heads * m.dim; attends(i) {
			m.attention(p)
		} else {
			m.mat(p+"attn_qkv.weight", 1, m.embd, 3*n)
			m.mat(p+"attn_gate.weight", 1, m.embd, n)
			m.norm(p+"attn_norm_2", false, n)
			m.mat(p+"attn_output.weight", 1, n, m.embd)
		}
		m.norm(p+"ffn_norm", false)
		m.second(p, i)
	})
}

// boundedDelta are the tensors of a delta rule, with others for decays and gate; a is what the rates, in that shape, are around.
func (m *model) boundedDelta(p string, a float64, shape []uint32, others func(n uint32)) {
	n := m.heads * 32
	for _, s := range []string{"q", "k", "v"} {
		m.mat(p+"attn_"+s+".weight", 1, m.embd, n)
		m.vec(p+"ssm_conv1d_"+s+".weight", 0, 0.5, 4, 1, n)
	}
	others(n)
	m.mat(p+"ssm_beta.weight", 1, m.embd, m.heads)
	m.vec(p+"ssm_a", a, 0.3, shape...)
	m.vec(p+"ssm_dt.bias", -1, 0.5, n)
	m.norm(p+"ssm_norm", false, 32)
	m.mat(p+"attn_output.weight", 1, n, m.embd)
}

// bailingmoe3 has limits in its third layer for experts, in its fourth for the shared one.
func bailingmoe3(m *model) {
	m.perLayerKV = []uint32{0, 1, 0, 1}
	m.set("kda.head_dim", 32)
	m.set("kda.gate_lower_bound", -5.0)
	m.set("ssm.conv_kernel", 4)
	m.set("swiglu_clamp_exp", []float32{0, 0, 0.5, 0})
	m.set("swiglu_clamp_shexp", []float32{0, 0, 0, 0.4})
	m.latent(32, 64, 32, 16, 48, 32, true)
	m.mixture(moe{leading: 1, shared: 1, gating: 2, bias: true, renormalise: true, scale: 2.5})
	m.each2(func(i uint32, p string) {
		m.norm(p+"attn_norm", false)
		if m.perLayerKV[i] == 0 {
			m.boundedDelta(p, 1, []uint32{1, m.heads}, func(n uint32) {
				m.mat(p+"ssm_f_a.weight", 1, m.embd, n)
				m.mat(p+"ssm_g_a.weight", 1, m.embd, n)
			})
		} else {
			m.latentTensors(p, true)
			m.mat(p+"attn_gate.weight", 1, m.embd, m.heads)
		}
		m.norm(p+"ffn_norm", false)
		m.second(p, i)
	})
}

// kimiK3 banks the stream every so many layers, if any, caps the experts' second factor, and has them in a narrower space, if a width is given, and latent attention with a gate then.
func kimiK3(m *model, block int, upCap float64, narrow uint32) {
	m.perLayerKV = []uint32{0, 1, 0, 0, 1}[:m.layers]
	m.set("kda.head_dim", 32)
	m.set("ssm.conv_kernel", 4)
	m.set("attn_res.block_size", block)
	m.set("activation.situ_beta", 1.5)
	m.set("activation.situ_linear_beta", upCap)
	m.mixture(moe{leading: 1, shared: 1, gating: 2, bias: true, renormalise: true, scale: 2.5})
	if block > 0 {
		m.vec("output_res_score.weight", 0, 0.1, m.embd)
	}
	m.each2(func(i uint32, p string) {
		m.norm(p+"attn_norm", false)
		if m.perLayerKV[i] == 0 {
			m.boundedDelta(p, -1, []uint32{m.heads}, func(n uint32) {
				m.mat(p+"ssm_f_a.weight", 1, m.embd, 32)
				m.mat(p+"ssm_f_b.weight", 1, 32, n)
				m.mat(p+"ssm_g.weight", 1, m.embd, n)
			})
		} else {
			m.latentTensors(p, true)
			if narrow > 0 {
				m.mat(p+"attn_gate.weight", 1, m.embd, m.heads*m.val)
			}
		}
		m.norm(p+"ffn_norm", false)
		if block > 0 {
			m.vec(p+"attn_res_score.weight", 0, 0.1, m.embd)
			m.vec(p+"ffn_res_score.weight", 0, 0.1, m.embd)
		}
		if i == 0 || narrow == 0 {
			m.second(p, i)
			return
		}
		m.mat(p+"ffn_routed_down.weight", 1, m.embd, narrow)
		m.mat(p+"ffn_routed_up.weight", 1, narrow, m.embd)
		m.norm(p+"ffn_routed_norm", false, narrow)
		m.mat32(p+"ffn_gate_inp.weight", 3, m.embd, m.experts)
		m.vec(p+"exp_probs_b.bias", 0, 0.3, m.experts)
		m.mat(p+"ffn_gate_exps.weight", 1, narrow, m.width, m.experts)
		m.mat(p+"ffn_up_exps.weight", 1, narrow, m.width, m.experts)
		m.mat(p+"ffn_down_exps.weight", 1, m.width, narrow, m.experts)
		m.shared(p, m.width)
	})
}
