package server

import (
	"strings"

	"jns/runtime/engine"
)

// probabilities collects what is told about tokens, so that it goes out with the text it belongs to: a token whose text is held back, because it ends in the middle
// of a character or could become a stop string, waits too; one whose text a stop string claimed is never told.
type probabilities struct {
	e       *engine.Engine
	pending []probability
	read    int // bytes of all tokens so far
	sent    int // bytes of text given out
}

// probability is one token's entry in OpenAI's chat object.
type probability struct {
	alternative
	Top   []alternative `json:"top_logprobs"`
	begin int           // where the token's bytes begin in the text
}

type alternative struct {
	Token   string  `json:"token"`
	Logprob float64 `json:"logprob"`
	Bytes   []int   `json:"bytes"` // null for tokens that have no text
}

// add takes a step.
func (p *probabilities) add(t engine.Step) error {
	p.sent += len(t.Text)
	if t.ID < 0 {
		return nil
	}
	own, err := p.alternative(t.Alternative)
	if err != nil {
		return err
	}
	if len(t.Piece) == 0 {
		own.Bytes = nil // a mark that is not shown
	}
	e := probability{alternative: own, Top: make([]alternative, 0, len(t.Top)), begin: p.read}
	for _, x := range t.Top {
		a, err := p.alternative(x)
		if err != nil {
			return err
		}
		e.Top = append(e.Top, a)
	}
	p.pending = append(p.pending, e)
	p.read += len(t.Piece)
	return nil
}

func (p *probabilities) alternative(x engine.Alternative) (alternative, error) {
	b, err := p.e.Piece(x.ID)
	if err != nil {
		return alternative{}, err
	}
	bytes := make([]int, len(b))
	for i, c := range b {
		bytes[i] = int(c)
	}
	return alternative{Token: strings.ToValidUTF8(string(b), "\uFFFD"), Logprob: x.Logprob, Bytes: bytes}, nil
}

// certain gives the tokens whose text has begun to go out.
func (p *probabilities) certain() []probability {
	n := 0
	for n < len(p.pending) && p.pending[n].begin < p.sent {
		n++
	}
	out := p.pending[:n:n]
	p.pending = p.pending[n:]
	return out
}

// last gives what is left at the end. After a stop string that is only what belongs to text before it.
func (p *probabilities) last(finish string) []probability {
	out := p.certain()
	if finish == engine.FinishStop && p.sent < p.read {
		p.pending = nil
	}
	out = append(out, p.pending...)
	p.pending = nil
	return out
}

// object is the entries in the form of the endpoint.
func (p *probabilities) object(chat bool, list []probability) any {
	if chat {
		if list == nil {
			list = []probability{}
		}
		return struct {
			Content []probability `json:"content"`
			Refusal []probability `json:"refusal"`
		}{Content: list}
	}
	o := struct {
		Tokens   []string             `json:"tokens"`
		Logprobs []float64            `json:"token_logprobs"`
		Top      []map[string]float64 `json:"top_logprobs"`
		Offsets  []int                `json:"text_offset"`
	}{[]string{}, []float64{}, []map[string]float64{}, []int{}}
	for _, e := range list {
		top := map[string]float64{}
		for i := len(e.Top) - 1; i >= 0; i-- { // of two tokens that look the same the more probable is told
			top[e.Top[i].Token] = e.Top[i].Logprob
		}
		o.Tokens, o.Logprobs = append(o.Tokens, e.Token), append(o.Logprobs, e.Logprob)
		o.Top, o.Offsets = append(o.Top, top), append(o.Offsets, e.begin)
	}
	return o
}
