package jinja

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

// MaxSource is the longest template source accepted, in bytes. Published templates are below 20 KB.
const MaxSource = 1 << 20

// Kind says when and why a template failed.
type Kind int

// The kinds of Error.
const (
	Syntax  Kind = iota // the source does not parse, or uses a tag, filter or test unknown here
	Runtime             // an operation Python's jinja2 refuses too
	Raised              // the template called raise_exception; Msg is its text
	Limit               // the rendering spent its Limits
)

// Error is a failure of a template, at a line of its source (from 1; 0 if unknown).
type Error struct {
	Line int
	Kind Kind
	Msg  string
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d: %s", e.Line, e.Msg)
	}
	return e.Msg
}

// Limits bounds one rendering. A zero field takes its default.
type Limits struct {
	Steps int64 // nodes evaluated, plus text moved / 64; default 10 million, about a second or two
	Bytes int64 // text and list memory ever built, in bytes; default 256 MiB
}

func (l Limits) withDefaults() Limits {
	if l.Steps <= 0 {
		l.Steps = 10_000_000
	}
	if l.Bytes <= 0 {
		l.Bytes = 256 << 20
	}
	return l
}

// Options are the parts of a rendering's surroundings that are not variables.
type Options struct {
	Now    time.Time // what strftime_now sees, in its own location
	Limits Limits
}

// Template is a parsed template. It is immutable and safe for concurrent renderings.
type Template struct {
	body []stmt
}

// Parse parses source. Errors are *Error of kind Syntax.
func Parse(source string) (t *Template, err error) {
	if len(source) > MaxSource {
		return nil, &Error{Kind: Syntax, Msg: fmt.Sprintf("template of %d bytes is longer than %d", len(source), MaxSource)}
	}
	defer func() { err = recovered(recover(), 0, err) }()
	toks := lex(source)
	p := &parser{toks: toks}
	return &Template{body: p.parseTemplate()}, nil
}

// Render evaluates the template with the given variables, which it does not change.
// Errors are *Error.
func (t *Template) Render(vars map[string]Value, opt Options) (out string, err error) {
	in := &interp{lim: opt.Limits.withDefaults(), now: opt.Now, out: &strings.Builder{}}
	in.scope = &scope{vars: make(map[string]Value, len(vars)), parent: &scope{vars: globals}}
	for k, v := range vars {
		in.scope.vars[k] = v
	}
	in.root = in.scope
	defer func() { err = recovered(recover(), in.line, err) }()
	in.exec(t.body)
	return in.out.String(), nil
}

// recovered turns a panic into the error it carries. The parser and the interpreter leave their
// recursion by panicking with *Error (as text/template does); a run-time error of Go inside them
// would be our mistake, but must not end the process that serves other requests.
func recovered(r any, line int, err error) error {
	switch e := r.(type) {
	case nil:
		return err
	case *Error:
		if e.Line == 0 {
			e.Line = line
		}
		return e
	case runtime.Error:
		return &Error{Line: line, Kind: Runtime, Msg: "internal error: " + e.Error()}
	default:
		panic(r)
	}
}
