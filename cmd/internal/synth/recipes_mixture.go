package main

import (
	"fmt"
	"maps"
)

func init() { maps.Copy(recipes, mixtures) }

// mixtures are the recipes of models with experts or with recurrent layers.
var mixtures = map[string]func(m *model){
	"deepseek": func(m *model) {
		m.kvHeads = m.heads
		m.mixture(moe{leading: 1, shared: 2})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.norm(p+"ffn_norm", false)
			m.second(p, i)
		})
	},
	"dots1": func(m *model) {
		m.kvHeads = m.heads
		m.mixture(moe{leading: 1, shared: 1, gating: 2, bias: true, renormalise: true, scale: 1.5})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.headNorms(p, m.dim)
			m.norm(p+"ffn_norm", false)
			m.second(p, i)
		})
	},
	"bailingmoe2": func(m *model) {
		m.set("nextn_predict_layers", 1)
		m.mixture(moe{leading: 1, shared: 1, gating: 2, bias: true, renormalise: true, scale: 2.5, groups: 4, topGroups: 2})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.fused(p, false)
			m.headNorms(p, m.dim)
			m.norm(p+"ffn_norm", false)
			m.second(p, i)
		})
		p := fmt.Sprintf("blk.%d.", m.layers-1)
		m.mat(p+"nextn.eh_proj.weight", 1, 2*m.embd, m.embd)
		m.norm(p+"nextn.enorm", false)
		m.norm(p+"nextn.hnorm", false)
		m.norm(p+"layer_output_norm", false)
	},
	"minimax-m2": func(m *model) {
		m.set("rope.dimension_count", m.dim/2)
		m.mixture(moe{gating: 2, bias: true, width: m.ff})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.attention(p)
			m.norm(p+"attn_q_norm", false, m.heads*m.dim)
			m.norm(p+"attn_k_norm", false, m.kvHeads*m.dim)
			m.norm(p+"ffn_norm", false)
			m.second(p, i)
		})
	},
	"phimoe": func(m *model) {
		m.mixture(moe{width: m.ff, normBias: true})
		m.vec("output.bias", 0, 0.1, m.vocab)
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", true)
			m.attention(p)
			m.biases(p)
			m.vec(p+"attn_output.bias", 0, 0.1, m.embd)
			m.norm(p+"ffn_norm", true)
			m.second(p, i)
		})
	},
	"lfm2moe": func(m *model) {
		m.set("shortconv.l_cache", 3)
		m.perLayerKV = []uint32{0, 2, 0, 2}
		m.mixture(moe{leading: 1, gating: 2, bias: true, outNorm: "token_embd_norm"})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			m.shortConvOrAttention(i, p)
			m.norm(p+"ffn_norm", false)
			m.second(p, i)
		})
	},
	"jamba": func(m *model) {
		m.perLayerKV = []uint32{0, 2, 0, 2}
		m.ssm(2*m.embd, 16, 8, 0)
		m.mixture(moe{leading: 1, width: m.ff})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			if m.perLayerKV[i] == 0 {
				m.mamba1(p, true)
			} else {
				m.attention(p)
			}
			m.norm(p+"ffn_norm", false)
			m.second(p, i)
		})
	},
	"mamba+normed": func(m *model) { // Falcon Mamba
		m.heads, m.kvHeads = 0, 0
		m.ssm(2*m.embd, 16, 8, 0)
		m.set("ssm.dt_b_c_rms", true)
		m.basics("attention.layer_norm_rms_epsilon", 0)
		m.outside(false, false)
		m.each(func(p string) {
			m.norm(p+"attn_norm", false)
			m.mamba1(p, false)
		})
	},
	"mamba2": func(m *model) {
		m.heads, m.kvHeads = 0, 0
		m.ssm(2*m.embd, 32, 8, 2)
		m.basics("attention.layer_norm_rms_epsilon", 0)
		m.outside(false, false)
		m.each(func(p string) {
			m.norm(p+"attn_norm", false)
			m.mamba2(p)
		})
	},
	"granitehybrid": func(m *model) {
		m.perLayerKV = []uint32{0, 2, 0, 0}
		m.ssm(2*m.embd, 32, 8, 2)
		m.set("embedding_scale", 2.0)
		m.set("residual_scale", 0.7)
		m.set("attention.scale", 0.2)
		m.set("logit_scale", 2.0)
		m.set("expert_shared_feed_forward_length", m.ff)
		m.mixture(moe{width: m.ff})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			if m.perLayerKV[i] == 0 {
				m.mamba2(p)
			} else {
				m.attention(p)
			}
			m.norm(p+"ffn_norm", false)
			m.second(p, i)
			m.shared(p, m.ff)
		})
	},
	"nemotron_h_moe": func(m *model) {
		m.set("attention.layer_norm_epsilon", 1e-5)
		// A mixer, attention, a plain part, experts in a narrower space.
		m.layers = 5
		m.perLayerKV = []uint32{0, 2, 0, 0, 0}
		m.perLayerFF = []uint32{0, 0, m.ff, m.ff, 0}
		m.ssm(2*m.embd, 32, 8, 2)
		m.set("moe_latent_size", 64)
		m.set("expert_shared_feed_forward_length", m.ff)
		m.mixture(moe{gating: 2, bias: true, renormalise: true, scale: 2.5})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			switch i {
			case 0, 4:
				m.mamba2(p)
			case 1:
				m.attention(p)
			case 2:
				m.plain(p)
			default:
				m.mat32(p+"ffn_gate_inp.weight", 3, m.embd, m.experts)
				m.vec(p+"exp_probs_b.bias", 0, 0.3, m.experts)
				m.mat(p+"ffn_latent_down.weight", 1, m.embd, 64)
				m.mat(p+"ffn_latent_up.weight", 1, 64, m.embd)
				m.mat(p+"ffn_up_exps.weight", 1, 64, m.width, m.experts)
				m.mat(p+"ffn_down_exps.weight", 1, m.width, 64, m.experts)
				m.mat(p+"ffn_up_shexp.weight", 1, m.embd, m.ff)
				m.mat(p+"ffn_down_shexp.weight", 1, m.ff, m.embd)
			}
		})
	},
	"deepseek2": func(m *model) {
		m.latent(32, 64, 32, 16, 48, 32, true)
		m.mixture(moe{leading: 1, shared: 1, gating: 2, bias: true, renormalise: true, scale: 2.5, groups: 4, topGroups: 2})
		m.latentLayers(true)
	},
	"deepseek2+lite": func(m *model) { // 27 layers tell it; keys and values in one matrix, queries not compressed, YaRN
		m.layers = 27
		m.latent(0, 64, 48, 16, 0, 0, false)
		m.set("rope.scaling.type", "yarn")
		m.set("rope.scaling.factor", 4.0)
		m.set("rope.scaling.original_context_length", 64)
		m.set("rope.scaling.yarn_log_multiplier", 0.0707)
		m.mixture(moe{leading: 1, shared: 2})
		m.latentLayers(false)
	},
	"kimi-linear": func(m *model) {
		m.perLayerKV = []uint32{0, 1, 0, 0}
		m.set("kda.head_dim", 32)
		m.set("ssm.conv_kernel", 4)
		m.latent(0, 64, 32, 16, 48, 32, true)
		m.mixture(moe{leading: 1, shared: 1, gating: 2, bias: true, scale: 2.5})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			if m.perLayerKV[i] == 0 {
				n := 4 * uint32(32)
				for _, s := range []string{"q", "k", "v"} {
					m.mat(p+"attn_"+s+".weight", 1, m.embd, n)
					m.vec(p+"ssm_conv1d_"+s+".weight", 0, 0.5, 4, 1, n)
				}
				m.mat(p+"ssm_f_a.weight", 1, m.embd, 32)
				m.mat(p+"ssm_f_b.weight", 1, 32, n)
				m.mat(p+"ssm_g_a.weight", 1, m.embd, 32)
				m.mat(p+"ssm_g_b.weight", 1, 32, n)
				m.mat(p+"ssm_beta.weight", 1, m.embd, 4)
				m.vec(p+"ssm_a", -1, 0.3, 1, 4)
				m.vec(p+"ssm_dt.bias", -1, 0.5, n)
				m.norm(p+"ssm_norm", false, 32)
				m.mat(p+"attn_output.weight", 1, n, m.embd)
			} else {
				m.latentTensors(p, true)
			}
			m.norm(p+"ffn_norm", false)
			m.second(p, i)
		})
	},
	"qwen3next+old": func(m *model) { // one matrix for queries, keys, values and gates, head of keys by head of keys
		m.ssm(128, 32, 4, 2)
		m.set("full_attention_interval", 4)
		m.set("rope.dimension_count", m.dim/2)
		m.set("expert_shared_feed_forward_length", m.ff)
		m.mixture(moe{})
		m.each2(func(i uint32, p string) {
			m.norm(p+"attn_norm", false)
			if i%4 == 3 {
				m.mat(p+"attn_q.weight", 1, m.embd, 2*m.heads*m.dim)
				m.mat(p+"attn_k.weight", 1, m.embd, m.kvHeads*m.dim)
				m.mat(p+"attn_v.weight", 1, m.embd, m.kvHeads*m.dim)
				m.mat(p+"attn_output.weight", 1, m.heads*m.dim, m.embd)
				m.headNorms(p, m.dim)
			} else {
				m.mat(p+"ssm_in.weight", 1, m.embd, 2*64+2*128)
				m.mat(p+"ssm_ba.weight", 1, m.embd, 8)
				m.vec(p+"ssm_conv1d.weight", 0, 0.5, 4, 2*64+128)
				m.vec(p+"ssm_dt.bias", -1, 0.5, 4)
				m.vec(p+"ssm_a", -1, 0.3, 4)
				m.norm(p+"ssm_norm", false, 32)
				m.mat(p+"ssm_out.weight", 1, 128, m.embd)
			}
			m.norm(p+"post_attention_norm", false)
			m.second(p, i)
			m.shared(p, m.ff)
			m.vec(p+"ffn_gate_inp_shexp.weight", 0, 0.3, m.embd)
		})
	},
}

// moe says what a model's experts are like.
type moe struct {
	leading, shared   uint32 // dense layers at the beginning, shared experts
	gating            uint32 // 2: sigmoid
	bias, renormalise bool
	scale             float64
	groups, topGroups uint32
	width             uint32 // of an expert, 0: half the feed-forward width, with a key of its own
	normBias          bool
	outNorm           string
}

// mixture sets the keys of a model with experts, and what lies outside the layers.
func (m *model) mixture(e moe) { m.mixtureBy("attention.layer_norm_rms_epsilon", e) }

// mixtureBy is mixture with another kind of norm.
func (m *model) mixtureBy(epsilon string, e moe) {
	m.moe, m.experts, m.width = e, 8, m.ff/2
	m.basics(epsilon)
	m.set("expert_count", 8)
	m.set("expert_used_count", 3)
	if e.width != 0 {
		m.width = e.width
	}
	m.set("expert_feed_forward_length", m.width)
	m.set("leading_dense_block_count", e.leading)
	if e.shared > 0 {
		m.set("expert_shared_count", e.shared)
	}
	if e.gating > 0 {
		m.set("expert_gating_func", e.gating)
	}
	if e.renormalise {
		m.set("expert_weights_norm", true)
	}
	if e.scale > 0 {
		m.set("expert_weights_scale", e.scale)
	}
	if e.groups > 0 {
		m.set("expert_group_count", e.groups)
		m.set("expert_group_used_count", e.topGroups)
	}
	if e.outNorm != "" {
		m.add("token_embd.weight", typeF16, 0, 0.3, []uint32{m.embd, m.vocab})
		m.norm(e.outNorm, false)
		m.mat("output.weight", 3, m.embd, m.vocab)
		return
	}
	m.outside(true, e.normBias)
}

func (m *model) each2(f func(i uint32, prefix string)) {
	for i := range m.layers {
		f(i, fmt.Sprintf("blk.%d.", i))
	}
}

// second is the feed-forward part of layer i.
func (m *model) second(p string, i uint32) {
	if i < m.moe.leading {
		m.gated(p)
		return
	}
	m.mat32(p+"ffn_gate_inp.weight", 3, m.embd, m.experts)
	if m.moe.bias {
		m.vec(p+"exp_probs_b.bias", 0, 0.3, m.experts)
	}
	m.mat(p+"ffn_gate_exps.weight", 1, m.embd, m.width, m.experts)
	m.mat(p+"ffn_up_exps.weight", 1, m.embd, m.width, m.experts)
	m.mat(p+"ffn_down_exps.weight", m.step(), m.width, m.embd, m.experts)
	if m.moe.shared > 0 {
		m.shared(p, m.moe.shared*m.width)
	}
}

func (m *model) shared(p string, width uint32) {
	m.mat(p+"ffn_gate_shexp.weight", 1, m.embd, width)
	m.mat(p+"ffn_up_shexp.weight", 1, m.embd, width)
	m.mat(p+"ffn_down_shexp.weight", m.step(), width, m.embd)
}

// ssm sets the sizes of state space layers; no groups: the first form.
func (m *model) ssm(inner, state, rank, groups uint32) {
	m.inner, m.state, m.rank, m.groups = inner, state, rank, groups
	m.set("ssm.inner_size", inner)
	m.set("ssm.state_size", state)
	m.set("ssm.time_step_rank", rank)
	m.set("ssm.conv_kernel", 4)
	if groups > 0 {
		m.set("ssm.group_count", groups)
	}
}

func (m *model) mamba1(p string, normed bool) {
	m.mat(p+"ssm_in.weight", 1, m.embd, 2*m.inner)
	m.vec(p+"ssm_conv1d.weight", 0, 0.5, 4, m.inner)
	m.vec(p+"ssm_conv1d.bias", 0, 0.1, m.inner)
	m.mat(p+"ssm_x.weight", 1, m.inner, m.rank+2*m.state)
	m.mat(p+"ssm_dt.weight", 1, m.rank, m.inner)
	m.vec(p+"ssm_dt.bias", -1, 0.5, m.inner)
	m.vec(p+"ssm_a", -2, 0.5, m.state, m.inner)
	m.vec(p+"ssm_d", 1, 0.1, m.inner)
	m.mat(p+"ssm_out.weight", 1, m.inner, m.embd)
	if normed {
		m.norm(p+"ssm_dt_norm", false, m.rank)
		m.norm(p+"ssm_b_norm", false, m.state)
		m.norm(p+"ssm_c_norm", false, m.state)
	}
}

func (m *model) mamba2(p string) {
	n := m.inner + 2*m.groups*m.state
	m.mat(p+"ssm_in.weight", 1, m.embd, m.inner+n+m.rank)
	m.vec(p+"ssm_conv1d.weight", 0, 0.5, 4, n)
	m.vec(p+"ssm_conv1d.bias", 0, 0.1, n)
	m.vec(p+"ssm_dt.bias", -1, 0.5, m.rank)
	m.vec(p+"ssm_a", -2, 0.5, 1, m.rank)
	m.vec(p+"ssm_d", 1, 0.1, 1, m.rank)
	m.vec(p+"ssm_norm.weight", 1, 0.1, m.inner/m.groups, m.groups)
	m.mat(p+"ssm_out.weight", 1, m.inner, m.embd)
}

// latent sets the sizes of latent attention; key and val are those of the decompressed heads where the file has the halves.
func (m *model) latent(qRank, rank, nope, rope, key, val uint32, halves bool) {
	m.qRank, m.kvRank, m.nope, m.rope = qRank, rank, nope, rope
	if qRank > 0 {
		m.set("attention.q_lora_rank", qRank)
	}
	m.set("attention.kv_lora_rank", rank)
	m.set("rope.dimension_count", rope)
	if halves {
		m.set("attention.key_length_mla", key)
		m.set("attention.value_length_mla", val)
		m.val, m.kvHeads = val, 1
		m.dim, m.valDim = rank+rope, rank
	} else {
		m.val, m.kvHeads = m.dim, m.heads
		m.dim, m.valDim = nope+rope, m.dim
	}
}

func (m *model) latentLayers(halves bool) {
	m.each2(func(i uint32, p string) {
		m.norm(p+"attn_norm", false)
		m.latentTensors(p, halves)
		m.norm(p+"ffn_norm", false)
		m.second(p, i)
	})
}

func (m *model) latentTensors(p string, halves bool) {
	key := m.nope + m.rope
	if m.qRank > 0 {
		m.mat(p+"attn_q_a.weight", 1, m.embd, m.qRank)
		m.norm(p+"attn_q_a_norm", false, m.qRank)
		m.mat(p+"attn_q_b.weight", 1, m.qRank, m.heads*key)
	} else {
		m.mat(p+"attn_q.weight", 1, m.embd, m.heads*key)
	}
	m.mat(p+"attn_kv_a_mqa.weight", 1, m.embd, m.kvRank+m.rope)
	m.norm(p+"attn_kv_a_norm", false, m.kvRank)
	if halves {
		m.mat(p+"attn_k_b.weight", 1, m.nope, m.kvRank, m.heads)
		m.mat(p+"attn_v_b.weight", 1, m.kvRank, m.val, m.heads)
	} else {
		m.mat(p+"attn_kv_b.weight", 1, m.kvRank, m.heads*(m.nope+m.val))
	}
	m.mat(p+"attn_output.weight", m.step(), m.heads*m.val, m.embd)
}

// step is the size of what a layer adds: small where errors would grow through many layers.
func (m *model) step() float64 {
	if m.layers > 8 {
		return 0.2
	}
	return 1
}
