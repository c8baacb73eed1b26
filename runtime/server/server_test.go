package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"jns/runtime/engine"
)

const fox = `"messages":[{"role":"user","content":"Tell me a story about a fox."}]`

// TestAnswersAreTheEngines: neither reuse of sessions, nor turns with others, nor the way of answering changes a token.
func TestAnswersAreTheEngines(t *testing.T) {
	s := start(t, "", Options{Parallel: 3})
	prompts := []string{"Once upon a time", "Once upon a time there was a fox", "There once was a lamp", "Long ago"}
	want := map[string][]int32{}
	for _, p := range prompts {
		ids, err := s.e.Tokenize(p, true, true)
		require.NoError(t, err)
		x := s.e.NewSession()
		sp := *s.o.Sampling
		sp.Seed = 5
		res, err := x.Generate(context.Background(), engine.Request{Prompt: ids, MaxTokens: 30, Sample: sp, IgnoreEOS: true})
		require.NoError(t, err)
		want[p] = res.Tokens
		x.Close()
	}
	var all sync.WaitGroup
	for range 3 {
		for i, p := range prompts {
			all.Go(func() {
				body := fmt.Sprintf(`{"prompt":%q,"max_tokens":30,"seed":5,"ignore_eos":true,"return_token_ids":true,"stream":%v}`, p, i%2 == 0)
				var got []int32
				if i%2 == 0 {
					events, done := s.stream("/v1/completions", body)
					if !done {
						t.Error("the stream did not end")
					}
					for _, e := range events {
						got = append(got, e.Choices[0].TokenIDs...)
					}
				} else {
					got = s.ask("/v1/completions", body).Choices[0].TokenIDs
				}
				if !slices.Equal(want[p], got) {
					t.Errorf("%q: %v, want %v", p, got, want[p])
				}
			})
		}
	}
	all.Wait()
}

func TestAConversationsNextTurnIsNotComputedAgain(t *testing.T) {
	s := start(t, "", Options{})
	a := s.ask("/v1/chat/completions", `{`+fox+`,"temperature":0,"max_tokens":40}`)
	require.Zero(t, a.Usage.Details.Cached)
	content, err := json.Marshal(a.Choices[0].Message.Content)
	require.NoError(t, err)
	next := fmt.Sprintf(`{"messages":[{"role":"user","content":"Tell me a story about a fox."},{"role":"assistant","content":%s},{"role":"user","content":"Another one."}],"temperature":0,"max_tokens":8,"receipt":true}`, content)
	b := s.ask("/v1/chat/completions", next)
	require.Greater(t, b.Usage.Details.Cached, a.Usage.Prompt)
	require.Equal(t, s.e.Root(), b.Receipt["root_digest"])
	require.NotEmpty(t, b.Receipt["kernels"])
	require.Contains(t, b.Receipt["sampling"], "temperature=0")
	s.sessions.close()
	require.Equal(t, b.Choices[0].Message.Content, s.ask("/v1/chat/completions", next).Choices[0].Message.Content)
}

func TestAStreamIsTheWholeAnswerInPieces(t *testing.T) {
	s := start(t, "", Options{})
	for _, more := range []string{``, `,"stop":["the"," a"]`, `,"stop":"fox","logprobs":true,"top_logprobs":3`, `,"logprobs":true`} {
		body := `{` + fox + `,"seed":11,"max_tokens":60` + more
		whole := s.ask("/v1/chat/completions", body+`}`)
		events, done := s.stream("/v1/chat/completions", body+`,"stream":true,"stream_options":{"include_usage":true}}`)
		require.True(t, done)
		text, finish, tokens := "", "", []string{}
		for i, e := range events {
			require.Equal(t, "chat.completion.chunk", e.Object)
			if i == len(events)-1 {
				require.Empty(t, e.Choices)
				require.Equal(t, whole.Usage.Completion, e.Usage.Completion)
				continue
			}
			c := e.Choices[0]
			require.Equal(t, i == 0, c.Delta.Role == "assistant")
			if c.Delta.Content != nil {
				text += *c.Delta.Content
			}
			if c.Logprobs != nil {
				for _, x := range c.Logprobs.Content {
					tokens = append(tokens, x.Token)
				}
			}
			finish += c.Finish
		}
		c := whole.Choices[0]
		require.Equal(t, *c.Message.Content, text)
		require.Equal(t, c.Finish, finish)
		require.Equal(t, strings.Contains(more, "logprobs"), c.Logprobs != nil)
		if c.Logprobs != nil {
			require.Len(t, c.Logprobs.Content, len(tokens))
			for i, x := range c.Logprobs.Content {
				require.Equal(t, x.Token, tokens[i])
			}
		}
	}
}

func TestLogprobsAreTheModelsOwn(t *testing.T) {
	s := start(t, "", Options{})
	// The bias forces a token; its probability stays the model's.
	a := s.ask("/v1/chat/completions", `{`+fox+`,"temperature":1.5,"seed":3,"max_tokens":20,"ignore_eos":true,"logprobs":true,"top_logprobs":20}`)
	l := a.Choices[0].Logprobs.Content
	require.Len(t, l, 20)
	var text []byte
	for _, x := range l {
		require.Len(t, x.Top, 20)
		sum := 0.0
		for i, y := range x.Top {
			sum += math.Exp(y.Logprob)
			require.True(t, i == 0 || y.Logprob <= x.Top[i-1].Logprob)
		}
		require.LessOrEqual(t, sum, 1+1e-9)
		require.LessOrEqual(t, x.Logprob, x.Top[0].Logprob)
		for _, b := range x.Bytes {
			text = append(text, byte(b))
		}
	}
	require.Equal(t, *a.Choices[0].Message.Content, strings.ToValidUTF8(string(text), "\uFFFD"))

	b := s.ask("/v1/completions", `{"prompt":"Once upon a","max_tokens":3,"temperature":0,"logprobs":2,"logit_bias":{"300":100}}`)
	lp := b.Choices[0].Logprobs
	require.Len(t, lp.Tokens, 3)
	require.Less(t, lp.TokenLogprobs[0], -1.0, "an unlikely token was forced, and its probability must not be the biased one")
	require.Zero(t, lp.Offsets[0])
}

func TestWhatIsNotSupportedIsRefused(t *testing.T) {
	s := start(t, "", Options{})
	chat, text := "/v1/chat/completions", "/v1/completions"
	for _, c := range []struct {
		path, body string
		status     int
		param      string
	}{
		{chat, `{` + fox + `,"n":2}`, 400, "n"},
		{chat, `{` + fox + `,"response_format":{"type":"json_schema"}}`, 400, "response_format"},
		{chat, `{` + fox + `,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"string","pattern":"a+"}}}}`, 400, "response_format"},
		{chat, `{` + fox + `,"response_format":{"type":"grammar"}}`, 400, "response_format"},
		{chat, `{` + fox + `,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"nonsense"}}}}`, 400, "response_format"},
		{chat, `{` + fox + `,"tools":[{"type":"function","function":{"name":"f"}}]}`, 400, "tools"}, // the template has no place for them
		{chat, `{` + fox + `,"tool_choice":"required"}`, 400, "tool_choice"},
		{chat, `{` + fox + `,"functions":[{"name":"f"}]}`, 400, "functions"},
		{chat, `{` + fox + `,"audio":{"voice":"x"}}`, 400, "audio"},
		{chat, `{` + fox + `,"grammar":"root ::= x"}`, 400, "grammar"},
		{chat, `{` + fox + `,"reasoning_effort":"high"}`, 400, "reasoning_effort"},
		{chat, `{` + fox + `,"top_logprobs":2}`, 400, "top_logprobs"},
		{chat, `{` + fox + `,"logprobs":true,"top_logprobs":21}`, 400, "top_logprobs"},
		{chat, `{` + fox + `,"temperature":-1}`, 400, "temperature"},
		{chat, `{` + fox + `,"temperature":"hot"}`, 400, "temperature"},
		{chat, `{` + fox + `,"top_p":1.5}`, 400, "top_p"},
		{chat, `{` + fox + `,"max_tokens":0}`, 400, "max_tokens"},
		{chat, `{` + fox + `,"max_tokens":1,"max_completion_tokens":2}`, 400, "max_tokens"},
		{chat, `{` + fox + `,"stop":[""]}`, 400, "stop"},
		{chat, `{` + fox + `,"stop":7}`, 400, "stop"},
		{chat, `{` + fox + `,"logit_bias":{"99999":1}}`, 400, "logit_bias"},
		{chat, `{` + fox + `,"logit_bias":{"a":1}}`, 400, "logit_bias"},
		{chat, `{` + fox + `,"logit_bias":{"1":null}}`, 400, "logit_bias"},
		{chat, `{` + fox + `,"stream_options":{"include_usage":true}}`, 400, "stream_options"},
		{chat, `{` + fox + `,"model":"gpt-4o"}`, 404, "model"},
		{chat, `{` + fox + `,"chat_template_kwargs":{"messages":[]}}`, 400, "chat_template_kwargs"},
		{chat, `{"messages":[]}`, 400, "messages"},
		{chat, `{"messages":["x"]}`, 400, "messages"},
		{chat, `{"messages":[{"content":"x"}]}`, 400, "messages"},
		{chat, `{"messages":[{"role":"foo","content":"x"}]}`, 400, "messages"},
		{chat, `{"messages":[{"role":"user","content":7}]}`, 400, "messages"},
		{chat, `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]}`, 400, "messages"},
		{chat, `{}`, 400, "messages"},
		{text, `{"prompt":["a","b"]}`, 400, "prompt"},
		{text, `{"prompt":[]}`, 400, "prompt"},
		{text, `{"prompt":[[[1]]]}`, 400, "prompt"},
		{text, `{"prompt":[1,null]}`, 400, "prompt"},
		{text, `{"prompt":[5000]}`, 400, "prompt"},
		{text, `{"prompt":[-1]}`, 400, "prompt"},
		{text, `{"prompt":{}}`, 400, "prompt"},
		{text, `{"prompt":"x","best_of":2}`, 400, "best_of"},
		{text, `{"prompt":"x","suffix":"y"}`, 400, "suffix"},
		{text, `{"prompt":"x","echo":true,"logprobs":1}`, 400, "logprobs"},
		{text, `{"prompt":"x","logprobs":6}`, 400, "logprobs"},
		{text, `{}`, 400, "prompt"},
		{text, `null`, 400, ""}, {text, `[]`, 400, ""}, {text, `7`, 400, ""}, {text, ` `, 400, ""}, {text, `{"prompt":"x"`, 400, ""}, {text, `{"prompt":"x"}{}`, 400, ""},
		{text, strings.Repeat("[", 20000), 400, ""}, {text, `{"prompt":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`, 400, "prompt"},
	} {
		a := s.refuse(c.path, c.body, c.status)
		param := ""
		if a.Error.Param != nil {
			param = *a.Error.Param
		}
		require.Equal(t, c.param, param, "%.200s: %s", c.body, a.Error.Message)
	}
	// What asks for nothing, and what nobody knows, passes.
	s.ask(chat, `{`+fox+`,"max_tokens":1,"n":1,"tools":[],"tool_choice":"auto","response_format":{"type":"text"},"functions":null,"store":false,"stop":null,"user":"u","metadata":{},"logit_bias":null,"no_such_field":{"a":[1]},"seed":-5,"model":"tiny","stream":false,"service_tier":"auto"}`)
}

func TestTheTemplatesRefusalIsTheAnswer(t *testing.T) {
	s := start(t, strictTemplate, Options{})
	a := s.refuse("/v1/chat/completions", `{"messages":[{"role":"developer","content":"x"}]}`, 400) // developer is system to a template that does not know it
	require.Equal(t, `No system message here, "please".`, a.Error.Message)
	s.ask("/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"text","text":"Once"},{"type":"text","text":"upon"}]}],"max_tokens":1}`)
	a = s.refuse("/v1/chat/completions", `{"messages":[{"role":"user","content":""}]}`, 400)
	require.Contains(t, a.Error.Message, "no tokens")
}

// TestTheTemplateSeesWhatWasSent: key order, null content and tools reach it; arguments of calls are objects to it.
func TestTheTemplateSeesWhatWasSent(t *testing.T) {
	s := start(t, toolTemplate, Options{})
	_, text := s.do("POST", "/v1/chat/completions", `{"max_tokens":1,"reasoning_effort":"low","tools":[{"type":"function","function":{"name":"f","parameters":{"z":1,"a":2}}}],
		"messages":[{"zeta":1,"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"y\":1,\"b\":\"<é>\"}"}}]}]}`)
	require.NotContains(t, text, "error")
	j, err := parseChat([]byte(`{"reasoning_effort":"low","tools":[{"type":"function","function":{"name":"f","parameters":{"z":1,"a":2}}}],
		"messages":[{"zeta":1,"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"y\":1,\"b\":\"<é>\"}"}}]},{"role":"user","content":[{"type":"text","text":"<a>"},{"type":"text","text":"b"}]}]}`), &s.facts)
	require.NoError(t, err)
	require.Equal(t, `[{"zeta":1,"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":{"y":1,"b":"<é>"}}}]},{"role":"user","content":"<a>\nb"}]`, string(j.conversation.Messages))
	ids, err := s.e.ChatPrompt(*j.conversation)
	require.NoError(t, err)
	got, err := s.e.Detokenize(ids)
	require.NoError(t, err)
	require.Contains(t, got, `"parameters": {"z": 1, "a": 2}`)
	require.Contains(t, got, `"content": null`)
	require.True(t, strings.HasSuffix(strings.TrimRight(got, " "), "low"), got)
}

func TestAPromptLongerThanTheContextIsRefused(t *testing.T) {
	e, err := engine.Open(container(t, ""), engine.Options{Threads: 1, Context: 64})
	require.NoError(t, err)
	s, err := New(e, Options{Model: "tiny"})
	require.NoError(t, err)
	defer func() { s.Close(); require.NoError(t, e.Close()) }()
	post := func(n int) *recorded {
		return record(s, "POST", "/v1/completions", fmt.Sprintf(`{"prompt":[%s1],"max_tokens":100,"ignore_eos":true}`, strings.Repeat("5,", n-1)))
	}
	r := post(65)
	require.Equal(t, 400, r.status)
	require.Contains(t, r.body.String(), "context_length_exceeded")
	r = post(64) // just fits: one token can be chosen
	require.Equal(t, 200, r.status)
	require.Contains(t, r.body.String(), `"completion_tokens":1,`)
	r = post(60)
	require.Contains(t, r.body.String(), `"finish_reason":"length"`)
	require.Contains(t, r.body.String(), `"completion_tokens":5,`)
}

// recorded is a response without a connection.
type recorded struct {
	h      http.Header
	status int
	body   bytes.Buffer
}

func (r *recorded) Header() http.Header         { return r.h }
func (r *recorded) WriteHeader(n int)           { r.status = n }
func (r *recorded) Write(b []byte) (int, error) { return r.body.Write(b) }
func (r *recorded) Flush()                      {}

func record(s *Server, method, path, body string) *recorded {
	r := &recorded{h: http.Header{}}
	q, err := http.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	s.Handler().ServeHTTP(r, q)
	return r
}

func TestAFullQueueRefusesWithRetryAfter(t *testing.T) {
	none := 0
	s := start(t, "", Options{Parallel: 1, Queue: &none})
	_, leave := s.endless()
	resp, text := s.do("POST", "/v1/completions", `{"prompt":"x"}`)
	require.Equal(t, 429, resp.StatusCode, text)
	require.NotEmpty(t, resp.Header.Get("Retry-After"))
	require.Contains(t, text, "queue_full")
	resp, _ = s.do("GET", "/health", "")
	require.Equal(t, 200, resp.StatusCode, "a full queue is not ill health")
	leave()
	eventually(t, func() bool { n, _, _ := s.queue.state(); return n == 0 })
	require.EqualValues(t, 1, s.metrics.cancelled.n.Load())
	s.ask("/v1/completions", `{"prompt":"x","max_tokens":1}`)
}

func TestWaitingEndsWithPatienceOrTheClient(t *testing.T) {
	s := start(t, "", Options{Parallel: 1, Patience: 50 * time.Millisecond})
	_, leave := s.endless()
	a := s.refuse("/v1/completions", `{"prompt":"x"}`, 503)
	require.Equal(t, "queue_timeout", *a.Error.Code)
	leave()
	eventually(t, func() bool { n, w, _ := s.queue.state(); return n+w == 0 })
}

func TestTurnsLetAShortAnswerPassALongOne(t *testing.T) {
	s := start(t, "", Options{Parallel: 2})
	_, leave := s.endless()
	defer leave()
	s.ask("/v1/completions", `{"prompt":"Once upon a time there was","max_tokens":5}`)
	n, _, _ := s.queue.state()
	require.Equal(t, 1, n, "the long one still runs")
}

func TestALongAnswerEndsAtTheTimeout(t *testing.T) {
	s := start(t, "", Options{Timeout: 100 * time.Millisecond})
	resp, text := s.do("POST", "/v1/completions", strings.Replace(endless, `"stream":true`, `"stream":false`, 1))
	require.Equal(t, 504, resp.StatusCode, text)
	require.Equal(t, "false", resp.Header.Get("X-Should-Retry"))
	events, done := s.stream("/v1/completions", endless)
	require.False(t, done)
	require.NotNil(t, events[len(events)-1].Error, "a stream that has begun tells the error as its last event")
}

func TestShutdownLetsAnswersFinishAndRefusesTheRest(t *testing.T) {
	for _, patient := range []bool{true, false} {
		e := open(t, "")
		grace := 20 * time.Second
		if !patient {
			grace = 50 * time.Millisecond
		}
		s, err := New(e, Options{Model: "tiny", Grace: grace})
		require.NoError(t, err)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx, l) }()
		x := &site{s, t, "http://" + l.Addr().String()}
		body := `{"prompt":"Once upon a time","max_tokens":200,"ignore_eos":true,"stream":true}`
		if !patient {
			body = endless
		}
		type outcome struct {
			events []reply
			done   bool
		}
		got := make(chan outcome, 1)
		go func() {
			events, done := x.stream("/v1/completions", body)
			got <- outcome{events, done}
		}()
		eventually(t, func() bool { return s.metrics.generated.n.Load() > 0 })
		cancel()
		o := <-got
		require.Equal(t, patient, o.done)
		if !patient {
			require.Equal(t, "shutting_down", *o.events[len(o.events)-1].Error.Code)
		}
		require.NoError(t, <-served)
		require.Equal(t, 503, record(s, "POST", "/v1/completions", `{"prompt":"x"}`).status)
	}
}

func TestAPanicEndsOnlyItsRequest(t *testing.T) {
	s := start(t, "", Options{})
	r := &recorded{h: http.Header{}}
	q, err := http.NewRequest("GET", "/x", nil)
	require.NoError(t, err)
	s.wrap("/x", func(http.ResponseWriter, *http.Request) error { panic("oh") }).ServeHTTP(r, q)
	require.Equal(t, 500, r.status)
	require.NotContains(t, r.body.String(), "oh")
	require.EqualValues(t, 1, s.metrics.panics.n.Load())
	s.ask("/v1/completions", `{"prompt":"x","max_tokens":1}`)
}

func TestTheDoorIsKept(t *testing.T) {
	s := start(t, "", Options{APIKey: "secret", MaxBody: 1000, Stall: 200 * time.Millisecond})
	s.loopback.Store(true)
	for _, c := range []struct {
		method, path, body string
		header             []string
		status             int
	}{
		{"GET", "/v1/models", "", nil, 401},
		{"GET", "/v1/models", "", []string{"Authorization", "Bearer wrong"}, 401},
		{"GET", "/v1/models", "", []string{"Authorization", "Bearer secret"}, 200},
		{"GET", "/v1/models/tiny", "", []string{"Authorization", "Bearer secret"}, 200},
		{"GET", "/v1/models/x/y", "", []string{"Authorization", "Bearer secret"}, 404},
		{"GET", "/health", "", nil, 200},
		{"GET", "/health", "", []string{"Host", "evil.example"}, 403},
		{"GET", "/health", "", []string{"Host", "localhost:80"}, 200},
		{"GET", "/health", "", []string{"Host", "[::1]:80"}, 200},
		{"DELETE", "/health", "", nil, 405},
		{"GET", "/v1/completions", "", []string{"Authorization", "Bearer secret"}, 405},
		{"POST", "/v1/embeddings", "{}", []string{"Authorization", "Bearer secret"}, 404},
		{"POST", "/v1/completions", `{"prompt":"x"}`, []string{"Authorization", "Bearer secret", "Content-Type", "text/plain"}, 415},
		{"POST", "/v1/completions", `{"prompt":"x"}`, []string{"Authorization", "Bearer secret", "Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"POST", "/v1/completions", `{"prompt":"x","max_tokens":1}`, []string{"Authorization", "Bearer secret", "Content-Type", ""}, 200},
		{"POST", "/v1/completions", `{"prompt":"x"}`, []string{"Authorization", "Bearer secret", "Content-Type", "", "Origin", "https://elsewhere.example"}, 415},
		{"POST", "/v1/completions", `{"prompt":"x"}`, []string{"Authorization", "Bearer secret", "Content-Encoding", "gzip"}, 415},
		{"POST", "/v1/completions", `{"prompt":"` + strings.Repeat("x", 1000) + `"}`, []string{"Authorization", "Bearer secret"}, 413},
	} {
		resp, text := s.do(c.method, c.path, c.body, c.header...)
		require.Equal(t, c.status, resp.StatusCode, "%s %s %v: %s", c.method, c.path, c.header, text)
		require.True(t, json.Valid([]byte(text)), text)
	}
	// A body that does not arrive.
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\nContent-Length: 100\r\n\r\n{")
	require.NoError(t, err)
	b, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(b), "408 Request Timeout")
}

func TestMetricsAreReadByPrometheus(t *testing.T) {
	s := start(t, "", Options{})
	s.ask("/v1/completions", `{"prompt":"x y z","max_tokens":3,"ignore_eos":true}`)
	s.refuse("/v1/completions", `{`, 400)
	_, text := s.do("GET", "/metrics", "")
	p := expfmt.NewTextParser(model.LegacyValidation)
	m, err := p.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(t, err)
	require.EqualValues(t, 3, m["jns_generated_tokens_total"].Metric[0].Counter.GetValue())
	require.Len(t, m["jns_requests_total"].Metric, 2)
	require.EqualValues(t, 2, m["jns_request_seconds"].Metric[0].Histogram.GetSampleCount())
	require.EqualValues(t, 1, m["jns_first_token_seconds"].Metric[0].Histogram.GetSampleCount())
}

func TestTextAndTokensThereAndBack(t *testing.T) {
	s := start(t, "", Options{})
	_, text := s.do("POST", "/tokenize", `{"text":"Once upon a time","add_special":false}`)
	var q struct {
		Tokens []int32
		Count  int
	}
	require.NoError(t, json.Unmarshal([]byte(text), &q))
	require.Len(t, q.Tokens, q.Count)
	b, err := json.Marshal(q)
	require.NoError(t, err)
	_, text = s.do("POST", "/detokenize", strings.Replace(string(b), "Tokens", "tokens", 1))
	require.JSONEq(t, `{"text":"Once upon a time"}`, text)
	s.refuse("/detokenize", `{"tokens":[-1]}`, 400)
	s.refuse("/tokenize", `{}`, 400)
	a := s.ask("/v1/completions", `{"prompt":"Once upon","max_tokens":1,"echo":true,"temperature":0}`)
	require.True(t, strings.HasPrefix(a.Choices[0].Text, "Once upon"))
}

func TestPenaltiesSpareThePrompt(t *testing.T) {
	s := start(t, "", Options{})
	// With every turn the prompt holds more marks that end one. Were they penalised, the answer would not end any more.
	turns := strings.Repeat(`{"role":"user","content":"What is the capital of France?"},{"role":"assistant","content":"Paris."},`, 6)
	a := s.ask("/v1/chat/completions", `{"messages":[`+turns+`{"role":"user","content":"What is the capital of France?"}],"temperature":0,"frequency_penalty":2,"presence_penalty":2,"max_tokens":60}`)
	require.Equal(t, "stop", a.Choices[0].Finish)
}
