package sample

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func row(t *rapid.T, n int) []float32 {
	return rapid.SliceOfN(rapid.Float32Range(-20, 20), n, n).Draw(t, "logits")
}

func params(t *rapid.T) Params {
	return Params{
		Temperature:      rapid.Float32Range(0, 3).Draw(t, "temperature"),
		TopK:             rapid.IntRange(0, 30).Draw(t, "top_k"),
		TopP:             rapid.Float32Range(0, 1).Draw(t, "top_p"),
		MinP:             rapid.Float32Range(0, 1).Draw(t, "min_p"),
		Typical:          rapid.SampledFrom([]float32{1, 1, 0.9, 0.2, 0}).Draw(t, "typical"),
		RepeatPenalty:    rapid.SampledFrom([]float32{1, 1.3, 0.7}).Draw(t, "repeat"),
		FrequencyPenalty: rapid.SampledFrom([]float32{0, 0.5, -1}).Draw(t, "frequency"),
		PresencePenalty:  rapid.SampledFrom([]float32{0, 0.5, -1}).Draw(t, "presence"),
		PenaltyWindow:    rapid.IntRange(-1, 10).Draw(t, "window"),
		Seed:             rapid.Uint64().Draw(t, "seed"),
	}
}

func history(t *rapid.T, vocab int) []int32 {
	return rapid.SliceOfN(rapid.Int32Range(-1, int32(vocab)), 0, 20).Draw(t, "history")
}

func TestSampleDependsOnItsArgumentsOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "vocab")
		logits, p, h := row(t, n), params(t), history(t, n)
		a, err := New(p, n)
		require.NoError(t, err)
		b, err := New(p, n)
		require.NoError(t, err)
		_, err = b.Sample(row(t, n), history(t, n)) // must leave nothing behind
		require.NoError(t, err)
		before := slices.Clone(logits)
		x, err := a.Sample(logits, h)
		require.NoError(t, err)
		y, err := b.Sample(logits, h)
		require.NoError(t, err)
		require.Equal(t, x, y)
		require.Equal(t, before, logits, "logits were changed")
		require.True(t, x >= 0 && int(x) < n)
	})
}

// kept is the plain definition of the truncations: full sorts, platform mathematics.
func kept(logits []float32, p Params) map[int32]bool {
	type tok struct {
		id      int32
		l, p, d float64
	}
	var ts []tok
	for i, l := range logits {
		ts = append(ts, tok{id: int32(i), l: float64(l)})
	}
	sortTop := func() { slices.SortStableFunc(ts, func(a, b tok) int { return cmpDown(a.l, b.l) }) }
	probs := func() {
		sum := 0.0
		for i := range ts {
			ts[i].p = math.Exp(ts[i].l)
			sum += ts[i].p
		}
		for i := range ts {
			ts[i].p /= sum
		}
	}
	prefix := func(p float64) {
		got := 0.0
		for i := range ts {
			if got += ts[i].p; got >= p {
				ts = ts[:i+1]
				return
			}
		}
	}
	sortTop()
	if p.TopK > 0 && p.TopK < len(ts) {
		ts = ts[:p.TopK]
	}
	probs()
	if p.Typical < 1 {
		h := 0.0
		for _, x := range ts {
			h -= x.p * math.Log(x.p)
		}
		for i := range ts {
			ts[i].d = math.Abs(-math.Log(ts[i].p) - h)
		}
		slices.SortStableFunc(ts, func(a, b tok) int { return -cmpDown(a.d, b.d) })
		prefix(float64(p.Typical))
		slices.SortStableFunc(ts, func(a, b tok) int { return int(a.id - b.id) })
		sortTop()
		probs()
	}
	if p.TopP < 1 {
		prefix(float64(p.TopP))
	}
	m := map[int32]bool{}
	top := ts[0].l
	for _, x := range ts {
		top = max(top, x.l)
	}
	for _, x := range ts {
		if p.MinP == 0 || math.Exp(x.l-top) >= float64(p.MinP) {
			m[x.id] = true
		}
	}
	return m
}

func cmpDown(a, b float64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}

func TestTruncationKeepsWhatTheDefinitionKeeps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "vocab")
		// Few distinct values: many ties.
		logits := make([]float32, n)
		for i := range logits {
			logits[i] = float32(rapid.IntRange(-6, 6).Draw(t, "l")) / 2
		}
		p := params(t)
		p.RepeatPenalty, p.PenaltyWindow = 1, 0
		// Away from borders where a last bit decides.
		p.TopP = float32(math.Round(float64(p.TopP)*8)/8) * 0.98765
		p.MinP *= 0.98765
		if p.Typical < 1 {
			p.Typical *= 0.98765
		}
		s, err := New(p, n)
		require.NoError(t, err)
		c := s.cands
		for i, l := range logits {
			c[i] = cand{l, int32(i)}
		}
		got := map[int32]bool{}
		for _, x := range s.truncate(c) {
			got[x.id] = true
		}
		want := kept(logits, p)
		if p.Typical < 1 { // equal distances within rounding may swap; the number kept may not differ by more than ties
			require.NotEmpty(t, got)
			return
		}
		require.Equal(t, want, got)
	})
}

func TestTypicalKeepsTheExpectedTokens(t *testing.T) {
	// Probabilities 0.5, 0.25, 0.125, 0.125: entropy 1.75 bits, distances 0.75, 0.25, 1.25, 1.25.
	logits := []float32{float32(log(8)), float32(log(4)), float32(log(2)), float32(log(2))}
	for _, c := range []struct {
		p    float32
		want []int32
	}{{0.2, []int32{1}}, {0.7, []int32{1, 0}}, {0.8, []int32{1, 0, 2}}} {
		p := Greedy()
		p.Typical, p.Temperature = c.p, 1
		s, err := New(p, 4)
		require.NoError(t, err)
		for i, l := range logits {
			s.cands[i] = cand{l, int32(i)}
		}
		var got []int32
		for _, x := range s.truncate(s.cands) {
			got = append(got, x.id)
		}
		require.Equal(t, c.want, got)
	}
}

func TestGreedyTakesTheGreatestAndOfEqualsTheLowestId(t *testing.T) {
	s, err := New(Greedy(), 5)
	require.NoError(t, err)
	id, err := s.Sample([]float32{1, 3, -2, 3, 3}, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, id)
}

// The short way of a greedy choice is the long one's: a set of all tokens takes the latter.
func TestGreedyChoosesAlikeBothWays(t *testing.T) {
	values := []float32{0, float32(math.Copysign(0, -1)), 1, 1, -1, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}
	for seed := range uint64(3000) {
		logits := make([]float32, 1+seed%17)
		kinds := uint64(len(values))
		if seed%3 != 0 {
			kinds -= 3 // finite
		}
		for i := range logits {
			logits[i] = values[mix(seed*100+uint64(i))%kinds]
		}
		p := Greedy()
		if seed%2 == 1 {
			p = Defaults()
			p.TopK = 1
		}
		s, err := New(p, len(logits))
		require.NoError(t, err)
		short, err := s.Sample(logits, nil)
		long, errLong := s.SampleOf(logits, nil, []uint64{math.MaxUint64})
		require.Equal(t, errLong, err, "%v", logits)
		require.Equal(t, long, short, "%v", logits)
	}
}

func TestFrequenciesFollowTheDistribution(t *testing.T) {
	p := Greedy()
	p.Temperature, p.Seed = 0.5, 7
	s, err := New(p, 3)
	require.NoError(t, err)
	logits := []float32{0, float32(log(2) / 2), float32(log(5) / 2)} // weights 1, 2, 5 at temperature 0.5
	var n [3]int
	h := make([]int32, 0, 40000)
	for range cap(h) {
		id, err := s.Sample(logits, h)
		require.NoError(t, err)
		n[id]++
		h = append(h, id)
	}
	for i, w := range []float64{1, 2, 5} {
		require.InDelta(t, w/8, float64(n[i])/float64(len(h)), 0.01)
	}
}

func TestPenaltiesAndBias(t *testing.T) {
	logits := []float32{4, -1, 3.5, 0}
	sample := func(change func(*Params), history ...int32) int32 {
		p := Greedy()
		p.PenaltyWindow = 3
		change(&p)
		s, err := New(p, 4)
		require.NoError(t, err)
		id, err := s.Sample(logits, history)
		require.NoError(t, err)
		return id
	}
	require.EqualValues(t, 0, sample(func(p *Params) { p.RepeatPenalty = 2 }, 0, 1, 1, 1), "outside the window")
	require.EqualValues(t, 2, sample(func(p *Params) { p.RepeatPenalty = 2 }, 0))
	require.EqualValues(t, 2, sample(func(p *Params) { p.PresencePenalty = 0.6 }, 0))
	require.EqualValues(t, 0, sample(func(p *Params) { p.FrequencyPenalty = 0.3 }, 0))
	require.EqualValues(t, 2, sample(func(p *Params) { p.FrequencyPenalty = 0.3 }, 0, 0))
	require.EqualValues(t, 3, sample(func(p *Params) { p.LogitBias = map[int32]float32{3: 5} }))
	inf := float32(math.Inf(-1))
	require.EqualValues(t, 1, sample(func(p *Params) { p.LogitBias = map[int32]float32{0: inf, 2: inf, 3: inf} }))
}

func TestBadLogitsAndParametersAreErrors(t *testing.T) {
	s, err := New(Defaults(), 2)
	require.NoError(t, err)
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err = s.Sample([]float32{0, float32(bad)}, nil)
		require.ErrorIs(t, err, ErrLogits)
		require.ErrorContains(t, err, "token 1")
	}
	_, err = s.Sample([]float32{0}, nil)
	require.ErrorIs(t, err, ErrLogits)
	p := Greedy()
	p.LogitBias = map[int32]float32{0: float32(math.Inf(-1))}
	s, err = New(p, 1)
	require.NoError(t, err)
	_, err = s.Sample([]float32{0}, nil)
	require.ErrorIs(t, err, ErrLogits)
	for _, change := range []func(*Params){
		func(p *Params) { p.Temperature = -1 },
		func(p *Params) { p.TopP = float32(math.NaN()) },
		func(p *Params) { p.TopK = -1 },
		func(p *Params) { p.RepeatPenalty = 0 },
		func(p *Params) { p.PenaltyWindow = -2 },
		func(p *Params) { p.LogitBias = map[int32]float32{-1: 0} },
		func(p *Params) { p.LogitBias = map[int32]float32{9: 0} },
	} {
		p := Defaults()
		change(&p)
		_, err := New(p, 5)
		require.ErrorIs(t, err, ErrParams)
	}
}

func TestExtremePenaltiesStayFinite(t *testing.T) {
	p := Defaults()
	p.RepeatPenalty, p.PenaltyWindow = 0.01, -1
	s, err := New(p, 3)
	require.NoError(t, err)
	_, err = s.Sample([]float32{math.MaxFloat32, -math.MaxFloat32, 0}, []int32{0, 1, 2})
	require.NoError(t, err)
}

// The bits pinned here are the promise that seeds mean the same everywhere.
func TestSampledTokensArePinned(t *testing.T) {
	logits := make([]float32, 1000)
	for i := range logits {
		logits[i] = float32(mix(uint64(i))>>40) / (1 << 21)
	}
	sequence := func(p Params) (out []int32) {
		s, err := New(p, len(logits))
		require.NoError(t, err)
		for range 12 {
			id, err := s.Sample(logits, out)
			require.NoError(t, err)
			out = append(out, id)
		}
		return out
	}
	p := Defaults()
	p.Seed = 42
	require.Equal(t, pinnedDefault, sequence(p))
	q := Params{Temperature: 1.5, TopP: 0.9, Typical: 0.95, RepeatPenalty: 1.1, PenaltyWindow: -1, Seed: 1}
	require.Equal(t, pinnedTypical, sequence(q))
	require.Equal(t, uint64(0x3fd5f87eae99441c), math.Float64bits(draw(42, 0)), "%#x", math.Float64bits(draw(42, 0)))
	require.Equal(t, uint64(0x3fd78b56362cef38), math.Float64bits(exp(-1)), "%#x", math.Float64bits(exp(-1)))
}

func TestExpAndLogAreAccurate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-700, 0).Draw(t, "x")
		require.InEpsilon(t, math.Exp(x), exp(x), 5e-16)
		y := rapid.Float64Range(1e-300, 1e300).Draw(t, "y")
		require.InDelta(t, math.Log(y), log(y), 5e-16*max(1, math.Abs(math.Log(y))))
	})
	require.Equal(t, 1.0, exp(0))
	require.Equal(t, 0.0, exp(-800))
	require.Equal(t, 0.0, exp(math.Inf(-1)))
	require.Equal(t, 0.0, log(1))
}

func TestParamsTextIsCanonical(t *testing.T) {
	p := Defaults()
	p.LogitBias = map[int32]float32{9: 1.5, 2: float32(math.Inf(-1))}
	require.Equal(t, "temperature=0.8 top_k=40 top_p=0.95 min_p=0.05 typical=1 repeat_penalty=1 frequency_penalty=0 presence_penalty=0 penalty_window=64 seed=0 logit_bias=2:-Inf,9:1.5", p.String())
}

func TestSampleAllocatesNothing(t *testing.T) {
	logits := make([]float32, 5000)
	for i := range logits {
		logits[i] = float32(mix(uint64(i))>>40) / (1 << 22)
	}
	h := []int32{1, 2, 3, 3, 4}
	for _, p := range []Params{Greedy(), Defaults(), {Temperature: 1, TopP: 0.99, Typical: 0.9, RepeatPenalty: 1.2, PenaltyWindow: 64}} {
		s, err := New(p, len(logits))
		require.NoError(t, err)
		require.Zero(t, testing.AllocsPerRun(20, func() {
			if _, err := s.Sample(logits, h); err != nil {
				t.Fatal(err)
			}
		}), p.String())
	}
}

func BenchmarkSample(b *testing.B) {
	logits := make([]float32, 150_000)
	for i := range logits {
		logits[i] = float32(mix(uint64(i))>>40) / (1 << 21)
	}
	for _, p := range []Params{Greedy(), Defaults(), {Temperature: 1, TopP: 0.9, Typical: 1, RepeatPenalty: 1}} {
		b.Run(fmt.Sprintf("temp=%v/k=%d/p=%v", p.Temperature, p.TopK, p.TopP), func(b *testing.B) {
			s, err := New(p, len(logits))
			require.NoError(b, err)
			for b.Loop() {
				if _, err := s.Sample(logits, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
