package server

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"jns/runtime/engine"
)

// sink turns the steps of an answer into a response.
type sink interface {
	start(cached int) error // before anything is computed; what fails later can only be told in the response that has begun
	step(engine.Step) error
	finish(*engine.Answered) error
}

// usage counts tokens as OpenAI's object does.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// receipt says what really ran: the engine's since it was opened, and this answer's.
type receipt struct {
	engine.Receipt
	Sampling   string  `json:"sampling"` // every parameter that decided the choice of tokens
	Cached     int     `json:"cached_tokens"`
	PrefillTPS float64 `json:"prefill_tps"`
	DecodeTPS  float64 `json:"decode_tps"`
}

// head is what all documents of an answer begin with.
type head struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	Model       string `json:"model"`
	Fingerprint string `json:"system_fingerprint"`
}

// document is a whole answer, or a chunk of one.
type document struct {
	head
	Choices []choice `json:"choices"`
	Usage   any      `json:"usage,omitempty"`
	Receipt *receipt `json:"receipt,omitempty"`
}

// choice is an answer or a piece of one. Of text, message and delta one is there.
type choice struct {
	Index    int       `json:"index"`
	Text     *string   `json:"text,omitempty"`
	Message  *answered `json:"message,omitempty"`
	Delta    *message  `json:"delta,omitempty"`
	Logprobs any       `json:"logprobs"`
	Finish   *string   `json:"finish_reason"`
	TokenIDs []int32   `json:"token_ids,omitempty"`
}

type message struct {
	Role    string     `json:"role,omitempty"`
	Content *string    `json:"content,omitempty"`
	Refusal *string    `json:"refusal,omitempty"`
	Calls   []toolCall `json:"tool_calls,omitempty"`
}

// answered is a whole message: one that only calls tools has a content too, which is null.
type answered message

func (m answered) MarshalJSON() ([]byte, error) {
	return encode(struct {
		Role    string     `json:"role"`
		Content *string    `json:"content"`
		Calls   []toolCall `json:"tool_calls,omitempty"`
	}{m.Role, m.Content, m.Calls})
}

// null is a usage that is spelled out: chunks before the last have it when usage was asked for.
type null struct{}

func (null) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// answerBase is what both sinks have.
type answerBase struct {
	s      *Server
	w      *recorder
	j      *job
	prompt []int32
	cached int
	head   head
	probs  probabilities
	echo   string // text that the answer begins with
}

func (s *Server) response(w http.ResponseWriter, j *job, prompt []int32) (sink, error) {
	var id [12]byte
	_, _ = rand.Read(id[:]) // never fails
	b := answerBase{s: s, w: w.(*recorder), j: j, prompt: prompt, probs: probabilities{e: s.e}}
	b.head = head{ID: "cmpl-" + hex.EncodeToString(id[:]), Object: "text_completion", Created: time.Now().Unix(), Model: s.o.Model, Fingerprint: s.print}
	if j.chat {
		b.head.ID, b.head.Object = "chat"+b.head.ID, "chat.completion"
		if j.stream {
			b.head.Object += ".chunk"
		}
	}
	if j.echo {
		switch {
		case j.text != nil:
			b.echo = *j.text
		case s.e.HasVocab():
			var err error
			if b.echo, err = s.e.Detokenize(prompt); err != nil {
				return nil, err
			}
		}
	}
	if j.stream {
		return &streamed{answerBase: b}, nil
	}
	return &whole{answerBase: b}, nil
}

func (b *answerBase) usage(res *engine.Answered) *usage {
	u := &usage{Prompt: len(b.prompt), Completion: len(res.Tokens), Total: len(b.prompt) + len(res.Tokens)}
	u.Details.Cached = b.cached
	return u
}

func (b *answerBase) receipt(res *engine.Answered) *receipt {
	if !b.j.receipt {
		return nil
	}
	return &receipt{Receipt: b.s.e.Receipt(), Sampling: b.j.params.String(), Cached: b.cached, PrefillTPS: res.Timings.PrefillTPS, DecodeTPS: res.Timings.DecodeTPS}
}

func (b *answerBase) detail(res *engine.Answered) {
	b.w.detail = strings.Join([]string{strconv.Itoa(len(b.prompt)), "prompt,", strconv.Itoa(b.cached), "cached,", strconv.Itoa(len(res.Tokens)), "generated,", res.Finish}, " ")
}

// choice is one with the fields that the endpoint and the way of answering call for. role: this is the first chunk of a chat.
func (b *answerBase) choice(text string, lp any, ids []int32, finish string) choice {
	c := choice{Logprobs: lp}
	if b.j.tokenIDs {
		c.TokenIDs = ids
	}
	if finish != "" {
		c.Finish = &finish
	}
	switch {
	case !b.j.chat:
		c.Text = &text
	case b.j.stream:
		c.Delta = &message{}
		if text != "" || lp != nil {
			c.Delta.Content = &text
		}
	default:
		c.Message = &answered{Role: "assistant", Content: &text}
	}
	return c
}

// read parts what a step has made certain into text and calls of tools.
func (b *answerBase) read(t engine.Step) (text string, calls []toolCall, err error) {
	r := b.j.calls
	if r == nil {
		return t.Text, nil, nil
	}
	text, calls = r.write(t.Text)
	if t.ID >= 0 && len(t.Piece) == 0 { // a control token, whose text no answer shows
		piece, err := b.s.e.Piece(t.ID)
		if err != nil {
			return "", nil, err
		}
		if r.marker(string(piece)) {
			more, found := r.write(strings.TrimSpace(string(piece)))
			text, calls = text+more, append(calls, found...)
		}
	}
	return text, calls, nil
}

// rest is what is left at the end, and the reason why the answer ended.
func (b *answerBase) rest(finish string) (text string, calls []toolCall, reason string) {
	r := b.j.calls
	if r == nil {
		return "", nil, finish
	}
	text, calls = r.end()
	if r.found > 0 && finish == engine.FinishStop {
		finish = "tool_calls"
	}
	return text, calls, finish
}

// whole answers with one document.
type whole struct {
	answerBase
	text  strings.Builder
	calls []toolCall
}

func (a *whole) start(cached int) error {
	a.cached = cached
	a.text.WriteString(a.echo)
	return nil
}

func (a *whole) step(t engine.Step) error {
	text, calls, err := a.read(t)
	if err != nil {
		return err
	}
	a.text.WriteString(text)
	a.calls = append(a.calls, calls...)
	if a.j.logprobs >= 0 {
		return a.probs.add(t)
	}
	return nil
}

func (a *whole) finish(res *engine.Answered) error {
	var lp any
	if a.j.logprobs >= 0 {
		lp = a.probs.object(a.j.chat, a.probs.last(res.Finish))
	}
	text, calls, reason := a.rest(res.Finish)
	a.text.WriteString(text)
	c := a.choice(a.text.String(), lp, res.Tokens, reason)
	if c.Message != nil {
		c.Message.Calls = append(a.calls, calls...)
		if len(c.Message.Calls) > 0 && strings.TrimSpace(a.text.String()) == "" {
			c.Message.Content = nil
		}
	}
	d := document{head: a.head, Choices: []choice{c}, Usage: a.usage(res), Receipt: a.receipt(res)}
	a.detail(res)
	writeJSON(a.w, http.StatusOK, d)
	return nil
}

// streamed answers with server-sent events, one for each piece of text that became certain.
type streamed struct {
	answerBase
	ids  []int32 // of tokens not yet told
	sent int     // calls
}

func (a *streamed) start(cached int) error {
	a.cached = cached
	h := a.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // proxies must not collect events
	a.w.WriteHeader(http.StatusOK)
	a.w.events = true
	switch {
	case a.j.chat:
		c := a.choice("", nil, nil, "")
		nothing := ""
		c.Delta.Role, c.Delta.Content = "assistant", &nothing
		return a.send(c)
	case a.echo != "":
		return a.send(a.choice(a.echo, nil, nil, ""))
	}
	return send(a.w, nil)
}

func (a *streamed) step(t engine.Step) (err error) {
	if a.j.tokenIDs && t.ID >= 0 {
		a.ids = append(a.ids, t.ID)
	}
	if a.j.logprobs >= 0 {
		if err := a.probs.add(t); err != nil {
			return err
		}
	}
	text, calls, err := a.read(t)
	if err != nil {
		return err
	}
	defer func() { // calls follow the text before them
		if err == nil {
			err = a.sendCalls(calls)
		}
	}()
	if text == "" && (a.s.facts.hasText || len(a.ids) == 0) {
		return nil
	}
	var lp any
	if a.j.logprobs >= 0 {
		lp = a.probs.object(a.j.chat, a.probs.certain())
	}
	c := a.choice(text, lp, a.ids, "")
	a.ids = a.ids[:0]
	return a.send(c)
}

func (a *streamed) finish(res *engine.Answered) error {
	var lp any
	if a.j.logprobs >= 0 {
		if l := a.probs.last(res.Finish); len(l) > 0 {
			lp = a.probs.object(a.j.chat, l)
		}
	}
	a.detail(res)
	text, calls, reason := a.rest(res.Finish)
	if text != "" {
		if err := a.send(a.choice(text, nil, nil, "")); err != nil {
			return err
		}
	}
	if err := a.sendCalls(calls); err != nil {
		return err
	}
	if err := a.send(a.choice("", lp, a.ids, reason)); err != nil {
		return err
	}
	if a.j.includeUsage || a.j.receipt {
		d := document{head: a.head, Choices: []choice{}, Receipt: a.receipt(res)}
		if a.j.includeUsage {
			d.Usage = a.usage(res)
		}
		if err := a.sendDocument(d); err != nil {
			return err
		}
	}
	return send(a.w, []byte("data: [DONE]\n\n"))
}

// sendCalls sends each call in one piece: it is told apart from text only when it is whole.
func (a *streamed) sendCalls(calls []toolCall) error {
	for i := range calls {
		n := a.sent
		calls[i].Index = &n
		a.sent++
		c := a.choice("", nil, nil, "")
		c.Delta.Calls = calls[i : i+1]
		if err := a.send(c); err != nil {
			return err
		}
	}
	return nil
}

func (a *streamed) send(c choice) error {
	d := document{head: a.head, Choices: []choice{c}}
	if a.j.includeUsage {
		d.Usage = null{}
	}
	return a.sendDocument(d)
}

func (a *streamed) sendDocument(d document) error {
	return event(a.w, d)
}

// event sends one event at once.
func event(w http.ResponseWriter, v any) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	line := make([]byte, 0, len(b)+8)
	line = append(append(append(line, "data: "...), b...), "\n\n"...)
	return send(w, line)
}

// send writes and flushes. Errors wrap errGone.
func send(w http.ResponseWriter, b []byte) error {
	_, err := w.Write(b)
	if err == nil {
		err = http.NewResponseController(w).Flush()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return nil
}
