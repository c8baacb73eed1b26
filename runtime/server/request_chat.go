package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"jns/runtime/engine"
)

// parseChat parses a body of /v1/chat/completions.
func parseChat(body []byte, f *facts) (*job, error) {
	var r struct {
		common
		Messages      []json.RawMessage          `json:"messages"`
		MaxCompletion *int                       `json:"max_completion_tokens"`
		Logprobs      bool                       `json:"logprobs"`
		TopLogprobs   *int                       `json:"top_logprobs"`
		Format        json.RawMessage            `json:"response_format"`
		Tools         json.RawMessage            `json:"tools"`
		ToolChoice    json.RawMessage            `json:"tool_choice"`
		Modalities    []string                   `json:"modalities"`
		ServiceTier   *string                    `json:"service_tier"`
		Verbosity     *string                    `json:"verbosity"`
		Effort        *string                    `json:"reasoning_effort"`
		Variables     map[string]json.RawMessage `json:"chat_template_kwargs"`
	}
	if _, err := decode(body, &r); err != nil {
		return nil, err
	}
	if !f.hasText {
		return nil, invalid("", "the model has no vocabulary; use /v1/completions with token ids")
	}
	want, err := shape(r.Format, f)
	if err != nil {
		return nil, err
	}
	for _, m := range r.Modalities {
		if m != "text" {
			return nil, unsupported("modalities", "modality %q is not supported, only text is", m)
		}
	}
	if t := r.ServiceTier; t != nil && *t != "auto" && *t != "default" {
		return nil, unsupported("service_tier", "service_tier %q is not supported", *t)
	}
	if v := r.Verbosity; v != nil && *v != "medium" {
		return nil, unsupported("verbosity", "verbosity is not supported")
	}
	if r.MaxCompletion != nil {
		if r.MaxTokens != nil && *r.MaxTokens != *r.MaxCompletion {
			return nil, invalid("max_tokens", "max_tokens and max_completion_tokens exclude each other")
		}
		r.MaxTokens = r.MaxCompletion
	}
	j, err := r.job(f, -1)
	if err != nil {
		return nil, err
	}
	j.chat, j.shape = true, want
	switch {
	case r.TopLogprobs != nil && !r.Logprobs:
		return nil, invalid("top_logprobs", "top_logprobs needs logprobs: true")
	case r.TopLogprobs != nil:
		if j.logprobs = *r.TopLogprobs; j.logprobs < 0 || j.logprobs > maxAlternatives {
			return nil, invalid("top_logprobs", "top_logprobs is %d, must be between 0 and %d", j.logprobs, maxAlternatives)
		}
	case r.Logprobs:
		j.logprobs = 0
	}
	c := &engine.Conversation{Extra: map[string]any{}}
	j.conversation = c
	if c.Messages, err = messages(r.Messages, f); err != nil {
		return nil, err
	}
	var call *engine.Shape
	if c.Tools, j.calls, call, err = tools(r.Tools, r.ToolChoice, f); err != nil {
		return nil, err
	}
	if call != nil {
		j.shape = call
	}
	for name, v := range r.Variables {
		switch name {
		case "messages", "tools", "bos_token", "eos_token", "add_generation_prompt":
			return nil, invalid("chat_template_kwargs", "chat_template_kwargs must not set %q", name)
		}
		c.Extra[name] = v
	}
	if r.Effort != nil {
		if !f.mentions("reasoning_effort") {
			return nil, unsupported("reasoning_effort", "reasoning_effort is not supported: the model's chat template does not know it")
		}
		c.Extra["reasoning_effort"] = *r.Effort
	}
	return j, nil
}

// tools reads the tools and the choice among them: what the template is to see, how calls are recognised (nil: not at all), and, where a call is demanded, its shape.
func tools(raw, choice json.RawMessage, f *facts) (shown json.RawMessage, calls *callReader, want *engine.Shape, err error) {
	fail := func(err error) (json.RawMessage, *callReader, *engine.Shape, error) { return nil, nil, nil, err }
	word, name, err := toolChoice(choice)
	if err != nil {
		return fail(err)
	}
	if word == "none" {
		return nil, nil, nil, nil
	}
	if empty(raw) {
		if word != "auto" {
			return fail(invalid("tool_choice", "tool_choice asks for a call, but there are no tools"))
		}
		return nil, nil, nil, nil
	}
	var list []struct {
		Type     string `json:"type"`
		Function *struct {
			Name       string          `json:"name"`
			Strict     bool            `json:"strict"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return fail(invalid("tools", "tools must be a list of definitions"))
	}
	calls = &callReader{d: dialectOf(f)}
	var may []engine.Tool
	for i, t := range list {
		switch {
		case t.Type != "function":
			return fail(unsupported("tools", "tool %d has type %q; only functions are supported", i, t.Type))
		case t.Function == nil || t.Function.Name == "":
			return fail(invalid("tools", "tool %d has no function with a name", i))
		case t.Function.Strict && word == "auto":
			return fail(unsupported("tools", "tool %d is strict: its arguments are held to its schema only where tool_choice demands a call", i))
		}
		calls.names = append(calls.names, t.Function.Name)
		if name != "" && name != t.Function.Name {
			continue
		}
		one := engine.Tool{Name: t.Function.Name}
		if !empty(t.Function.Parameters) {
			one.Schema = t.Function.Parameters
		}
		if _, err := engine.ToolCall([]engine.Tool{one}, calls.d.key); err != nil {
			if t.Function.Strict {
				return fail(unsupported("tools", "tool %d: %v", i, err))
			}
			one.Schema = nil // which promises an object only, as without strict it must
		}
		may = append(may, one)
	}
	if !f.mentions("tools") {
		return fail(unsupported("tools", "tools are not supported: the model's chat template has no place for them"))
	}
	if word == "auto" {
		return raw, calls, nil, nil
	}
	if len(may) == 0 {
		return fail(invalid("tool_choice", "tool_choice names %q, which is none of the tools", name))
	}
	if want, err = engine.ToolCall(may, calls.d.key); err != nil {
		return fail(unsupported("tools", "%v", err))
	}
	return raw, calls, want, nil
}

// toolChoice reads tool_choice: auto, none, required, or required together with a name.
func toolChoice(raw json.RawMessage) (word, name string, err error) {
	if empty(raw) {
		return "auto", "", nil
	}
	if json.Unmarshal(raw, &word) == nil {
		if word != "auto" && word != "none" && word != "required" {
			return "", "", invalid("tool_choice", "tool_choice is %q; it can be auto, none, required, or name a function", word)
		}
		return word, "", nil
	}
	var c struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(raw, &c) != nil || c.Type != "function" || c.Function.Name == "" {
		return "", "", unsupported("tool_choice", "tool_choice can be auto, none, required, or name a function")
	}
	return "required", c.Function.Name, nil
}

// roles are who may speak. Templates do not agree on what to do with others: some drop the message.
var roles = []string{"system", "developer", "user", "assistant", "tool", "function"}

// messages checks a conversation and puts it into the form that templates expect: text parts joined into one string, arguments of calls as objects, and the role
// developer, which few templates know, as system. All else, null content and key order included, stays as it came.
func messages(list []json.RawMessage, f *facts) (json.RawMessage, error) {
	if len(list) == 0 {
		return nil, invalid("messages", "messages is missing or empty")
	}
	out := []byte{'['}
	for i, raw := range list {
		m, err := parseObject(raw)
		if err != nil {
			return nil, invalid("messages", "message %d must be an object: %v", i, err)
		}
		var role string
		if json.Unmarshal(m.get("role"), &role) != nil || role == "" {
			return nil, invalid("messages", "message %d has no role", i)
		}
		if !slices.Contains(roles, role) {
			return nil, invalid("messages", "message %d has the role %q; roles are %s", i, role, strings.Join(roles, ", "))
		}
		if role == "developer" && !f.mentions("developer") {
			m.set("role", json.RawMessage(`"system"`))
		}
		if !empty(m.get("audio")) || !empty(m.get("function_call")) {
			return nil, unsupported("messages", "message %d has audio or a function_call; these are not supported", i)
		}
		if c := m.get("content"); len(c) > 0 {
			if c, err = content(c, i); err != nil {
				return nil, err
			}
			m.set("content", c)
		}
		if c := m.get("tool_calls"); len(c) > 0 {
			m.set("tool_calls", calls(c))
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = m.append(out)
	}
	return append(out, ']'), nil
}

// content gives a message's content as null or a string.
func content(raw json.RawMessage, message int) (json.RawMessage, error) {
	switch raw[0] {
	case '"', 'n':
		return raw, nil
	case '[':
	default:
		return nil, invalid("messages", "the content of message %d must be a string, null or a list of parts", message)
	}
	var parts []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, invalid("messages", "the content of message %d must be a string, null or a list of parts", message)
	}
	var all []string
	for k, p := range parts {
		switch {
		case p.Type != "text" && p.Type != "refusal":
			return nil, unsupported("messages", "part %d of message %d is of type %q; only text is supported", k, message, p.Type)
		case p.Type == "refusal":
			return nil, unsupported("messages", "part %d of message %d is a refusal; only text is supported", k, message)
		case p.Text == nil:
			return nil, invalid("messages", "part %d of message %d has no text", k, message)
		}
		all = append(all, *p.Text)
	}
	return encode(strings.Join(all, "\n"))
}

// calls turns the arguments of tool calls, which the API has as JSON in a string, into the objects that templates expect. What is not so stays as it came.
func calls(raw json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return raw
	}
	for i, one := range list {
		call, err := parseObject(one)
		if err != nil {
			continue
		}
		fn, err := parseObject(call.get("function"))
		if err != nil {
			continue
		}
		var text string
		if json.Unmarshal(fn.get("arguments"), &text) != nil {
			continue
		}
		if !isObject([]byte(text)) {
			continue
		}
		fn.set("arguments", json.RawMessage(text))
		call.set("function", fn.append(nil))
		list[i] = call.append(nil)
	}
	b, err := encode(list)
	if err != nil { // parts of JSON that was read
		return raw
	}
	return b
}

// object is a JSON object whose keys keep their order. A key that comes twice keeps its first place and its last value.
type object []member

type member struct {
	key   string
	value json.RawMessage
}

// maxMembers bounds the objects that are taken apart, because looking for a key is a walk. Messages and calls have a handful.
const maxMembers = 256

func isObject(raw []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte{'{'}) && json.Valid(raw)
}

func parseObject(raw json.RawMessage) (object, error) {
	if !isObject(raw) {
		return nil, errors.New("not a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	var o object
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		if o.set(key.(string), v); len(o) > maxMembers { // the keys of an object are strings
			return nil, fmt.Errorf("more than %d fields", maxMembers)
		}
	}
	return o, nil
}

func (o object) index(key string) int {
	return slices.IndexFunc(o, func(m member) bool { return m.key == key })
}

func (o object) get(key string) json.RawMessage {
	if i := o.index(key); i >= 0 {
		return o[i].value
	}
	return nil
}

func (o *object) set(key string, v json.RawMessage) {
	if i := o.index(key); i >= 0 {
		(*o)[i].value = v
		return
	}
	*o = append(*o, member{key, v})
}

func (o object) append(b []byte) []byte {
	b = append(b, '{')
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		k, err := encode(m.key)
		if err != nil { // strings always encode
			panic(err)
		}
		b = append(append(append(b, k...), ':'), m.value...)
	}
	return append(b, '}')
}

// encode is JSON without the escapes that are for web pages, so that text stays as it is.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}
