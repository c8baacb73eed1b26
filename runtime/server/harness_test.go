package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"jns/compiler"
	"jns/runtime/engine"
)

// The templates of the test models. The embedded model's own is replaced by text of the same length.
const (
	strictTemplate = "{% if messages[0].role == 'system' %}{{ raise_exception('No system message here, \"please\".') }}{% endif %}{% for m in messages %}{{ m.content }}{% endfor %}"
	toolTemplate   = "{% if tools %}{{ tools | tojson }}{% endif %}{{ messages | tojson }}{{ reasoning_effort }}"
)

var containers sync.Map // template → path

// container compiles the repository's tiny model, with another chat template if one is given.
func container(t testing.TB, template string) string {
	t.Helper()
	if p, ok := containers.Load(template); ok {
		return p.(string)
	}
	dir, err := os.MkdirTemp("", "jns-server")
	require.NoError(t, err)
	scratch = append(scratch, dir)
	src := "../../testdata/models/tiny/jns-tiny.gguf"
	if template != "" {
		b, err := os.ReadFile(src)
		require.NoError(t, err)
		from := bytes.Index(b, []byte("{% for message in messages %}"))
		to := from + bytes.Index(b[from:], []byte("{{ '<|im_start|>assistant\\n' }}{% endif %}")) + len("{{ '<|im_start|>assistant\\n' }}{% endif %}")
		require.Positive(t, from)
		pad := to - from - len(template) - len("{##}")
		require.GreaterOrEqual(t, pad, 0, "the template is too long")
		copy(b[from:], template+"{#"+strings.Repeat(" ", pad)+"#}")
		src = filepath.Join(dir, "model.gguf")
		require.NoError(t, os.WriteFile(src, b, 0o666))
	}
	out := filepath.Join(dir, "model.jns")
	_, err = compiler.Compile(context.Background(), compiler.Options{Source: src, Output: out})
	require.NoError(t, err)
	containers.Store(template, out)
	return out
}

var scratch []string

func TestMain(m *testing.M) {
	code := m.Run()
	for _, d := range scratch {
		_ = os.RemoveAll(d)
	}
	os.Exit(code)
}

func open(t testing.TB, template string) *engine.Engine {
	t.Helper()
	// Far more positions than the model was trained for, so that a test can have an answer that does not end by itself.
	e, err := engine.Open(container(t, template), engine.Options{Threads: 1, Context: 1 << 16})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// site is a server under test.
type site struct {
	*Server
	t   *testing.T
	url string
}

func start(t *testing.T, template string, o Options) *site {
	t.Helper()
	o.Model = "tiny"
	s, err := New(open(t, template), o)
	require.NoError(t, err)
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() { h.Close(); s.Close() })
	return &site{s, t, h.URL}
}

func (s *site) do(method, path, body string, header ...string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if h := r.Header.Get("Host"); h != "" {
		r.Host = h
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	b, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	require.NoError(s.t, resp.Body.Close())
	return resp, string(b)
}

// reply is what tests look at of a response or a chunk.
type reply struct {
	Object  string
	Choices []struct {
		Text           string
		Message, Delta struct {
			Role    string
			Content *string
		}
		Finish   string  `json:"finish_reason"`
		TokenIDs []int32 `json:"token_ids"`
		Logprobs *struct {
			Content []struct {
				Token   string
				Logprob float64
				Bytes   []int `json:"bytes"`
				Top     []struct {
					Token   string
					Logprob float64
				} `json:"top_logprobs"`
			}
			Tokens        []string
			TokenLogprobs []float64 `json:"token_logprobs"`
			Offsets       []int     `json:"text_offset"`
		}
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	Receipt map[string]any
	Error   *struct {
		Message, Type string
		Param, Code   *string
	}
}

// ask posts and wants 200.
func (s *site) ask(path, body string) reply {
	s.t.Helper()
	resp, text := s.do("POST", path, body)
	require.Equal(s.t, 200, resp.StatusCode, text)
	var a reply
	require.NoError(s.t, json.Unmarshal([]byte(text), &a), text)
	return a
}

// refuse posts and wants an error object.
func (s *site) refuse(path, body string, status int) reply {
	s.t.Helper()
	resp, text := s.do("POST", path, body)
	require.Equal(s.t, status, resp.StatusCode, text)
	require.Equal(s.t, "application/json", resp.Header.Get("Content-Type"))
	var a reply
	require.NoError(s.t, json.Unmarshal([]byte(text), &a), text)
	require.NotNil(s.t, a.Error, text)
	require.NotEmpty(s.t, a.Error.Message)
	require.NotEmpty(s.t, a.Error.Type)
	return a
}

// stream posts and collects the events; done says whether the stream ended properly.
func (s *site) stream(path, body string) (events []reply, done bool) {
	s.t.Helper()
	resp, text := s.do("POST", path, body)
	require.Equal(s.t, 200, resp.StatusCode, text)
	require.Equal(s.t, "text/event-stream", resp.Header.Get("Content-Type"))
	for _, block := range strings.Split(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(block, "data: ")
		require.True(s.t, ok, "%q", block)
		require.NotContains(s.t, data, "\n")
		if data == "[DONE]" {
			done = true
			continue
		}
		require.False(s.t, done, "an event after the end")
		var a reply
		require.NoError(s.t, json.Unmarshal([]byte(data), &a), data)
		events = append(events, a)
	}
	return events, done
}

// endless begins a stream that does not end by itself, and returns once it runs.
func (s *site) endless() (resp *http.Response, leave func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "POST", s.url+"/v1/completions", strings.NewReader(endless))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	resp, err = http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	require.Equal(s.t, 200, resp.StatusCode)
	_, err = bufio.NewReader(resp.Body).ReadString('\n')
	require.NoError(s.t, err)
	return resp, func() { cancel(); _ = resp.Body.Close() }
}

const endless = `{"prompt":"Once upon a time","max_tokens":60000,"ignore_eos":true,"stream":true,"temperature":0}`

func eventually(t *testing.T, f func() bool) {
	t.Helper()
	require.Eventually(t, f, 20*time.Second, 5*time.Millisecond)
}
