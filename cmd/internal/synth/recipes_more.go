package main

import "maps"

func init() { maps.Copy(recipes, more) }

// more are recipes of models with linear biases, gates of attention, activations of their own or passes over the same layers.
var more = map[string]func(m *model){
	"bloom": func(m *model) {
		m.kvHeads = m.heads
		m.norm("token_embd_norm", true)
		m.sequential(special{qkv: true, qkvBias: true, outBias: true, ffBias: true, normBias: true, plain: true})
	},
	"mpt": func(m *model) {
		m.set("attention.clamp_kqv", 1.5)
		m.set("attention.max_alibi_bias", 6.0)
		m.sequential(special{qkv: true, plain: true})
		m.each(func(p string) {
			m.norm(p+"attn_q_norm", true, m.heads*m.dim)
			m.norm(p+"attn_k_norm", true, m.kvHeads*m.dim)
			m.vec(p+"ffn.act.scales", 1, 0.1, m.ff)
		})
	},
	"jais": func(m *model) { // six heads: no power of two
		m.heads, m.kvHeads = 6, 3
		m.set("attention.max_alibi_bias", 8.0)
		m.sequential(special{qkv: true, qkvBias: true, outBias: true, ffBias: true, normBias: true})
		m.each(func(p string) { m.vec(p+"ffn_gate.bias", 0, 0.1, m.ff) })
	},
	"refact": func(m *model) { m.sequential(special{rms: true}) },
	"baichuan+13B": func(m *model) { // forty layers tell it
		m.layers, m.embd, m.heads, m.kvHeads, m.dim, m.ff = 40, 64, 2, 2, 32, 96
		llamaLike(m)
	},
	"olmo+clamped": func(m *model) {
		m.set("attention.clamp_kqv", 0.5)
		m.basics("attention.layer_norm_epsilon")
		m.add("token_embd.weight", typeF16, 0, 0.3, []uint32{m.embd, m.vocab})
		m.each(func(p string) {
			m.attention(p)
			m.gated(p)
		})
	},
	"nanbeige": func(m *model) {
		m.layers = 2
		m.set("num_loops", 3)
		llamaLike(m)
	},
	"spark2_5": func(m *model) {
		m.set("attention.sliding_window", 16)
		m.set("attention.sliding_window_pattern", []bool{true, false, true, false})
		m.set("rope.freq_base_swa", 5000.0)
		llamaLike(m)
		m.each(func(p string) { m.mat(p+"attn_gate.weight", 1, m.embd, m.heads) })
	},
	"talkie": func(m *model) {
		m.set("logit_scale", 0.5)
		m.basics("attention.layer_norm_rms_epsilon")
		m.add("token_embd.weight", typeF16, 0, 0.3, []uint32{m.embd, m.vocab})
		m.mat("output.weight", 3, m.embd, m.vocab)
		m.each(func(p string) {
			m.attention(p)
			m.vec(p+"attn_q_norm.weight", 1, 0.3, 1, m.heads)
			m.gated(p)
			m.vec(p+"layer_output_scale.weight", 0.3, 0.1, 1)
		})
	},
	"muse-glimmer": func(m *model) {
		m.set("attention.sliding_window", 16)
		m.set("logit_scale", 0.5)
		m.set("final_logit_softcapping", 30.0)
		m.sequential(special{rms: true, headNorms: true})
		m.each(func(p string) {
			m.mat(p+"attn_gate.weight", 1, m.embd, m.heads*m.dim)
			m.norm(p+"post_attention_norm", false)
			m.norm(p+"post_ffw_norm", false)
		})
	},
	"granite_swa": func(m *model) {
		m.set("attention.sliding_window", 16)
		m.set("attention.sliding_window_pattern", []bool{true, false, true, false})
		m.set("attention.rope_pattern", []bool{true, true, false, true})
		m.set("embedding_scale", 2.0)
		m.set("residual_scale", 0.7)
		m.set("logit_scale", 2.0)
		llamaLike(m)
		m.each(func(p string) { m.vec(p+"attn_sinks.weight", 1, 0.5, m.heads) })
	},
	"plamo3": func(m *model) {
		m.set("attention.sliding_window", 16)
		m.set("attention.sliding_window_pattern", 2)
		m.set("rope.freq_base_swa", 5000.0)
		m.sequential(special{rms: true, qkv: true, upUp: true, headNorms: true})
		m.each(func(p string) {
			m.norm(p+"post_attention_norm", false)
			m.norm(p+"post_ffw_norm", false)
		})
	},
	"cogvlm": func(m *model) {
		m.kvHeads = m.heads
		m.sequential(special{rms: true, qkv: true})
		m.each(func(p string) { m.mat(p+"vis_attn_output.weight", 1, m.heads*m.dim, m.embd) })
	},
	"apertus": func(m *model) {
		m.set(".xielu.alpha_n", []float32{0.8, 0.7, 0.9, 1})
		m.set(".xielu.alpha_p", []float32{0.8, 0.6, 0.5, 1})
		m.set(".xielu.beta", []float32{0.5, 0.4, 0.6, 0.5})
		m.set(".xielu.eps", []float32{-1e-6, -1e-6, -1e-6, -1e-6})
		m.sequential(special{rms: true, headNorms: true, plain: true})
	},
	"hrm_text": func(m *model) {
		m.layers = 8 // two stacks of two layers, the low one twice for each of two turns of the high one, would be twelve
		m.set("hrm.layers_per_stack", 2)
		m.set("hrm.h_cycles", 2)
		m.set("hrm.l_cycles", 1)
		m.set("embedding_scale", 2.0)
		m.basics("attention.layer_norm_rms_epsilon")
		m.add("token_embd.weight", typeF16, 0, 0.3, []uint32{m.embd, m.vocab})
		m.vec("hrm.z_l_init", 0, 0.3, m.embd)
		for _, p := range []string{"blk.0.", "blk.1.", "blk.2.", "blk.3."} {
			m.attention(p)
			m.mat(p+"attn_gate.weight", 1, m.embd, m.heads*m.dim)
			m.gated(p)
		}
	},
	"plamo2": func(m *model) {
		m.perLayerKV = []uint32{0, 2, 0, 2}
		m.inner, m.state, m.rank = 128, 16, 4
		m.set("ssm.inner_size", m.inner)
		m.set("ssm.state_size", m.state)
		m.set("ssm.time_step_rank", m.rank)
		m.set("ssm.conv_kernel", 4)
		m.set("ssm.group_count", 0)
		m.basics("attention.layer_norm_rms_epsilon")
		m.outside(false, false)
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			if m.perLayerKV[i] == 0 {
				m.mat(p+"ssm_in.weight", 1, m.embd, 2*m.inner)
				m.mat32(p+"ssm_conv1d.weight", 1, 4, m.inner)
				m.mat(p+"ssm_x.weight", 1, m.inner, 64+2*m.state)
				m.mat(p+"ssm_dt.weight", 1, 64, m.rank)
				m.vec(p+"ssm_dt.bias", 0, 0.3, m.rank)
				m.vec(p+"ssm_a", -1, 0.2, 1, m.rank)
				m.vec(p+"ssm_d", 1, 0.2, 1, m.rank)
				m.mat(p+"ssm_out.weight", 1, m.inner, m.embd)
				m.vec(p+"ssm_dt_norm", 1, 0.1, 64)
				m.vec(p+"ssm_b_norm", 1, 0.1, m.state)
				m.vec(p+"ssm_c_norm", 1, 0.1, m.state)
			} else {
				m.fused(p, false)
				m.vec(p+"attn_q_norm.weight", 1, 0.1, m.dim, m.heads)
				m.vec(p+"attn_k_norm.weight", 1, 0.1, m.dim, m.kvHeads)
			}
			m.vec(p+"post_attention_norm", 1, 0.1, m.embd)
			m.norm(p+"ffn_norm", false)
			m.mat(p+"ffn_up.weight", 1, m.embd, 2*m.ff)
			m.mat(p+"ffn_down.weight", 1, m.ff, m.embd)
			m.vec(p+"post_ffw_norm", 1, 0.1, m.embd)
		})
	},
	"hy_v3": func(m *model) {
		m.headed(moe{leading: 1, gating: 2, bias: true, renormalise: true, scale: 1.5, shared: 1}, nil)
	},
	"laguna": func(m *model) {
		m.set("attention.sliding_window", 16)
		m.set("attention.sliding_window_pattern", 2)
		m.set("rope.freq_base_swa", 5000.0)
		m.set("rope.dimension_count_swa", 16)
		m.headed(moe{leading: 1, gating: 2, bias: true, renormalise: true, scale: 1.5, shared: 1}, func(p string) { m.mat(p+"attn_gate.weight", 1, m.embd, m.heads) })
	},
	"laguna+elements": func(m *model) {
		m.headed(moe{gating: 2, bias: true, shared: 1}, func(p string) { m.mat(p+"attn_gate.weight", 1, m.embd, m.heads*m.dim) })
	},
	"step35": func(m *model) {
		m.set("attention.sliding_window", 16)
		m.set("attention.sliding_window_pattern", []bool{false, true, true, false})
		m.set("rope.freq_base_swa", 5000.0)
		m.set("rope.dimension_count", 32)
		m.set("swiglu_clamp_exp", []float32{0, 0.4, 0, 0.3})
		m.set("swiglu_clamp_shexp", []float32{0, 0.5, 0, 0.2})
		m.set("expert_shared_feed_forward_length", m.ff/2)
		m.headed(moe{leading: 1, gating: 2, bias: true, renormalise: true, scale: 1.5, shared: 1}, func(p string) { m.mat(p+"attn_gate.weight", 1, m.embd, m.heads) })
	},
	"maple": func(m *model) {
		m.set("attention.sliding_window", 16)
		m.set("attention.sliding_window_pattern", []bool{false, true, true, false})
		m.set("rope.freq_base_swa", 5000.0)
		m.set("swiglu_clamp_exp", 0.3)
		m.headed(moe{}, nil)
	},
	"minimax-m3": func(m *model) {
		m.set("rope.dimension_count", 16)
		m.set("attention.indexer.top_k", 64)
		m.set("attention.indexer.block_size", 4)
		m.headed(moe{leading: 1, gating: 2, bias: true, renormalise: true, shared: 1}, func(p string) {
			if p != "blk.0." {
				m.mat(p+"indexer.q_proj.weight", 1, m.embd, 64)
			}
		})
	},
	"nemotron_h_moe+layers": func(m *model) { // layers with their own number and width of experts
		m.set("attention.layer_norm_epsilon", 1e-5)
		m.perLayerKV = []uint32{0, 2, 0, 0}
		m.perLayerFF = []uint32{0, 0, m.ff, m.ff}
		m.ssm(2*m.embd, 32, 8, 2)
		m.set("expert_shared_feed_forward_length", m.ff)
		m.mixture(moe{gating: 2, bias: true, renormalise: true, scale: 2.5})
		m.change("expert_used_count", []int32{0, 0, 3, 2})
		m.change("expert_feed_forward_length", []int32{0, 0, 96, 64})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			switch i {
			case 0:
				m.mamba2(p)
			case 1:
				m.attention(p)
			default:
				width := []uint32{96, 64}[i-2]
				m.mat32(p+"ffn_gate_inp.weight", 3, m.embd, m.experts)
				m.vec(p+"exp_probs_b.bias", 0, 0.3, m.experts)
				m.mat(p+"ffn_up_exps.weight", 1, m.embd, width, m.experts)
				m.mat(p+"ffn_down_exps.weight", 1, width, m.embd, m.experts)
				m.mat(p+"ffn_up_shexp.weight", 1, m.embd, m.ff)
				m.mat(p+"ffn_down_shexp.weight", 1, m.ff, m.embd)
			}
		})
	},
	"mistral4": func(m *model) { mixtures["deepseek2"](m) },
	"deepseek2-ocr": func(m *model) { // the number of rotated elements is a remnant of latent attention
		m.set("rope.dimension_count", 16)
		mixtures["deepseek"](m)
	},
	"deepseek32": indexed,
	"glm-dsa":    indexed,
	"cohere2moe": func(m *model) {
		m.set("attention.sliding_window", 16)
		m.set("attention.sliding_window_pattern", 2)
		m.set("logit_scale", 0.5)
		m.set("attention.layer_norm_rms_epsilon", 0.0)
		m.mixtureBy("attention.layer_norm_epsilon", moe{leading: 1, gating: 2, shared: 1, scale: 1.5})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.second(p, i)
		})
	},
}

// indexed is deepseek2 with an indexer that chooses as many positions as there are.
func indexed(m *model) {
	m.set("attention.indexer.top_k", m.context)
	mixtures["deepseek2"](m)
	m.each(func(p string) { m.norm(p+"indexer.k_norm", true, 32) })
}

// headed is attention with norms of query and key heads, and then experts or, in leading layers, a dense part; others adds tensors to every layer.
func (m *model) headed(e moe, others func(p string)) {
	m.mixture(e)
	m.each2(func(i uint32, p string) {
		m.norm(p+"attn_norm", false)
		m.attention(p)
		m.headNorms(p, m.dim)
		m.norm(p+"ffn_norm", false)
		m.second(p, i)
		if others != nil {
			others(p)
		}
	})
}
