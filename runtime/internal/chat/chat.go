// Package chat turns a conversation into a prompt by the model's own chat template.
//
// The nouns: Template (a model's template, parsed), Input (one conversation and its settings),
// Error (a refusal, with the template's line). The prompt is text; it is to be tokenized without
// adding special tokens, because the template writes them itself.
//
// There is no fallback: a template that does not parse, or that refuses the conversation, is an
// error. The package must not know tokenizers, models or HTTP; it imports only the interpreter.
package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"jns/runtime/internal/jinja"
)

// ErrTemplate says that a template could not be parsed or did not render. Every error of this
// package wraps it except those about the input's JSON, which wrap ErrInput.
var ErrTemplate = errors.New("chat template")

// ErrInput says that messages, tools or extra variables are not what a template can be given.
var ErrInput = errors.New("chat input")

// Error is a template's failure.
type Error struct {
	Line   int    // of the template, from 1; 0 if unknown
	Raised bool   // the template refused the conversation itself, by raise_exception
	Text   string // what is wrong; if Raised, exactly the template's words
}

func (e *Error) Error() string {
	text := e.Text
	if e.Raised {
		text = "the template refuses this conversation: " + text
	}
	if e.Line > 0 {
		return fmt.Sprintf("%v line %d: %s", ErrTemplate, e.Line, text)
	}
	return fmt.Sprintf("%v: %s", ErrTemplate, text)
}

// Unwrap returns ErrTemplate.
func (e *Error) Unwrap() error { return ErrTemplate }

// Template is a parsed chat template, safe for concurrent use.
type Template struct{ t *jinja.Template }

// New parses a template's source. It refuses what the interpreter does not know (errors are *Error),
// so a model with an unsupported template is noticed when it is opened.
func New(source string) (*Template, error) {
	t, err := jinja.Parse(source)
	if err != nil {
		return nil, wrap(err)
	}
	return &Template{t}, nil
}

// Message is a plain message; Messages makes JSON of several.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Messages encodes plain messages for Input.
func Messages(ms ...Message) json.RawMessage {
	if ms == nil {
		ms = []Message{}
	}
	b, err := json.Marshal(ms)
	if err != nil { // strings always encode
		panic(err)
	}
	return b
}

// Input is one conversation.
type Input struct {
	// Messages is a JSON array of message objects, as the OpenAI API has them; content may be null
	// or an array of parts. Key order reaches the prompt, so it is kept.
	Messages json.RawMessage
	// Tools is a JSON array of tool definitions; empty: the template sees no variable "tools"
	// (JSON null: it sees none, which some templates tell apart).
	Tools json.RawMessage
	// AddGenerationPrompt asks for the header of the assistant's answer at the end.
	AddGenerationPrompt bool
	// BOS and EOS are the texts of the model's special tokens.
	BOS, EOS string
	// Extra are more variables, such as enable_thinking; they win over the fields above. A
	// json.RawMessage keeps its key order, a Go map is sorted by key.
	Extra map[string]any
	// Now is the time the template may print, in the zone it is to be printed in.
	Now time.Time
	// Limits bounds the rendering; the zero value suits every published template.
	Limits jinja.Limits
}

// Render returns the prompt. Errors wrap ErrTemplate (as *Error) or ErrInput.
func (t *Template) Render(in Input) (string, error) {
	vars, err := in.vars()
	if err != nil {
		return "", err
	}
	out, err := t.t.Render(vars, jinja.Options{Now: in.Now, Limits: in.Limits})
	if err != nil {
		return "", wrap(err)
	}
	return out, nil
}

// vars builds the template's variables.
func (in *Input) vars() (map[string]jinja.Value, error) {
	messages := in.Messages
	if len(messages) == 0 {
		messages = json.RawMessage("[]")
	}
	m, err := jinja.FromJSON(messages)
	if err != nil {
		return nil, fmt.Errorf("%w: messages: %v", ErrInput, err)
	}
	list, ok := m.(*jinja.List)
	if !ok {
		return nil, fmt.Errorf("%w: messages must be a JSON array", ErrInput)
	}
	for i, one := range list.Items {
		if _, ok := one.(*jinja.Dict); !ok {
			return nil, fmt.Errorf("%w: message %d must be a JSON object", ErrInput, i)
		}
	}
	vars := map[string]jinja.Value{
		"messages":              m,
		"add_generation_prompt": in.AddGenerationPrompt,
		"bos_token":             in.BOS,
		"eos_token":             in.EOS,
	}
	if len(in.Tools) > 0 {
		if vars["tools"], err = jinja.FromJSON(in.Tools); err != nil {
			return nil, fmt.Errorf("%w: tools: %v", ErrInput, err)
		}
	}
	for name, v := range in.Extra {
		if vars[name], err = jinja.FromGo(v); err != nil {
			return nil, fmt.Errorf("%w: variable %q: %v", ErrInput, name, err)
		}
	}
	return vars, nil
}

func wrap(err error) error {
	var e *jinja.Error
	if errors.As(err, &e) {
		return &Error{Line: e.Line, Raised: e.Kind == jinja.Raised, Text: e.Msg}
	}
	return fmt.Errorf("%w: %w", ErrTemplate, err)
}
