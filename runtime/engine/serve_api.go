package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"jns/runtime/internal/chat"
	"jns/runtime/internal/grammar"
	"jns/runtime/internal/kv"
	"jns/runtime/internal/sample"
	"jns/runtime/internal/stream"
	"jns/runtime/internal/token"
)

// What a server needs beyond Generate: conversations as the JSON they came in, the whole prompt with reuse of what a session has seen, other sessions let in between
// the parts of a long prompt, and the probabilities of tokens.

// Errors that a server answers differently from its own failures.
var (
	ErrContextFull = kv.ErrFull       // more tokens than a session has positions
	ErrTextTooLong = token.ErrTooLong // a text longer than the tokenizer takes
	ErrLogits      = sample.ErrLogits // a row that cannot be sampled from
	ErrParams      = sample.ErrParams // a sampling parameter outside its range
	ErrStopString  = stream.ErrStop   // a stop string that cannot be used
)

// TemplateError is a template's failure; Raised says that the template refused the conversation itself, in Text.
type TemplateError = chat.Error

// Conversation is a chat as JSON. Key order and null content reach the template as they are.
type Conversation struct {
	Messages json.RawMessage // an array of objects
	Tools    json.RawMessage // an array of definitions; empty: none
	Extra    map[string]any  // more variables of the template
	Now      time.Time       // what the template may print; zero: the time of the call
}

// ChatPrompt renders a conversation with the model's own template, up to where the model answers, and tokenizes it.
func (e *Engine) ChatPrompt(c Conversation) (ids []int32, err error) {
	if e.tok == nil {
		return nil, ErrNoVocab
	}
	t, err := e.Template()
	if err != nil {
		return nil, err
	}
	in := chat.Input{Messages: c.Messages, Tools: c.Tools, Extra: c.Extra, AddGenerationPrompt: true, Now: c.Now}
	if in.Now.IsZero() {
		in.Now = time.Now()
	}
	err = e.guard(func() error {
		in.BOS, in.EOS = e.tok.BOSText(), e.tok.EOSText()
		text, err := t.Render(in)
		if err != nil {
			return err
		}
		ids, err = e.tok.Encode(text, token.Options{ParseSpecial: true})
		return err
	})
	return ids, err
}

// TemplateMentions reports whether the word occurs in the chat template's source: whether the template could make use of a variable or a role of that name.
func (e *Engine) TemplateMentions(word string) (yes bool) {
	err := e.guard(func() error { yes = strings.Contains(e.c.Template(), word); return nil })
	return yes && err == nil
}

// Piece is the text of one token, special ones included; it may be a part of a character.
func (e *Engine) Piece(id int32) (b []byte, err error) {
	if e.tok == nil {
		return nil, ErrNoVocab
	}
	err = e.guard(func() error { b = e.tok.AppendPiece(nil, id, true); return nil })
	return b, err
}

// CheckSampling says whether parameters suit this model. Errors wrap ErrOption.
func (e *Engine) CheckSampling(p SampleParams) error {
	if err := p.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	for id := range p.LogitBias {
		if int(id) >= e.Vocab() {
			return fmt.Errorf("%w: logit_bias of token %d, but the vocabulary has %d tokens", ErrOption, id, e.Vocab())
		}
	}
	return nil
}

// CheckStop says whether stop strings can be used. Errors wrap ErrOption.
func CheckStop(stop []string) error {
	if _, err := stream.New(stop...); err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	return nil
}

// Alternative is a token that could have been chosen. Logprob is the natural logarithm of the model's own probability, before biases, penalties and temperature.
type Alternative struct {
	ID      int32
	Logprob float64
}

// Step is one token of an answer. The last Step of an answer may have no token (ID -1), only text that was held back.
type Step struct {
	Alternative               // the token chosen; its Logprob only if asked for
	Top         []Alternative // the most probable tokens, best first; as many as were asked for
	Piece       []byte        // the token's bytes as they count for the text; valid during the call
	Text        string        // what became certain of the text: whole characters that no stop string can claim
}

// Answering is one request to a session.
type Answering struct {
	Prompt    []int32 // the whole prompt; what the session has seen of it is not computed again
	MaxTokens int     // negative: until the context is full
	// Sample chooses. Penalties see generated tokens only: were they to see the prompt, the marks that end a turn would be penalised with every turn.
	Sample    SampleParams
	Stop      []string
	IgnoreEOS bool
	Shape     *Shape     // what the answer must look like; nil: anything
	Logprobs  int        // how many alternatives each Step lists; negative: no probabilities at all
	Chunk     func() int // how many tokens of the prompt to compute before other sessions have their turn; nil: the engine's batch
	Start     func(cached int) error
	Step      func(Step) error
}

// Answered is what became of an Answering.
type Answered struct {
	Cached  int // tokens of the prompt that the session had seen
	Tokens  []int32
	Finish  string
	Timings Timings
}

// Answer brings the session to the request's prompt and generates. It calls Start once the request is known to be good and before the first computation, then Step
// for each token. After an error the session holds the tokens that were computed.
func (s *Session) Answer(ctx context.Context, r Answering) (*Answered, error) {
	a := &answering{s: s, r: r, res: &Answered{Finish: FinishLength}}
	if err := a.init(); err != nil {
		return nil, err
	}
	left, err := s.Reuse(r.Prompt)
	if err != nil {
		return nil, err
	}
	a.res.Cached = len(r.Prompt) - len(left)
	if r.Start != nil {
		if err := r.Start(a.res.Cached); err != nil {
			return nil, err
		}
	}
	return a.res, a.run(ctx, left)
}

// answering is an Answer under way.
type answering struct {
	s       *Session
	r       Answering
	res     *Answered
	sampler *sample.Sampler
	text    *stream.Assembler // nil without a vocabulary
	shape   *grammar.Mask     // nil: any token may follow
	history []int32           // what the sampler sees: −1 for tokens of the prompt, which penalties skip
	piece   []byte
	step    Step
	one     [1]int32
	limit   int
}

func (a *answering) init() (err error) {
	n, room := len(a.r.Prompt), a.s.cache.Limit()
	switch {
	case n == 0:
		return fmt.Errorf("%w: the prompt has no tokens", ErrOption)
	case n > room:
		return fmt.Errorf("%w: the prompt has %d tokens, the context holds %d (%s)", ErrContextFull, n, room, a.s.e.raise())
	}
	for i, id := range a.r.Prompt {
		if id < 0 || int(id) >= a.s.e.Vocab() {
			return fmt.Errorf("%w: token %d of the prompt is %d, the vocabulary has %d tokens", ErrOption, i, id, a.s.e.Vocab())
		}
	}
	if a.sampler, err = a.s.e.sampler(a.r.Sample); err != nil {
		return err
	}
	if a.s.e.tok != nil {
		if a.text, err = stream.New(a.r.Stop...); err != nil {
			return fmt.Errorf("%w: %w", ErrOption, err)
		}
	}
	if a.r.Shape != nil {
		v, err := a.s.e.shapeVocab()
		if err != nil {
			return err
		}
		a.shape = a.r.Shape.schema.Text(v)
	}
	a.limit = a.r.MaxTokens
	if a.limit < 0 {
		a.limit = room
	}
	a.history = slices.Repeat([]int32{-1}, n)
	return nil
}

// run computes what is left of the prompt part by part, then token by token. Each part holds the engine once.
func (a *answering) run(ctx context.Context, left []int32) error {
	start := time.Now()
	for a.r.Chunk != nil {
		n := max(1, a.r.Chunk())
		if len(left) <= n {
			break
		}
		if err := a.s.Eval(ctx, left[:n], nil, nil); err != nil {
			return err
		}
		left = left[n:]
	}
	computed := len(a.r.Prompt) - a.res.Cached
	var first time.Time
	for next := left; ; next = a.one[:] {
		if err := a.s.Eval(ctx, next, nil, a.choose); err != nil {
			return err
		}
		a.s.chosen = a.step.ID
		if first.IsZero() {
			a.s.cache.Mark() // another answer to the same prompt need not compute it again
			first = time.Now()
			a.res.Timings.Prefill = first.Sub(start)
		}
		on, err := a.take()
		if err != nil {
			return err
		}
		if !on {
			break
		}
		a.one[0] = a.step.ID
	}
	if a.text != nil {
		if rest := a.text.Flush(); rest != "" {
			if err := a.r.Step(Step{Alternative: Alternative{ID: -1}, Text: rest}); err != nil {
				return err
			}
		}
	}
	t := &a.res.Timings
	t.Decode = time.Since(first)
	if s := t.Prefill.Seconds(); s > 0 {
		t.PrefillTPS = float64(computed) / s
	}
	if n, s := len(a.res.Tokens)-1, t.Decode.Seconds(); n > 0 && s > 0 {
		t.DecodeTPS = float64(n) / s
	}
	return nil
}

// choose samples from a row of logits while they are valid.
func (a *answering) choose(_ int, logits []float32) error {
	var may []uint64
	if a.shape != nil {
		var err error
		if may, err = a.shape.Allow(); err != nil {
			return err
		}
	}
	id, err := a.sampler.SampleOf(logits, a.history, may)
	if err != nil {
		return err
	}
	a.step = Step{Alternative: Alternative{ID: id}}
	if a.r.Logprobs >= 0 {
		z := LogSumExp(logits)
		a.step.Logprob = float64(logits[id]) - z
		a.step.Top = best(logits, a.r.Logprobs, z)
	}
	return nil
}

// best lists the n most probable tokens, lower ids first where equal.
func best(logits []float32, n int, z float64) []Alternative {
	top := make([]Alternative, 0, n+1)
	for id, l := range logits {
		if len(top) == n && (n == 0 || float64(l) <= top[n-1].Logprob) {
			continue
		}
		at := len(top)
		for at > 0 && top[at-1].Logprob < float64(l) {
			at--
		}
		top = slices.Insert(top, at, Alternative{int32(id), float64(l)})
		top = top[:min(len(top), n)]
	}
	for i := range top {
		top[i].Logprob -= z
	}
	return top
}

// take adds the chosen token to the answer and says whether to go on.
func (a *answering) take() (on bool, err error) {
	e, id := a.s.e, a.step.ID
	if len(a.res.Tokens) >= a.limit {
		return false, nil
	}
	if e.tok != nil && (!a.r.IgnoreEOS || a.shape != nil) {
		end, err := e.isEOG(id)
		if err != nil {
			return false, err
		}
		if end {
			a.res.Finish = FinishStop
			return false, nil
		}
	}
	a.res.Tokens = append(a.res.Tokens, id)
	a.history = append(a.history, id)
	stopped := false
	if a.text != nil {
		if err := e.guard(func() error { a.piece = e.tok.AppendPiece(a.piece[:0], id, false); return nil }); err != nil {
			return false, err
		}
		a.step.Piece = a.piece
		a.step.Text, stopped = a.text.Write(a.piece)
	}
	if err := a.r.Step(a.step); err != nil {
		return false, err
	}
	if a.shape != nil {
		if err := a.shape.Accept(a.piece); err != nil {
			return false, err
		}
		stopped = stopped || a.shape.Done() // nothing but the end can follow
	}
	if stopped {
		a.res.Finish = FinishStop
		return false, nil
	}
	return len(a.res.Tokens) < a.limit && a.s.Room() > 0, nil
}
