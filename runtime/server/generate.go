package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"jns/runtime/engine"
)

// body reads a request's body: JSON, bounded in size and time.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	// Other types, and none, are what a foreign page in a browser can send without being allowed to. None is taken from who is no browser: they say their origin.
	if c := r.Header.Get("Content-Type"); c != "" || r.Header.Get("Origin") != "" {
		if t, _, err := mime.ParseMediaType(c); err != nil || t != "application/json" {
			return nil, &apiError{status: http.StatusUnsupportedMediaType, kind: typeInvalid,
				message: fmt.Sprintf("Content-Type is %q, must be application/json (curl: -H 'Content-Type: application/json')", c)}
		}
	}
	if r.Header.Get("Content-Encoding") != "" {
		return nil, &apiError{status: http.StatusUnsupportedMediaType, kind: typeInvalid, message: "a Content-Encoding is not supported"}
	}
	if r.ContentLength > s.o.MaxBody {
		return nil, &http.MaxBytesError{Limit: s.o.MaxBody}
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.o.MaxBody))
	if err == nil {
		// Left in place, the deadline that wrap has set would later look like a client that has gone away.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	var big *http.MaxBytesError
	if err != nil && !errors.As(err, &big) {
		w.Header().Set("Connection", "close")
		return nil, &apiError{status: http.StatusRequestTimeout, kind: typeInvalid, message: "the body did not arrive: " + err.Error()}
	}
	return b, err
}

// answer is the endpoint that generates: body → job → place in the queue → prompt → turn → session → response.
func (s *Server) answer(parse func([]byte, *facts) (*job, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		arrived := time.Now()
		body, err := s.body(w, r)
		if err != nil {
			return err
		}
		j, err := parse(body, &s.facts)
		if err != nil {
			return err
		}
		j.receipt = j.receipt || wants(r.Header.Get("X-Jns-Receipt"))
		place, err := s.queue.reserve()
		if err != nil {
			s.metrics.refused.add(1)
			return err
		}
		defer place.leave()
		prompt, err := s.prompt(j)
		if err != nil {
			return err
		}
		if err := place.wait(r.Context(), s.needs(j, prompt)); err != nil {
			return err
		}
		return s.run(w, r, j, prompt, arrived)
	}
}

// needs is the memory that a job's keys and values will take at most.
func (s *Server) needs(j *job, prompt []int32) uint64 {
	tokens := s.e.Options().Context
	if j.maxTokens >= 0 && j.maxTokens < tokens-len(prompt) {
		tokens = len(prompt) + j.maxTokens
	}
	return s.e.SessionBytes(tokens)
}

// wants reads a header that is a switch.
func wants(v string) bool { return v != "" && v != "0" && v != "false" }

// prompt turns a job's input into tokens.
func (s *Server) prompt(j *job) (ids []int32, err error) {
	switch {
	case j.conversation != nil:
		ids, err = s.e.ChatPrompt(*j.conversation)
	case j.text != nil:
		ids, err = s.e.Tokenize(*j.text, true, true)
	default:
		ids = j.ids
	}
	if err != nil {
		return nil, err
	}
	if room := s.e.Options().Context; len(ids) > room {
		return nil, &apiError{status: http.StatusBadRequest, kind: typeInvalid, code: "context_length_exceeded", param: map[bool]string{true: "messages", false: "prompt"}[j.chat],
			message: fmt.Sprintf("the prompt has %d tokens; this server's context holds %d (jns-run serve --ctx raises it)", len(ids), room)}
	}
	if len(ids) == 0 {
		return nil, invalid("prompt", "the prompt has no tokens")
	}
	return ids, nil
}

// A long prompt is computed in parts, between which other requests have their turn. The parts are smaller when there are others; results do not depend on it.
const sharedChunk = 64

// run answers a job whose turn has come.
func (s *Server) run(w http.ResponseWriter, r *http.Request, j *job, prompt []int32, arrived time.Time) error {
	ctx := r.Context()
	if s.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.o.Timeout, errTimeout)
		defer cancel()
	}
	out, err := s.response(w, j, prompt)
	if err != nil {
		return err
	}
	sess := s.sessions.take(prompt)
	if left, limited := s.queue.left(); limited {
		s.sessions.trim(left)
	}
	broken := true // until we know better: a panic must not bring a session back
	defer func() { s.sessions.give(sess, broken) }()
	first := true
	res, err := s.answerer(sess).Answer(ctx, engine.Answering{
		Prompt: prompt, MaxTokens: j.maxTokens, Sample: j.params, Stop: j.stop, IgnoreEOS: j.ignoreEOS, Shape: j.shape, Logprobs: j.logprobs,
		Chunk: func() int {
			n := s.e.Options().Batch
			if running, _, _ := s.queue.state(); running > 1 {
				n = min(n, sharedChunk)
			}
			return n
		},
		Start: func(cached int) error {
			s.metrics.prompt.add(len(prompt))
			s.metrics.cached.add(cached)
			return out.start(cached)
		},
		Step: func(t engine.Step) error {
			if t.ID >= 0 {
				s.metrics.generated.add(1)
			}
			if first {
				first = false
				s.metrics.first.observe(time.Since(arrived))
			}
			return out.step(t)
		},
	})
	if err != nil {
		a := classify(ctx, err)
		broken = a.status == http.StatusInternalServerError
		if a.status == statusGone {
			s.metrics.cancelled.add(1)
		}
		return errors.Join(a, err) // a decides what is answered; err tells a broken container
	}
	broken = false
	return out.finish(res)
}

// answerer is the engine's session inside the pool's.
func (s *Server) answerer(x session) *engine.Session { return x.(engineSession).Session }
