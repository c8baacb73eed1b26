package engine

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"jns/runtime/internal/sample"
	"jns/runtime/internal/stream"
)

// Why a generation ended.
const (
	FinishStop   = "stop"   // an end-of-text token or a stop string
	FinishLength = "length" // the limit of tokens, or the context is full
)

// SampleParams say how tokens are chosen.
type SampleParams = sample.Params

// DefaultSampling and Greedy are the two usual choices.
var (
	DefaultSampling = sample.Defaults
	Greedy          = sample.Greedy
)

// Request is one generation.
type Request struct {
	Prompt    []int32 // tokens to add to the session first; at least one
	MaxTokens int     // tokens to generate; negative: until the context is full
	Sample    SampleParams
	Stop      []string
	IgnoreEOS bool // end-of-text tokens neither end the generation nor are special
	Special   bool // show the text of special tokens
	// Text is called with each piece of text, whole UTF-8 characters only. An error ends the generation.
	Text func(piece string) error
	// Token is called with each generated token.
	Token func(id int32) error
	// Logits is called with each row of logits that a token is chosen from; they are valid during the call.
	Logits func(logits []float32)
}

// Result is what a generation gave.
type Result struct {
	PromptTokens []int32
	Tokens       []int32
	Text         string
	Finish       string
	Timings      Timings
}

// Timings of a generation. Rates are tokens per second; 0 where nothing was measured.
type Timings struct {
	Prefill    time.Duration // until the first token was chosen
	Decode     time.Duration // from then on
	PrefillTPS float64
	DecodeTPS  float64
}

// Generate adds the request's prompt to the session and generates.
func (s *Session) Generate(ctx context.Context, r Request) (*Result, error) {
	if len(r.Prompt) == 0 {
		return nil, fmt.Errorf("%w: the prompt has no tokens", ErrOption)
	}
	g := &generation{s: s, r: r, res: &Result{PromptTokens: r.Prompt, Finish: FinishLength}}
	if err := g.init(); err != nil {
		return nil, err
	}
	start := time.Now()
	id, err := g.next(ctx, r.Prompt)
	if err != nil {
		return nil, err
	}
	s.cache.Mark() // another answer to the same prompt need not compute it again
	first := time.Now()
	g.res.Timings.Prefill = first.Sub(start)
	for g.take(id) {
		if s.Room() == 0 {
			break
		}
		g.one[0] = id
		if id, err = g.next(ctx, g.one[:]); err != nil {
			break
		}
	}
	if err == nil {
		err = g.err
	}
	g.finish(time.Since(first))
	return g.res, err
}

// sampler makes a sampler that never chooses a token that the model's makers forbid.
func (e *Engine) sampler(p SampleParams) (*sample.Sampler, error) {
	if e.tok != nil {
		var forbidden []int32
		if err := e.guard(func() error { forbidden = e.tok.Suppressed(); return nil }); err != nil {
			return nil, err
		}
		if len(forbidden) > 0 {
			bias := maps.Clone(p.LogitBias)
			if bias == nil {
				bias = map[int32]float32{}
			}
			for _, id := range forbidden {
				if int(id) < e.Vocab() {
					bias[id] = float32(math.Inf(-1))
				}
			}
			p.LogitBias = bias
		}
	}
	s, err := sample.New(p, e.Vocab())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOption, err)
	}
	return s, nil
}

// generation is a Generate under way.
type generation struct {
	s       *Session
	r       Request
	res     *Result
	sampler *sample.Sampler
	text    *stream.Assembler // nil without a vocabulary
	out     strings.Builder
	piece   []byte
	id      int32
	one     [1]int32
	each    func(i int, logits []float32) error
	limit   int
	err     error
}

func (g *generation) init() error {
	var err error
	if g.sampler, err = g.s.e.sampler(g.r.Sample); err != nil {
		return err
	}
	if g.s.e.tok != nil {
		if g.text, err = stream.New(g.r.Stop...); err != nil {
			return fmt.Errorf("%w: %w", ErrOption, err)
		}
	}
	g.limit = g.r.MaxTokens
	if g.limit < 0 {
		g.limit = g.s.cache.Limit()
	}
	g.each = func(_ int, logits []float32) error {
		if g.r.Logits != nil {
			g.r.Logits(logits)
		}
		id, err := g.sampler.Sample(logits, g.s.tokens)
		g.id = id
		return err
	}
	return nil
}

// next computes tokens and chooses the one that follows.
func (g *generation) next(ctx context.Context, tokens []int32) (int32, error) {
	err := g.s.Eval(ctx, tokens, nil, g.each)
	if err == nil {
		g.s.chosen = g.id
	}
	return g.id, err
}

// take adds a chosen token to the result and says whether to go on.
func (g *generation) take(id int32) bool {
	if len(g.res.Tokens) >= g.limit {
		return false
	}
	e := g.s.e
	if e.tok != nil && !g.r.IgnoreEOS {
		var end bool
		if end, g.err = e.isEOG(id); g.err != nil {
			return false
		}
		if end {
			g.res.Finish = FinishStop
			return false
		}
	}
	g.res.Tokens = append(g.res.Tokens, id)
	if g.r.Token != nil {
		if g.err = g.r.Token(id); g.err != nil {
			return false
		}
	}
	if g.text != nil {
		g.err = e.guard(func() error { g.piece = e.tok.AppendPiece(g.piece[:0], id, g.r.Special); return nil })
		if g.err != nil {
			return false
		}
		text, stopped := g.text.Write(g.piece)
		if !g.emit(text) {
			return false
		}
		if stopped {
			g.res.Finish = FinishStop
			return false
		}
	}
	return len(g.res.Tokens) < g.limit
}

func (g *generation) emit(text string) bool {
	g.out.WriteString(text)
	if text != "" && g.r.Text != nil {
		g.err = g.r.Text(text)
	}
	return g.err == nil
}

func (g *generation) finish(decode time.Duration) {
	if g.text != nil && g.err == nil {
		g.emit(g.text.Flush())
	}
	g.res.Text = g.out.String()
	t := &g.res.Timings
	t.Decode = decode
	if s := t.Prefill.Seconds(); s > 0 {
		t.PrefillTPS = float64(len(g.r.Prompt)) / s
	}
	if n, s := len(g.res.Tokens)-1, decode.Seconds(); n > 0 && s > 0 {
		t.DecodeTPS = float64(n) / s
	}
}
