package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"jns/runtime/engine"
)

// facts are what the parser of requests must know about the model.
type facts struct {
	model    string
	vocab    int
	hasText  bool
	defaults engine.SampleParams
	seeded   bool                   // defaults.Seed is meant
	mentions func(word string) bool // whether the chat template knows a word
	check    func(engine.SampleParams) error
}

// job is one request, parsed and checked. Exactly one of conversation, text and ids is set.
type job struct {
	chat         bool
	conversation *engine.Conversation
	text         *string
	ids          []int32

	params       engine.SampleParams
	maxTokens    int // negative: until the context is full
	stop         []string
	stream       bool
	includeUsage bool
	ignoreEOS    bool
	tokenIDs     bool // tell the ids of the answer's tokens
	receipt      bool
	echo         bool
	calls        *callReader   // finds calls of tools in the answer; nil: there are no tools
	shape        *engine.Shape // what the answer must look like; nil: anything
	logprobs     int           // alternatives a token; negative: no probabilities
}

// common are the fields that both endpoints have.
type common struct {
	Model            *string             `json:"model"`
	Temperature      *float64            `json:"temperature"`
	TopP             *float64            `json:"top_p"`
	TopK             *int                `json:"top_k"`
	MinP             *float64            `json:"min_p"`
	TypicalP         *float64            `json:"typical_p"`
	FrequencyPenalty *float64            `json:"frequency_penalty"`
	PresencePenalty  *float64            `json:"presence_penalty"`
	RepeatPenalty    *float64            `json:"repeat_penalty"`
	Repetition       *float64            `json:"repetition_penalty"`
	LogitBias        map[string]*float64 `json:"logit_bias"`
	Seed             *int64              `json:"seed"`
	Stop             texts               `json:"stop"`
	N                *int                `json:"n"`
	MaxTokens        *int                `json:"max_tokens"`
	IgnoreEOS        bool                `json:"ignore_eos"`
	TokenIDs         bool                `json:"return_token_ids"`
	Receipt          bool                `json:"receipt"`
	Stream           bool                `json:"stream"`
	StreamOptions    *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// texts is a string or a list of strings.
type texts []string

func (t *texts) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*t = make([]string, 1)
		return json.Unmarshal(b, &(*t)[0])
	}
	var list []string // null gives nil
	err := json.Unmarshal(b, &list)
	*t = list
	return err
}

// refused are fields that would change an answer and that this server does not implement. A value that asks for nothing passes: null, false, 0, "", [], {}.
var refused = map[string]string{
	"best_of":            "only one answer is computed",
	"use_beam_search":    "there is no beam search",
	"suffix":             "filling in the middle is not supported",
	"functions":          "use tools",
	"function_call":      "use tools",
	"audio":              "only text is answered",
	"web_search_options": "there is no web search",
	"store":              "answers are not stored",
	"grammar":            "use response_format",
	"json_schema":        "use response_format",
	"structured_outputs": "use response_format",
	"guided_json":        "use response_format",
	"guided_regex":       "use response_format",
	"guided_choice":      "use response_format",
	"guided_grammar":     "use response_format",
	"bad_words":          "use logit_bias",
	"min_tokens":         "a least length is not supported",
	"stop_token_ids":     "use stop",
	"mirostat":           "this sampler is not supported",
	"dynatemp_range":     "this sampler is not supported",
	"xtc_probability":    "this sampler is not supported",
	"dry_multiplier":     "this sampler is not supported",
	"top_n_sigma":        "this sampler is not supported",
	"top_a":              "this sampler is not supported",
	"prompt_logprobs":    "probabilities of the prompt are not supported",
	"lora":               "adapters are not supported",
}

// empty reports whether a JSON value asks for nothing.
func empty(v json.RawMessage) bool {
	switch string(bytes.TrimSpace(v)) {
	case "", "null", "false", "0", "0.0", `""`, "[]", "{}":
		return true
	}
	return false
}

// decode parses a body into a request's fields, after the fields that are not supported have been looked for.
func decode(body []byte, into any) (fields map[string]json.RawMessage, err error) {
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, badJSON(err)
	}
	if fields == nil {
		return nil, invalid("", "the body must be a JSON object")
	}
	for name, why := range refused {
		if v, ok := fields[name]; ok && !empty(v) && !(name == "best_of" && string(v) == "1") {
			return nil, unsupported(name, "%s is not supported: %s", name, why)
		}
	}
	if err := json.Unmarshal(body, into); err != nil {
		return nil, badJSON(err)
	}
	return fields, nil
}

func badJSON(err error) *apiError {
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		if t.Field == "" {
			return invalid("", "the body must be a JSON object, not %s", t.Value)
		}
		field := strings.TrimPrefix(t.Field, "common.") // the embedded struct is no part of the request
		return invalid(field, "%s: a JSON %s cannot be used here", field, t.Value)
	}
	return invalid("", "the body is not JSON: %v", err)
}

// job checks the common fields. fallback is how many tokens an answer has at most when the request does not say.
func (c *common) job(f *facts, fallback int) (*job, error) {
	if c.Model != nil && *c.Model != "" && *c.Model != f.model {
		return nil, unknownModel(*c.Model, f.model)
	}
	if c.N != nil && *c.N != 1 {
		return nil, unsupported("n", "n is %d; only one answer a request is supported", *c.N)
	}
	if c.StreamOptions != nil && !c.Stream {
		return nil, invalid("stream_options", "stream_options needs stream: true")
	}
	j := &job{maxTokens: fallback, stop: c.Stop, stream: c.Stream, ignoreEOS: c.IgnoreEOS, tokenIDs: c.TokenIDs || !f.hasText, receipt: c.Receipt, logprobs: -1}
	j.includeUsage = c.StreamOptions != nil && c.StreamOptions.IncludeUsage
	if c.MaxTokens != nil {
		if j.maxTokens = *c.MaxTokens; j.maxTokens < 1 {
			return nil, invalid("max_tokens", "max_tokens is %d, must be at least 1", j.maxTokens)
		}
	}
	if len(j.stop) > 0 && !f.hasText {
		return nil, invalid("stop", "the model has no vocabulary, so there are no texts to stop at")
	}
	if err := engine.CheckStop(j.stop); err != nil {
		return nil, invalid("stop", "%v", err)
	}
	var err error
	j.params, err = c.sampling(f)
	return j, err
}

// sampling fills the parameters over the server's defaults. The bounds are those of OpenAI's API where it has the field.
func (c *common) sampling(f *facts) (engine.SampleParams, error) {
	p := f.defaults
	if c.RepeatPenalty == nil {
		c.RepeatPenalty = c.Repetition
	}
	for _, x := range []struct {
		name   string
		from   *float64
		to     *float32
		lo, hi float64
	}{
		{"temperature", c.Temperature, &p.Temperature, 0, 2},
		{"top_p", c.TopP, &p.TopP, 0, 1},
		{"min_p", c.MinP, &p.MinP, 0, 1},
		{"typical_p", c.TypicalP, &p.Typical, 0, 1},
		{"frequency_penalty", c.FrequencyPenalty, &p.FrequencyPenalty, -2, 2},
		{"presence_penalty", c.PresencePenalty, &p.PresencePenalty, -2, 2},
		{"repeat_penalty", c.RepeatPenalty, &p.RepeatPenalty, 0.01, 100},
	} {
		if x.from == nil {
			continue
		}
		if *x.from < x.lo || *x.from > x.hi {
			return p, invalid(x.name, "%s is %v, must be between %v and %v", x.name, *x.from, x.lo, x.hi)
		}
		*x.to = float32(*x.from)
	}
	if c.TopK != nil {
		p.TopK = max(*c.TopK, 0) // −1 means off elsewhere
		if *c.TopK < -1 {
			return p, invalid("top_k", "top_k is %d, must not be negative (0: off)", *c.TopK)
		}
	}
	switch {
	case c.Seed != nil:
		p.Seed = uint64(*c.Seed)
	case !f.seeded:
		p.Seed = rand.Uint64()
	}
	if err := bias(c.LogitBias, &p, f.vocab); err != nil {
		return p, err
	}
	if err := f.check(p); err != nil {
		return p, invalid("", "%v", err)
	}
	return p, nil
}

func bias(from map[string]*float64, p *engine.SampleParams, vocab int) error {
	if len(from) == 0 {
		return nil
	}
	to := make(map[int32]float32, len(from)+len(p.LogitBias))
	for id, v := range p.LogitBias {
		to[id] = v
	}
	for key, v := range from {
		id, err := strconv.ParseInt(key, 10, 32)
		if err != nil || id < 0 || id >= int64(vocab) {
			return invalid("logit_bias", "logit_bias: %q is not the id of one of the %d tokens", key, vocab)
		}
		if v == nil || math.Abs(*v) > 100 {
			return invalid("logit_bias", "logit_bias of token %d must be between -100 and 100", id)
		}
		to[int32(id)] = float32(*v)
	}
	p.LogitBias = to
	return nil
}

// maxAlternatives are OpenAI's bounds of top_logprobs and, for completions, logprobs.
const (
	maxAlternatives           = 20
	maxCompletionAlternatives = 5
)

// parseCompletion parses a body of /v1/completions.
func parseCompletion(body []byte, f *facts) (*job, error) {
	var r struct {
		common
		Prompt   json.RawMessage `json:"prompt"`
		Echo     bool            `json:"echo"`
		Logprobs *int            `json:"logprobs"`
		Format   json.RawMessage `json:"response_format"`
		Tools    json.RawMessage `json:"tools"`
	}
	if _, err := decode(body, &r); err != nil {
		return nil, err
	}
	want, err := shape(r.Format, f)
	if err != nil {
		return nil, err
	}
	if !empty(r.Tools) {
		return nil, unsupported("tools", "tools need /v1/chat/completions")
	}
	j, err := r.job(f, 16) // OpenAI's default
	if err != nil {
		return nil, err
	}
	j.echo, j.shape = r.Echo, want
	if r.Logprobs != nil {
		if j.logprobs = *r.Logprobs; j.logprobs < 0 || j.logprobs > maxCompletionAlternatives {
			return nil, invalid("logprobs", "logprobs is %d, must be between 0 and %d", j.logprobs, maxCompletionAlternatives)
		}
		if j.echo {
			return nil, unsupported("logprobs", "logprobs together with echo is not supported")
		}
		if !f.hasText {
			return nil, unsupported("logprobs", "logprobs of a model without a vocabulary is not supported")
		}
	}
	return j, j.prompt(r.Prompt, f, true)
}

// prompt takes a string, a list of one string, a list of ids, or a list of one list of ids.
func (j *job) prompt(raw json.RawMessage, f *facts, outer bool) error {
	var text string
	var list []json.RawMessage
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return invalid("prompt", "prompt is missing")
	case json.Unmarshal(raw, &text) == nil:
		j.text = &text
	case json.Unmarshal(raw, &list) != nil:
		return invalid("prompt", "prompt must be a string or a list of token ids")
	case len(list) == 0:
		return invalid("prompt", "prompt is empty")
	case outer && (list[0][0] == '"' || list[0][0] == '['):
		if len(list) > 1 {
			return unsupported("prompt", "prompt holds %d prompts; only one a request is supported", len(list))
		}
		return j.prompt(list[0], f, false)
	case bytes.Contains(raw, []byte("null")), json.Unmarshal(raw, &j.ids) != nil:
		return invalid("prompt", "prompt must be a string or a list of token ids")
	}
	if j.text != nil && !f.hasText {
		return invalid("prompt", "the model has no vocabulary; prompt must be a list of token ids")
	}
	for i, id := range j.ids {
		if id < 0 || int(id) >= f.vocab {
			return invalid("prompt", "token %d of prompt is %d; the vocabulary has %d tokens", i, id, f.vocab)
		}
	}
	return nil
}

// shape reads response_format: what the answer must look like, nil for any text.
func shape(raw json.RawMessage, f *facts) (*engine.Shape, error) {
	if empty(raw) {
		return nil, nil
	}
	var r struct {
		Type   string `json:"type"`
		Schema *struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, invalid("response_format", "response_format must be an object with a type")
	}
	switch {
	case r.Type == "text":
		return nil, nil
	case r.Type != "json_object" && r.Type != "json_schema":
		return nil, unsupported("response_format", "response_format %q is not supported; text, json_object and json_schema are", r.Type)
	case !f.hasText:
		return nil, unsupported("response_format", "the model has no vocabulary, so that its output cannot be constrained")
	case r.Type == "json_object":
		return engine.JSONObject(), nil
	case r.Schema == nil || len(r.Schema.Schema) == 0:
		return nil, invalid("response_format", "response_format.json_schema.schema is missing")
	}
	s, err := engine.JSONSchema(r.Schema.Schema)
	if err != nil {
		return nil, unsupported("response_format", "%v", err)
	}
	return s, nil
}
