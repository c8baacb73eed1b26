package server

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// Models write calls of tools as text, each family in its own way. A dialect is one way: what a call begins with and what it ends with. Between them stands
// {"name": …, "arguments": …}, or a list of such objects. What the markers are is published with the models' chat templates, which show calls to the model in the same form.
type dialect struct {
	open, end string // no end: the call goes on to the end of the answer
	key       string // what the arguments are called
	shortIDs  bool   // the template wants ids of nine letters and digits
}

// dialects are tried in this order; a template that mentions a marker speaks that dialect.
var dialects = []dialect{
	{open: "[TOOL_CALLS]", key: "arguments", shortIDs: true},     // Mistral
	{open: "<tool_call>", end: "</tool_call>", key: "arguments"}, // Hermes, Qwen
	{open: "<|tool_call|>", key: "arguments"},                    // Granite
	{open: "<|python_tag|>", key: "parameters"},                  // Llama 3
}

// plain is the dialect of a template that names no marker: the answer is the call.
var plain = dialect{key: "arguments"}

func dialectOf(f *facts) dialect {
	for _, d := range dialects {
		if f.mentions(d.open) {
			return d
		}
	}
	return plain
}

// toolCall is a call as OpenAI's API has it. Index stands in chunks only.
type toolCall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"` // JSON
	} `json:"function"`
}

// callReader finds calls in an answer while it comes. What turns out to be none is text, as it was written.
type callReader struct {
	d     dialect
	names []string // tools that may be called
	begun bool     // something other than white space was given out
	in    bool     // behind a marker
	held  []byte   // not decided yet
	seen  int      // bytes of held that need not be looked at again: white space it begins with, or, behind a marker, what holds no beginning of the end
	found int      // calls so far
}

// marker says whether a token that has no text in an answer stands for one of the markers.
func (c *callReader) marker(piece string) bool {
	piece = strings.TrimSpace(piece)
	return piece != "" && (piece == c.d.open || piece == c.d.end)
}

// write takes the next piece of the answer and gives what has been decided.
func (c *callReader) write(piece string) (text string, calls []toolCall) {
	c.held = append(c.held, piece...)
	for {
		if c.in {
			i := bytes.Index(c.held[c.seen:], []byte(c.d.end))
			if c.d.end == "" || i < 0 {
				c.seen = max(0, len(c.held)-max(len(c.d.end)-1, 0))
				return text, calls
			}
			i += c.seen
			body := string(c.held[:i])
			c.take(i + len(c.d.end))
			c.in = false
			if got := c.parse(body); got != nil {
				calls = append(calls, got...)
			} else {
				text += c.d.open + body + c.d.end
			}
			continue
		}
		if !c.begun {
			for c.seen < len(c.held) && strings.IndexByte(" \t\r\n", c.held[c.seen]) >= 0 {
				c.seen++
			}
			if c.mayBeCall(c.held[c.seen:]) {
				return text, calls // the end will tell
			}
			c.seen = 0
		}
		i := -1
		if c.d.open != "" {
			i = bytes.Index(c.held, []byte(c.d.open))
		}
		if i < 0 {
			n := len(c.held) - partial(c.held, c.d.open)
			n = len(bytes.TrimRight(c.held[:n], "\r\n")) // line ends before a call belong to it
			text += string(c.held[:n])
			c.take(n)
			c.begun = c.begun || strings.TrimSpace(text) != ""
			return text, calls
		}
		text += string(bytes.TrimRight(c.held[:i], "\r\n"))
		c.take(i + len(c.d.open))
		c.in, c.begun = true, true
	}
}

// mayBeCall says whether an answer that begins so, white space apart, may be a call without a marker.
func (c *callReader) mayBeCall(start []byte) bool {
	switch {
	case len(start) == 0 || start[0] == '{':
		return true
	case start[0] != '[':
		return false
	}
	n := min(len(start), len(c.d.open)) // the bracket may be the marker's
	return n == 0 || c.d.open[:n] != string(start[:n])
}

// take drops the first n bytes that are held.
func (c *callReader) take(n int) {
	c.held, c.seen = append(c.held[:0], c.held[n:]...), 0
}

// end gives what is left when the answer ends.
func (c *callReader) end() (text string, calls []toolCall) {
	body, was := string(c.held), c.in
	c.take(len(c.held))
	c.in = false
	if was || !c.begun {
		if calls = c.parse(body); calls != nil {
			return "", calls
		}
	}
	switch {
	case was:
		body = c.d.open + body
	case c.found > 0 && strings.TrimSpace(body) == "": // behind a call
		body = ""
	}
	return body, nil
}

// partial is the length of the longest end of s that the marker begins with.
func partial(s []byte, marker string) int {
	for n := min(len(s), len(marker)-1); n > 0; n-- {
		if string(s[len(s)-n:]) == marker[:n] {
			return n
		}
	}
	return 0
}

// parse reads calls: JSON objects or a list of them, separated by white space or semicolons, or NAME[ARGS]{…}. It gives nil if anything is none, or calls what was not offered.
func (c *callReader) parse(body string) (calls []toolCall) {
	add := func(name string, arguments json.RawMessage) bool {
		var text string
		switch {
		case len(arguments) == 0 || string(arguments) == "null":
			text = "{}"
		case arguments[0] == '"': // JSON in a string, as in the API
			if json.Unmarshal(arguments, &text) != nil {
				return false
			}
		default:
			text = string(arguments)
		}
		if !slices.Contains(c.names, name) || !isObject([]byte(text)) {
			return false
		}
		t := toolCall{ID: c.id(), Type: "function"}
		t.Function.Name, t.Function.Arguments = name, text
		calls = append(calls, t)
		return true
	}
	for rest := strings.TrimSpace(body); rest != ""; rest = strings.TrimLeft(rest, " \t\r\n;") {
		name, after, named := strings.Cut(rest, "[ARGS]")
		if named = named && !strings.ContainsAny(name, `{["`); named {
			rest = after
		}
		d := json.NewDecoder(strings.NewReader(rest))
		var v json.RawMessage
		if d.Decode(&v) != nil {
			return nil
		}
		rest = rest[d.InputOffset():]
		if named {
			if !add(strings.TrimSpace(name), v) {
				return nil
			}
			continue
		}
		list := []json.RawMessage{v}
		if bytes.HasPrefix(v, []byte("[")) && json.Unmarshal(v, &list) != nil {
			return nil
		}
		for _, one := range list {
			var f struct {
				Name       string          `json:"name"`
				Arguments  json.RawMessage `json:"arguments"`
				Parameters json.RawMessage `json:"parameters"`
			}
			if json.Unmarshal(one, &f) != nil {
				return nil
			}
			if f.Arguments == nil {
				f.Arguments = f.Parameters
			}
			if !add(f.Name, f.Arguments) {
				return nil
			}
		}
	}
	c.found += len(calls)
	return calls
}

func (c *callReader) id() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	s := hex.EncodeToString(b[:])
	if c.d.shortIDs {
		return s[:9]
	}
	return "call_" + s
}
