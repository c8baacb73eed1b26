package main

import "maps"

func init() { maps.Copy(recipes, linear) }

// linear are recipes of models whose memory is a matrix that decays.
var linear = map[string]func(m *model){
	"rwkv6": func(m *model) {
		n := m.embd
		m.set("token_shift_count", 2)
		m.set("rescale_every_n_layers", 2)
		m.rwkv6("attention.layer_norm_epsilon")
		m.outside(true, true)
		m.norm("token_embd_norm", true)
		m.each(func(p string) {
			m.norm(p+"attn_norm", true)
			m.norm(p+"attn_norm_2", true)
			m.rwkv6Mix(p, n)
			for _, s := range []string{"w", "k", "v", "r", "g"} {
				m.vec(p+"time_mix_lerp_"+s+".weight", 0.5, 0.2, n, 1, 1)
			}
			m.vec(p+"time_mix_first.weight", 0.5, 0.3, 64, n/64)
			m.norm(p+"time_mix_ln", true)
			m.vec(p+"channel_mix_lerp_k.weight", 0.5, 0.2, n, 1, 1)
			m.vec(p+"channel_mix_lerp_r.weight", 0.5, 0.2, n, 1, 1)
			m.mat(p+"channel_mix_key.weight", 1, n, m.ff)
			m.mat(p+"channel_mix_value.weight", 1, m.ff, n)
			m.mat(p+"channel_mix_receptance.weight", 1, n, n)
		})
	},
	"rwkv6qwen2": func(m *model) { // two heads share a head of keys and values
		n := m.embd
		m.set("token_shift_count", 1)
		m.heads, m.kvHeads = 2, 1
		m.rwkv6("attention.layer_norm_rms_epsilon")
		m.outside(true, false)
		m.each(func(p string) {
			m.norm(p+"attn_norm", false)
			m.rwkv6Mix(p, 64)
			m.vec(p+"time_mix_lerp_fused.weight", 0.5, 0.2, n, 1, 1, 5)
			m.vec(p+"time_mix_key.bias", 0, 0.2, 64)
			m.vec(p+"time_mix_value.bias", 0, 0.2, 64)
			m.vec(p+"time_mix_receptance.bias", 0, 0.2, n)
			m.norm(p+"ffn_norm", false)
			m.gated(p)
		})
	},
	"arwkv7": func(m *model) { // without gate and norm of heads
		n := m.embd
		const low = 16
		m.heads, m.kvHeads = 0, 0
		m.basics("attention.layer_norm_rms_epsilon")
		m.set("wkv.head_size", 64)
		m.set("token_shift_count", 1)
		for _, s := range []string{"decay", "iclr", "value_residual_mix"} {
			m.set("attention."+s+"_lora_rank", low)
		}
		m.outside(true, false)
		m.each(func(p string) {
			m.norm(p+"attn_norm", false)
			for _, s := range []string{"w", "a", "v"} {
				m.vec(p+"time_mix_"+s+"0.weight", 0, 0.3, n)
				m.mat(p+"time_mix_"+s+"1.weight", 1, n, low)
				m.mat(p+"time_mix_"+s+"2.weight", 1, low, n)
			}
			m.vec(p+"time_mix_lerp_fused.weight", 0.5, 0.2, n, 1, 1, 5)
			m.vec(p+"time_mix_k_k.weight", 1, 0.2, n)
			m.vec(p+"time_mix_k_a.weight", 1, 0.2, n)
			m.vec(p+"time_mix_r_k.weight", 0, 0.3, n)
			for _, s := range []string{"key", "value", "receptance", "output"} {
				m.mat(p+"time_mix_"+s+".weight", 1, n, n)
			}
			m.norm(p+"ffn_norm", false)
			m.gated(p)
		})
	},
}

func (m *model) rwkv6(epsilon string) {
	if m.arch == "rwkv6" {
		m.heads, m.kvHeads = 0, 0
	}
	m.basics(epsilon)
	m.set("wkv.head_size", 64) // as all models have it
	m.set("time_mix_extra_dim", 32)
	m.set("time_decay_extra_dim", 16)
}

// rwkv6Mix are the tensors that both forms of RWKV 6 have, with kv rows of keys and values.
func (m *model) rwkv6Mix(p string, kv uint32) {
	n := m.embd
	m.vec(p+"time_mix_lerp_x.weight", 0.5, 0.2, n, 1, 1)
	m.mat(p+"time_mix_w1.weight", 1, n, 5*32)
	m.mat(p+"time_mix_w2.weight", 1, 32, n, 5)
	m.vec(p+"time_mix_decay.weight", -1, 0.5, n)
	m.mat(p+"time_mix_decay_w1.weight", 1, n, 16)
	m.mat(p+"time_mix_decay_w2.weight", 1, 16, n)
	m.mat(p+"time_mix_key.weight", 1, n, kv)
	m.mat(p+"time_mix_value.weight", 1, n, kv)
	for _, s := range []string{"receptance", "gate", "output"} {
		m.mat(p+"time_mix_"+s+".weight", 1, n, n)
	}
}
