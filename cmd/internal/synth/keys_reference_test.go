package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler"
	"jns/runtime/engine"
)

func init() {
	encoders["llama+seeing"] = encoder{all: true, pool: mean}
	dense := encoders["gemma-embedding"]
	dense.dense = []string{"dense_2", "dense_3"}
	encoders["gemma-embedding+dense"] = dense

	forms["llama4+windows"] = form{whole: as("llama4", func(r *reference) {
		r.freqs = func(_ *model, l int) ([]float64, float64) {
			switch l {
			case 3:
				return nil, 1
			case 1:
				return plainFreqs(32, 1e4), 1
			}
			return plainFreqs(32, 5e3), 1
		}
	})}
	forms["smallthinker+near"] = form{whole: as("smallthinker", func(r *reference) {
		r.freqs = func(_ *model, l int) ([]float64, float64) {
			switch l {
			case 0:
				return nil, 1
			case 1:
				return plainFreqs(32, 1e4), 1
			}
			return plainFreqs(32, 5e3), 1
		}
	})}
	forms["glm-dsa+chosen"] = mixtureForms["deepseek2"]
	forms["grok+factor"] = form{whole: as("grok", func(r *reference) {
		r.freqs = func(*model, int) ([]float64, float64) { return plainFreqs(32, 1e4), float64(float32(1.1)) }
	})}
	forms["lfm2moe+colbert"] = form{whole: as("lfm2moe", func(r *reference) {
		r.cached["output.weight"], r.cached["output.bias"] = r.get("dense_2.weight"), r.get("dense_2.bias")
	})}
}

// as computes as another form does, but for what change sets.
func as(name string, change func(r *reference)) func(r *reference, token, pos int) []float64 {
	return func(r *reference, token, pos int) []float64 {
		r.form = newReference(r.m, forms[name]).form
		change(r)
		return r.step(token, pos)
	}
}

// A key that says how to compute and that the family's code does not know is not passed over.
func TestKeysThatChangeResultsAreRefusedByName(t *testing.T) {
	for key, c := range map[string]struct {
		recipe string
		value  any
	}{
		"nextn_predict_layers":       {"arcee", 1},
		"rope.dimension_count_swa":   {"gemma2", 16},
		"attention.key_length_swa":   {"gemma2", 16},
		"attention.value_length_swa": {"gemma2", 16},
		"attention.causal":           {"arcee", false},
	} {
		m := newModel(c.recipe)
		recipes[c.recipe](m)
		m.set(key, c.value)
		dir := t.TempDir()
		src := filepath.Join(dir, "m.gguf")
		require.NoError(t, os.WriteFile(src, m.bytes(), 0o600))
		_, err := compiler.Compile(context.Background(), compiler.Options{Source: src, Output: filepath.Join(dir, "m.jns")})
		require.ErrorContains(t, err, "unsupported", key)
		require.ErrorContains(t, err, m.arch+"."+key)
	}
}

// Up to as many positions as an indexer chooses it chooses all; further ones are refused, and a session of the default length has no more.
func TestPositionsThatAnIndexerChoosesAmongAreRefused(t *testing.T) {
	m, path := compiled(t, "glm-dsa+chosen")
	tokens := someTokens(41)
	ref := newReference(m, mixtureForms["deepseek2"])
	for i, l := range logits(t, path, engine.Options{}, tokens[:40]) {
		requireNear(t, ref.step(int(tokens[i]), i), l, i)
	}
	e, err := engine.Open(path, engine.Options{Threads: 1, Context: 100})
	require.NoError(t, err)
	defer e.Close()
	s := e.NewSession()
	defer s.Close()
	require.ErrorContains(t, s.Eval(context.Background(), tokens, nil, nil), "position 40")
}
