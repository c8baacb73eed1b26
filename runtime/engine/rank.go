package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"jns/format"
	"jns/runtime/internal/token"
)

// ErrNoScores is the refusal to rank with a model that cannot.
var ErrNoScores = errors.New("the model ranks no texts: it makes text or embeddings")

// Scores says that the model scores texts, as a cross-encoder scores a query with a document.
func (e *Engine) Scores() bool { return e.c.Program.Output >= format.OutputScoreFirst }

// PairTokens puts a query and a document together as the model's makers say: by their template, where {query} and {document} stand for the texts, or, where the
// model has none, one behind the other with the tokens between them that the vocabulary asks for.
func (e *Engine) PairTokens(query, document string) (ids []int32, err error) {
	if e.tok == nil {
		return nil, ErrNoVocab
	}
	if t := e.c.Template(); t != "" {
		return e.Tokenize(strings.NewReplacer("{query}", query, "{document}", document).Replace(t), false, true)
	}
	q, err := e.Tokenize(query, false, false)
	if err != nil {
		return nil, err
	}
	d, err := e.Tokenize(document, false, false)
	if err != nil {
		return nil, err
	}
	err = e.guard(func() error { ids = joined(e.tok, q, d); return nil })
	return ids, err
}

// joined is a pair of texts without a template.
func joined(t *token.Tokenizer, q, d []int32) []int32 {
	var ids []int32
	add := func(when bool, id int32) {
		if when && id >= 0 {
			ids = append(ids, id)
		}
	}
	end := t.EOS()
	if end < 0 {
		end = t.Special(format.SpecialSEP)
	}
	add(t.AddBOS(), t.BOS())
	ids = append(ids, q...)
	add(t.AddEOS(), end)
	add(t.AddSEP(), t.Special(format.SpecialSEP))
	ids = append(ids, d...)
	add(t.AddEOS(), end)
	return ids
}

// Rank gives the scores of a text's tokens, one for each of the model's labels; of a model that ranks, the first label's is how well the document answers the query.
func (e *Engine) Rank(ctx context.Context, tokens []int32) ([]float32, error) {
	if !e.Scores() {
		return nil, ErrNoScores
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("%w: the text has no tokens", ErrOption)
	}
	s := e.NewSession()
	defer s.Close()
	at := 0
	if e.c.Program.Output == format.OutputScoreLast {
		at = len(tokens) - 1
	}
	var out []float32
	err := s.eval(ctx, tokens, func(i int) bool { return i == at }, func(_ int, scores []float32) error {
		out = append(out, scores...)
		return nil
	})
	return out, err
}
