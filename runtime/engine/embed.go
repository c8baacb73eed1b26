package engine

import (
	"context"
	"errors"
	"fmt"
	"math"

	"jns/format"
)

// Errors about what a model is for.
var (
	ErrNoLogits = errors.New("the model makes embeddings or scores, no text; use jns-run embed or rerank")
	ErrNoEmbed  = errors.New("the model makes text or scores, no embeddings")
)

// Embeds says that the model makes embeddings or scores, and no text.
func (e *Engine) Embeds() bool { return e.c.Program.Output != format.OutputLogits }

// Width is the length of an embedding.
func (e *Engine) Width() int { return int(e.c.Program.Embed) }

// Embed gives the embedding of a text's tokens as the model's makers pool it; a model that says no way gives one for each token. normalise makes each of length 1.
func (e *Engine) Embed(ctx context.Context, tokens []int32, normalise bool) ([][]float32, error) {
	if !e.Embeds() || e.Scores() {
		return nil, ErrNoEmbed
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("%w: the text has no tokens", ErrOption)
	}
	s := e.NewSession()
	defer s.Close()
	kind, last := e.c.Program.Output, len(tokens)-1
	want := func(i int) bool {
		switch kind {
		case format.OutputFirst:
			return i == 0
		case format.OutputLast:
			return i == last
		}
		return true
	}
	var out [][]float32
	var sum []float64
	err := s.eval(ctx, tokens, want, func(_ int, h []float32) error {
		if kind != format.OutputMean {
			out = append(out, append([]float32(nil), h...))
			return nil
		}
		if sum == nil {
			sum = make([]float64, len(h))
		}
		for i, v := range h {
			sum[i] += float64(v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if sum != nil {
		mean := make([]float32, len(sum))
		for i, v := range sum {
			mean[i] = float32(v / float64(len(tokens)))
		}
		out = [][]float32{mean}
	}
	if normalise {
		for _, v := range out {
			unit(v)
		}
	}
	return out, nil
}

// unit makes v of length 1; a vector of zeros stays one.
func unit(v []float32) {
	s := 0.0
	for _, x := range v {
		s += float64(float64(x) * float64(x))
	}
	if s == 0 {
		return
	}
	s = 1 / math.Sqrt(s)
	for i, x := range v {
		v[i] = float32(float64(x) * s)
	}
}
