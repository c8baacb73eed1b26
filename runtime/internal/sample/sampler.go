package sample

import (
	"fmt"
	"math"
	"slices"
)

// cand is a token that may still be chosen.
type cand struct {
	logit float32
	id    int32
}

// before orders candidates: greater logits first, then lower ids. It is a total order, so every
// sort gives one result.
func before(a, b cand) bool {
	return a.logit > b.logit || a.logit == b.logit && a.id < b.id
}

func order(a, b cand) int {
	if before(a, b) {
		return -1
	}
	return 1
}

// Sampler chooses tokens by fixed Params. Its scratch memory makes it unfit for concurrent use, but
// it keeps no state between calls.
type Sampler struct {
	p      Params
	vocab  int
	biased []int32 // ids in p.LogitBias below vocab, ascending
	cands  []cand
	window []int32
	spread []typical
	minP   float64 // log of p.MinP
}

// New checks p and prepares for rows of vocab logits.
func New(p Params, vocab int) (*Sampler, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if vocab <= 0 || vocab > math.MaxInt32 {
		return nil, fmt.Errorf("%w: a vocabulary of %d tokens", ErrLogits, vocab)
	}
	s := &Sampler{p: p, vocab: vocab, cands: make([]cand, vocab)}
	for id := range p.LogitBias {
		if int(id) >= vocab {
			return nil, fmt.Errorf("%w: logit_bias of token %d, but the vocabulary has %d tokens", ErrParams, id, vocab)
		}
		s.biased = append(s.biased, id)
	}
	slices.Sort(s.biased)
	if p.MinP > 0 {
		s.minP = log(float64(p.MinP))
	}
	return s, nil
}

// Params returns the parameters.
func (s *Sampler) Params() Params { return s.p }

// Sample returns the token to follow history, whose last token the logits belong to. logits and
// history are not changed. The random number is that of step len(history) of the seed, so a
// sequence that is cut back and continued repeats itself.
func (s *Sampler) Sample(logits []float32, history []int32) (int32, error) {
	return s.SampleOf(logits, history, nil)
}

// SampleOf is Sample among the tokens of a set, one bit for each; nil: all.
func (s *Sampler) SampleOf(logits []float32, history []int32, set []uint64) (int32, error) {
	if len(logits) != s.vocab {
		return 0, fmt.Errorf("%w: %d values for a vocabulary of %d", ErrLogits, len(logits), s.vocab)
	}
	greedy := s.p.Temperature == 0 || s.p.TopK == 1
	plain := set == nil && len(s.biased) == 0 && !s.p.penalizes()
	if greedy && plain {
		return greatestOf(logits)
	}
	c := s.cands[:s.vocab]
	for i, l := range logits {
		if l-l != 0 {
			return 0, notFinite(i, l)
		}
		c[i] = cand{l, int32(i)}
	}
	if !plain {
		for _, id := range s.biased {
			c[id].logit += s.p.LogitBias[id]
		}
		s.penalize(c, history)
		c = allowed(c, len(s.biased) > 0, set)
		if len(c) == 0 {
			return 0, fmt.Errorf("%w: logit_bias forbids every token that could follow", ErrLogits)
		}
	}
	if greedy {
		return greatest(c).id, nil
	}
	c = s.truncate(c)
	return choose(c, float64(s.p.Temperature), draw(s.p.Seed, uint64(len(history)))), nil
}

// greatestOf is the greedy choice where nothing changes the logits: workers wait while a token is chosen, so no candidates are written down for it.
func greatestOf(logits []float32) (int32, error) {
	best, at := logits[0], 0
	for i, l := range logits {
		if l-l != 0 {
			return 0, notFinite(i, l)
		}
		if l > best {
			best, at = l, i
		}
	}
	return int32(at), nil
}

// notFinite is the error of a NaN or an infinity.
func notFinite(i int, l float32) error {
	return fmt.Errorf("%w: token %d has %v; the model's arithmetic went wrong", ErrLogits, i, l)
}

// allowed drops forbidden candidates and those outside of a set, keeping the order. Penalties and biases of great size can
// reach infinity; those are held at the ends of the range.
func allowed(c []cand, biased bool, set []uint64) []cand {
	n := 0
	for i, x := range c {
		if set != nil && set[i>>6]>>(i&63)&1 == 0 {
			continue
		}
		if biased && math.IsInf(float64(x.logit), -1) {
			continue
		}
		x.logit = max(-math.MaxFloat32, min(x.logit, math.MaxFloat32))
		c[n] = x
		n++
	}
	return c[:n]
}

// penalizes says whether any penalty is set.
func (p *Params) penalizes() bool {
	return (p.RepeatPenalty != 1 || p.FrequencyPenalty != 0 || p.PresencePenalty != 0) && p.PenaltyWindow != 0
}

// penalize lowers the logits of tokens in the window.
func (s *Sampler) penalize(c []cand, history []int32) {
	p := &s.p
	if !p.penalizes() {
		return
	}
	if p.PenaltyWindow > 0 && len(history) > p.PenaltyWindow {
		history = history[len(history)-p.PenaltyWindow:]
	}
	s.window = append(s.window[:0], history...)
	slices.Sort(s.window)
	for w := s.window; len(w) > 0; {
		id, n := w[0], 1
		for n < len(w) && w[n] == id {
			n++
		}
		w = w[n:]
		if id < 0 || int(id) >= s.vocab {
			continue
		}
		l := c[id].logit
		if l > 0 {
			l /= p.RepeatPenalty
		} else {
			l = float32(l * p.RepeatPenalty) // rounded here, not fused with what follows
		}
		l -= float32(float32(n) * p.FrequencyPenalty)
		c[id].logit = l - p.PresencePenalty
	}
}

func greatest(c []cand) cand {
	best := c[0]
	for _, x := range c[1:] {
		if x.logit > best.logit {
			best = x
		}
	}
	return best
}

// truncate applies top-k, typical, top-p and min-p. At least one candidate is left.
func (s *Sampler) truncate(c []cand) []cand {
	sorted := false
	if s.p.TopK > 0 && s.p.TopK < len(c) {
		c = top(c, s.p.TopK)
		sorted = true
	}
	if s.p.Typical < 1 {
		c = s.typical(c)
		sorted = false
	}
	if s.p.TopP < 1 {
		c = topP(c, float64(s.p.TopP), sorted)
	}
	if s.p.MinP > 0 {
		first := float64(greatest(c).logit)
		n := 0
		for _, x := range c {
			if float64(x.logit)-first >= s.minP {
				c[n] = x
				n++
			}
		}
		c = c[:n]
	}
	return c
}

// top moves the k first candidates (by before) to the front, sorted, and returns them; the rest of
// c stays behind them in some fixed order. A heap holds the k best seen, the worst at its root.
func top(c []cand, k int) []cand {
	h := c[:k]
	for i := k/2 - 1; i >= 0; i-- {
		sift(h, i)
	}
	for i := k; i < len(c); i++ {
		if before(c[i], h[0]) {
			c[i], h[0] = h[0], c[i]
			sift(h, 0)
		}
	}
	slices.SortFunc(h, order)
	return h
}

func sift(h []cand, i int) {
	for {
		j := 2*i + 1
		if j >= len(h) {
			return
		}
		if j+1 < len(h) && before(h[j], h[j+1]) {
			j++
		}
		if !before(h[i], h[j]) {
			return
		}
		h[i], h[j] = h[j], h[i]
		i = j
	}
}

// weights sums e^(logit - first) over c, in its order.
func weights(c []cand, first float64) float64 {
	sum := 0.0
	for _, x := range c {
		sum += exp(float64(x.logit) - first)
	}
	return sum
}

// topP keeps the shortest sorted prefix with at least p of the probability. It sorts only as many
// candidates as it comes to need.
func topP(c []cand, p float64, sorted bool) []cand {
	first := float64(greatest(c).logit)
	want := p * weights(c, first)
	k := 128
	if sorted {
		k = len(c)
	}
	for {
		k = min(k, len(c))
		h := c[:k]
		if !sorted {
			h = top(c, k)
		}
		sum := 0.0
		for i, x := range h {
			if sum += exp(float64(x.logit) - first); sum >= want {
				return h[:i+1]
			}
		}
		if k == len(c) {
			return h
		}
		k *= 8
	}
}

// typical is a candidate with its probability and its distance from the expected surprise.
type typical struct {
	c       cand
	p, dist float64
}

func (s *Sampler) typical(c []cand) []cand {
	if cap(s.spread) < len(c) {
		s.spread = make([]typical, s.vocab)
	}
	t := s.spread[:len(c)]
	first := float64(greatest(c).logit)
	sum := weights(c, first)
	logSum := log(sum)
	entropy := 0.0
	for i, x := range c {
		d := float64(x.logit) - first
		t[i] = typical{x, exp(d) / sum, logSum - d} // dist: surprise, for now
		entropy += float64(t[i].p * t[i].dist)
	}
	for i := range t {
		t[i].dist = math.Abs(t[i].dist - entropy)
	}
	slices.SortFunc(t, func(a, b typical) int {
		switch {
		case a.dist < b.dist:
			return -1
		case a.dist > b.dist:
			return 1
		}
		return order(a.c, b.c)
	})
	n, got := 0, 0.0
	for n < len(t) {
		c[n] = t[n].c
		got += t[n].p
		n++
		if got >= float64(s.p.Typical) {
			break
		}
	}
	return c[:n]
}

// choose picks a candidate by u in [0, 1), with the probabilities the temperature gives.
func choose(c []cand, temperature, u float64) int32 {
	first := float64(greatest(c).logit)
	sum := 0.0
	for _, x := range c {
		sum += exp((float64(x.logit) - first) / temperature)
	}
	u *= sum
	last := c[0].id
	got := 0.0
	for _, x := range c {
		w := exp((float64(x.logit) - first) / temperature)
		if w == 0 {
			continue
		}
		last = x.id
		if got += w; got > u {
			break
		}
	}
	return last // rounding may leave got at u after the last: then that one
}
