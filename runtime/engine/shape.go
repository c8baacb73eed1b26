package engine

import (
	"encoding/json"
	"sync"

	"jns/runtime/internal/grammar"
)

// ErrShape: a JSON schema that is none, or that asks for what cannot be promised; also what an Answering ends with where that shows only on the way.
var ErrShape = grammar.ErrSchema

// Shape is what an answer must look like.
type Shape struct{ schema *grammar.Schema }

// JSONObject is the shape of any JSON object.
func JSONObject() *Shape { return &Shape{grammar.Object()} }

// JSONSchema is the shape that a JSON schema says; package grammar lists the keywords that can be promised. Errors wrap ErrShape.
func JSONSchema(schema json.RawMessage) (*Shape, error) {
	s, err := grammar.Compile(schema)
	if err != nil {
		return nil, err
	}
	return &Shape{s}, nil
}

// shapeVocab is the bytes of the tokens, gathered at first use.
type shapeVocab struct {
	once  sync.Once
	vocab *grammar.Vocab
	err   error
}

func (e *Engine) shapeVocab() (*grammar.Vocab, error) {
	if e.tok == nil {
		return nil, ErrNoVocab
	}
	e.shapes.once.Do(func() {
		e.shapes.err = e.guard(func() error {
			pieces := make([][]byte, e.Vocab())
			for id := range pieces {
				pieces[id] = e.tok.AppendPiece(nil, int32(id), false)
			}
			for _, id := range e.tok.Suppressed() {
				if int(id) < len(pieces) {
					pieces[id] = nil
				}
			}
			e.shapes.vocab = grammar.NewVocab(pieces, e.tok.EOGs())
			return nil
		})
	})
	return e.shapes.vocab, e.shapes.err
}

// Tool is a function that an answer may call, and the JSON schema of its arguments; empty: any object.
type Tool = grammar.Tool

// ToolCall is the shape of one call of one of the tools: {"name": …, "arguments": …}, with the arguments under key. Errors wrap ErrShape.
func ToolCall(tools []Tool, key string) (*Shape, error) {
	s, err := grammar.Call(tools, key)
	if err != nil {
		return nil, err
	}
	return &Shape{s}, nil
}
