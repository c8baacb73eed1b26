package compiler

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler/internal/gguf"
	"jns/compiler/internal/gguf/gguftest"
)

// model describes a small random model of an architecture.
type model struct {
	arch            string
	layers          int
	heads, kv, head uint64
	embed, ff       uint64
	vocab           uint64
	experts, top    uint64
	tied            bool
	weights         []gguf.Type // of matrices, in turn
	vectors         gguf.Type
}

// small is what the tests begin with.
func small(arch string) model {
	m := model{arch: arch, layers: 2, heads: 4, kv: 2, head: 32, embed: 96, ff: 160, vocab: 37, tied: true, weights: []gguf.Type{gguf.TypeQ8_0}}
	if arch == "qwen3moe" || arch == "granitemoe" {
		m.experts, m.top = 4, 2
	}
	if arch == "gemma3" {
		m.layers = 7
	}
	return m
}

// file makes the model's GGUF.
func (m model) file() gguftest.File {
	f := gguftest.File{}
	key := func(k string, v any) { f.Set(m.arch+"."+k, v) }
	f.Set("general.architecture", m.arch)
	f.Set("general.name", "random "+m.arch)
	key("block_count", uint32(m.layers))
	key("embedding_length", uint32(m.embed))
	key("context_length", uint32(512))
	key("feed_forward_length", uint32(m.ff))
	key("attention.head_count", uint32(m.heads))
	key("attention.head_count_kv", uint32(m.kv))
	key("attention.key_length", uint32(m.head))
	key("attention.value_length", uint32(m.head))
	key("attention.layer_norm_rms_epsilon", float32(1e-5))
	f.Set("tokenizer.ggml.model", "none")
	if m.experts > 0 {
		key("expert_count", uint32(m.experts))
		key("expert_used_count", uint32(m.top))
		key("expert_feed_forward_length", uint32(m.ff))
	}
	switch m.arch {
	case "gemma3":
		key("attention.sliding_window", uint32(16))
		key("rope.scaling.type", "linear")
		key("rope.scaling.factor", float32(8))
		key("final_logit_softcapping", float32(30))
	case "granite", "granitemoe":
		key("logit_scale", float32(8))
		key("residual_scale", float32(0.25))
		key("embedding_scale", float32(12))
		key("attention.scale", float32(0.015625))
	}
	n := 0
	mat := func(name string, dims ...uint64) {
		f.Tensors = append(f.Tensors, gguftest.Tensor{Name: name, Type: m.weights[n%len(m.weights)], Dims: dims, Seed: 1})
		n++
	}
	vec := func(name string, dim uint64) {
		f.Tensors = append(f.Tensors, gguftest.Tensor{Name: name, Type: m.vectors, Dims: []uint64{dim}, Seed: 2})
	}
	mat("token_embd.weight", m.embed, m.vocab)
	for l := range m.layers {
		at := func(s string) string { return fmt.Sprintf("blk.%d.%s", l, s) }
		vec(at("attn_norm.weight"), m.embed)
		mat(at("attn_q.weight"), m.embed, m.heads*m.head)
		mat(at("attn_k.weight"), m.embed, m.kv*m.head)
		mat(at("attn_v.weight"), m.embed, m.kv*m.head)
		mat(at("attn_output.weight"), m.heads*m.head, m.embed)
		if m.arch == "qwen2" {
			vec(at("attn_q.bias"), m.heads*m.head)
			vec(at("attn_k.bias"), m.kv*m.head)
			vec(at("attn_v.bias"), m.kv*m.head)
		}
		if m.arch == "qwen3" || m.arch == "qwen3moe" || m.arch == "gemma3" {
			vec(at("attn_q_norm.weight"), m.head)
			vec(at("attn_k_norm.weight"), m.head)
		}
		if m.arch == "gemma3" {
			vec(at("post_attention_norm.weight"), m.embed)
			vec(at("post_ffw_norm.weight"), m.embed)
		}
		vec(at("ffn_norm.weight"), m.embed)
		if m.experts > 0 {
			f.Tensors = append(f.Tensors, gguftest.Tensor{Name: at("ffn_gate_inp.weight"), Dims: []uint64{m.embed, m.experts}})
			mat(at("ffn_gate_exps.weight"), m.embed, m.ff, m.experts)
			mat(at("ffn_up_exps.weight"), m.embed, m.ff, m.experts)
			mat(at("ffn_down_exps.weight"), m.ff, m.embed, m.experts)
			continue
		}
		mat(at("ffn_gate.weight"), m.embed, m.ff)
		mat(at("ffn_up.weight"), m.embed, m.ff)
		mat(at("ffn_down.weight"), m.ff, m.embed)
	}
	vec("output_norm.weight", m.embed)
	if !m.tied {
		mat("output.weight", m.embed, m.vocab)
	}
	return f
}

// allModels are the architectures in the forms that differ in lowering or placing.
func allModels() map[string]model {
	out := map[string]model{}
	// Those whose tensors small knows; cmd/internal/synth has models of the others.
	for _, a := range []string{"gemma", "gemma3", "granite", "granitemoe", "llama", "qwen2", "qwen3", "qwen3moe", "smollm3"} {
		out[a] = small(a)
	}
	moe := small("llama")
	moe.experts, moe.top, moe.tied = 4, 2, false
	moe.weights = []gguf.Type{gguf.TypeQ4_0, gguf.TypeQ5_1, gguf.TypeQ8_0}
	out["llama-moe"] = moe
	mixed := small("llama")
	mixed.weights, mixed.vectors, mixed.tied = []gguf.Type{gguf.TypeF16, gguf.TypeQ8_0, gguf.TypeBF16, gguf.TypeQ4_1, gguf.TypeF32}, gguf.TypeF16, false
	out["llama-mixed"] = mixed
	k := small("qwen2")
	k.embed, k.ff, k.weights = 256, 512, []gguf.Type{gguf.TypeQ4_K, gguf.TypeQ6_K, gguf.TypeQ5_K}
	k.heads, k.kv, k.head = 4, 2, 64
	out["qwen2-k"] = k
	return out
}

// sharedDir finds the folder of test inputs that are no part of the repository.
func sharedDir(t *testing.T) string {
	t.Helper()
	if d := os.Getenv("JNS_SHARED"); d != "" {
		return d
	}
	for _, d := range []string{"../../shared"} {
		if st, err := os.Stat(d); err == nil && st.IsDir() {
			return d
		}
	}
	t.Skip("the test inputs in ../shared are not at hand (set JNS_SHARED)")
	return ""
}

// tinyModels are the embedded models of the repository.
func tinyModels(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("../testdata/models/*/*.gguf")
	require.NoError(t, err)
	return found
}

func write(t *testing.T, f gguftest.File) string {
	t.Helper()
	return f.Write(t, filepath.Join(t.TempDir(), "model.gguf"))
}
