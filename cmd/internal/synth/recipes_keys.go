package main

import "maps"

func init() { maps.Copy(recipes, keyed) }

// keyed are recipes of files with keys and tensors that few files of their families have.
var keyed = map[string]func(m *model){
	"llama+seeing": func(m *model) { // tokens see later ones
		m.set("pooling_type", 1)
		m.set("attention.causal", false)
		llamaLike(m)
	},
	"llama4+windows": func(m *model) { // the layers with a window, here in an order of their own, have another base
		m.set("rope.freq_base_swa", 5e3)
		m.set("attention.sliding_window_pattern", []bool{true, false, true, false})
		recipeOf("llama4")(m)
	},
	"smallthinker+near": func(m *model) {
		m.set("rope.freq_base_swa", 5e3)
		m.set("attention.sliding_window", 4096)
		m.set("attention.sliding_window_pattern", []bool{false, false, true, true})
		recipeOf("smallthinker")(m)
	},
	"glm-dsa+chosen": func(m *model) { // an indexer that chooses 40 positions, all as long as there are no more
		m.set("attention.indexer.top_k", 40)
		recipeOf("deepseek2")(m)
		m.each(func(p string) { m.norm(p+"indexer.k_norm", true, 32) })
	},
	"grok+factor": func(m *model) {
		m.set("rope.scaling.yarn_attn_factor", 1.1)
		recipeOf("grok")(m)
	},
	"gemma-embedding+dense": func(m *model) { // matrices behind the mean of tokens
		recipeOf("gemma-embedding")(m)
		m.set("dense_2_feat_in", m.embd)
		m.set("dense_2_feat_out", 3*m.embd)
		m.set("dense_3_feat_in", 3*m.embd)
		m.set("dense_3_feat_out", m.embd)
		m.mat("dense_2.weight", 1, m.embd, 3*m.embd)
		m.mat("dense_3.weight", 1, 3*m.embd, m.embd)
	},
	"lfm2moe+colbert": func(m *model) { // an embedding of another width for each token
		recipeOf("lfm2moe")(m)
		m.set("embedding_length_out", 48)
		m.mat("dense_2.weight", 1, m.embd, 48)
		m.vec("dense_2.bias", 0, 0.1, 48)
	},
}

// recipeOf is a recipe by name, looked up when it is used.
func recipeOf(name string) func(m *model) { return func(m *model) { recipes[name](m) } }
