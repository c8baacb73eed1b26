package main

import (
	"context"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

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
