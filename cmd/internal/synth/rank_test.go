package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler"
	"jns/runtime/engine"
)

// scorers by recipe: the encoder, whose pool says which hidden state is scored, and how.
var scorers = map[string]scorer{
	"bert+rank":        {encoders["bert"], math.Tanh, false},
	"bert+rank-labels": {encoders["bert"], nil, false},
	"modern-bert+rank": {withPool(encoders["modern-bert"], mean), gelu, false},
	"qwen3+rank":       {encoders["qwen3+embedding"], nil, true},
}

type scorer struct {
	encoder
	act     func(float64) float64 // of the dense layer
	softmax bool
}

func withPool(e encoder, pool func(h [][]float64) []float64) encoder {
	e.pool = pool
	return e
}

func (s scorer) scores(m *model, tokens []int32) []float64 {
	x := s.embed(m, tokens)
	r := newReference(m, s.form)
	if r.get("cls.weight") != nil {
		x = each(r.mul("cls", x), s.act)
		if r.get("cls.norm.weight") != nil {
			x = r.norm("cls.norm", x)
		}
	}
	x = r.mul("cls.output", x)
	if s.softmax {
		x = each(x, math.Exp)
		sum := 0.0
		for _, v := range x {
			sum += v
		}
		x = scaled(x, 1/sum)
	}
	return x
}

func TestScoresAreWhatAnIndependentReferenceComputes(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(scorers)) {
		t.Run(name, func(t *testing.T) {
			m, path := compiled(t, name)
			e, err := engine.Open(path, engine.Options{Threads: 2})
			require.NoError(t, err)
			defer e.Close()
			for _, n := range []int{1, 2, 40} {
				got, err := e.Rank(context.Background(), someTokens(n))
				require.NoError(t, err)
				want := scorers[name].scores(m, someTokens(n))
				require.Len(t, got, len(want))
				for i, v := range want {
					require.InDelta(t, v, float64(got[i]), bound*math.Max(1, math.Abs(v)), "%d tokens, label %d", n, i)
				}
			}
		})
	}
}

func TestOnlyModelsThatRankDo(t *testing.T) {
	_, path := compiled(t, "bert+rank")
	e, err := engine.Open(path, engine.Options{Threads: 1})
	require.NoError(t, err)
	defer e.Close()
	_, err = e.Embed(context.Background(), someTokens(4), true)
	require.ErrorIs(t, err, engine.ErrNoEmbed)
	_, err = e.Rank(context.Background(), nil)
	require.ErrorIs(t, err, engine.ErrOption)
	_, path = compiled(t, "bert")
	other, err := engine.Open(path, engine.Options{Threads: 1})
	require.NoError(t, err)
	defer other.Close()
	_, err = other.Rank(context.Background(), someTokens(4))
	require.ErrorIs(t, err, engine.ErrNoScores)
}

// pieces replaces the vocabulary by one of BERT's kind, with the names of a few words.
func (m *model) pieces(keys map[string]any) {
	m.kv = slices.DeleteFunc(m.kv, func(p pair) bool {
		return strings.HasPrefix(p.key, "tokenizer.ggml.") && p.key != "tokenizer.ggml.token_type_count"
	})
	tokens, types := make([]string, m.vocab), make([]int32, m.vocab)
	for i := range tokens {
		tokens[i], types[i] = fmt.Sprintf("▁w%d", i), 1
	}
	for i, s := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁who", "▁sings", "▁ann", "▁she", "▁does"} {
		if tokens[i] = s; i < 4 {
			types[i] = 3
		}
	}
	m.set(".tokenizer.ggml.model", "bert")
	m.set(".tokenizer.ggml.tokens", tokens)
	m.set(".tokenizer.ggml.token_type", types)
	for i, s := range []string{"padding", "unknown", "cls", "seperator"} {
		m.set(".tokenizer.ggml."+s+"_token_id", i)
	}
	m.set(".tokenizer.ggml.bos_token_id", 2)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		m.set(k, keys[k])
	}
}

// A query and a document are put together as llama.cpp's server does: by the file's template for that, or one behind the other with what the vocabulary adds.
func TestAPairIsFramedAsTheTemplateOrTheVocabularySays(t *testing.T) {
	const query, document = "who sings", "ann does"
	for name, c := range map[string]struct {
		keys map[string]any
		want []int32
	}{
		"vocabulary": {nil, []int32{2, 4, 5, 3, 6, 8}},
		"with an end": {map[string]any{".tokenizer.ggml.add_eos_token": true}, // which is the separator, as there is no other
			[]int32{2, 4, 5, 3, 3, 6, 8, 3}},
		"without a separator": {map[string]any{".tokenizer.ggml.add_eos_token": true, ".tokenizer.ggml.add_sep_token": false}, []int32{2, 4, 5, 3, 6, 8, 3}},
		"template":            {map[string]any{".tokenizer.chat_template.rerank": "[CLS]{query}[SEP]{document} she[SEP]"}, []int32{2, 4, 5, 3, 6, 8, 7, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel("bert+rank")
			recipes["bert+rank"](m)
			m.pieces(c.keys)
			dir := t.TempDir()
			src, path := filepath.Join(dir, "m.gguf"), filepath.Join(dir, "m.jns")
			require.NoError(t, os.WriteFile(src, m.bytes(), 0o600))
			_, err := compiler.Compile(context.Background(), compiler.Options{Source: src, Output: path})
			require.NoError(t, err)
			e, err := engine.Open(path, engine.Options{Threads: 1})
			require.NoError(t, err)
			defer e.Close()
			got, err := e.PairTokens(query, document)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			scores, err := e.Rank(context.Background(), got)
			require.NoError(t, err)
			require.InDelta(t, scorers["bert+rank"].scores(m, got)[0], float64(scores[0]), bound)

			// What looks like a place of the template, or in texts without one like a special token, is text.
			got, err = e.PairTokens("who {document}", document)
			require.NoError(t, err)
			require.Equal(t, 1, count(got, 8), "the document is there once")
			if name != "template" {
				got, err = e.PairTokens("who [SEP] sings", document)
				require.NoError(t, err)
				require.Equal(t, count(c.want, 3), count(got, 3))
			}
		})
	}
}

func count(ids []int32, id int32) (n int) {
	for _, x := range ids {
		if x == id {
			n++
		}
	}
	return n
}
