package engine

import (
	"time"

	"jns/runtime/internal/chat"
	"jns/runtime/internal/token"
)

// Errors of templates.
var (
	ErrTemplate  = chat.ErrTemplate
	ErrChatInput = chat.ErrInput
)

// Message is one turn of a conversation.
type Message = chat.Message

// ChatOptions say how a conversation becomes a prompt.
type ChatOptions struct {
	Generate bool // end with the words that make the model answer
	// Now is the time that a template may print; the zero value is the time of the call.
	Now time.Time
}

// ChatText renders a conversation with the model's own template. There is no fallback: a model without a template, or whose template cannot be rendered, is an error.
func (e *Engine) ChatText(m []Message, o ChatOptions) (string, error) {
	t, err := e.Template()
	if err != nil {
		return "", err
	}
	in := chat.Input{Messages: chat.Messages(m...), AddGenerationPrompt: o.Generate, Now: o.Now}
	if in.Now.IsZero() {
		in.Now = time.Now()
	}
	if e.tok != nil {
		if err := e.guard(func() error { in.BOS, in.EOS = e.tok.BOSText(), e.tok.EOSText(); return nil }); err != nil {
			return "", err
		}
	}
	return t.Render(in)
}

// ChatTokens is ChatText as token ids. The template writes special tokens itself, so none are added.
func (e *Engine) ChatTokens(m []Message, o ChatOptions) (ids []int32, err error) {
	if e.tok == nil {
		return nil, ErrNoVocab
	}
	text, err := e.ChatText(m, o)
	if err != nil {
		return nil, err
	}
	err = e.guard(func() error {
		ids, err = e.tok.Encode(text, token.Options{AddSpecial: false, ParseSpecial: true})
		return err
	})
	return ids, err
}
