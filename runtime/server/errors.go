package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"jns/runtime/engine"
)

// Error types of OpenAI's error objects that are used here.
const (
	typeInvalid = "invalid_request_error"
	typeAuth    = "authentication_error"
	typeLimit   = "rate_limit_error"
	typeServer  = "server_error"
)

// statusGone is what the log and the metrics say when nobody was left to answer.
const statusGone = 499

// errShutdown is the cause that running requests are cancelled with when the grace period of a shutdown is over.
var errShutdown = errors.New("the server is shutting down")

// errGone says that the client does not take what is sent to it.
var errGone = errors.New("the client went away")

// errTimeout is the cause that a request is cancelled with when it takes longer than Options.Timeout.
var errTimeout = errors.New("the request took too long")

// apiError is an answer that is an error.
type apiError struct {
	status  int
	message string
	kind    string // type in the error object
	param   string // the field at fault, if one is
	code    string
	retry   time.Duration // Retry-After, if positive
}

func (e *apiError) Error() string { return e.message }

// MarshalJSON gives the error object, without the envelope.
func (e *apiError) MarshalJSON() ([]byte, error) {
	optional := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return json.Marshal(struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}{e.message, e.kind, optional(e.param), optional(e.code)})
}

// invalid is a 400 about a field.
func invalid(param, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, kind: typeInvalid, param: param, message: fmt.Sprintf(format, args...)}
}

// unsupported is a 400 about a field that asks for what this server does not do.
func unsupported(param, format string, args ...any) *apiError {
	e := invalid(param, format, args...)
	e.code = "unsupported"
	return e
}

// unknownModel is a 404 about a model's name.
func unknownModel(asked, here string) *apiError {
	return &apiError{status: http.StatusNotFound, kind: typeInvalid, param: "model", code: "model_not_found",
		message: fmt.Sprintf("the model %q does not exist here; this server has %q", asked, here)}
}

// classify turns any error of a request into the answer. ctx is the request's.
func classify(ctx context.Context, err error) *apiError {
	var a *apiError
	var t *engine.TemplateError
	var big *http.MaxBytesError
	coded := func(code string) *apiError {
		return &apiError{status: http.StatusBadRequest, kind: typeInvalid, message: err.Error(), code: code}
	}
	switch {
	case errors.As(err, &a):
		return a
	case errors.As(err, &t) && t.Raised:
		e := coded("refused_by_template")
		e.message, e.param = t.Text, "messages"
		return e
	case errors.As(err, &big):
		return &apiError{status: http.StatusRequestEntityTooLarge, kind: typeInvalid, message: fmt.Sprintf("the body is longer than %d bytes", big.Limit)}
	case errors.Is(err, engine.ErrTemplate):
		return coded("template_failed")
	case errors.Is(err, engine.ErrNoTemplate):
		e := coded("no_chat_template")
		e.message = "the model has no chat template; use /v1/completions"
		return e
	case errors.Is(err, engine.ErrShape):
		e := coded("unsupported")
		e.param = "response_format"
		return e
	case errors.Is(err, engine.ErrContextFull), errors.Is(err, engine.ErrTextTooLong):
		return coded("context_length_exceeded")
	case errors.Is(err, engine.ErrMemory): // other answers' keys and values will go
		return &apiError{status: http.StatusServiceUnavailable, kind: typeServer, message: err.Error(), code: "out_of_memory", retry: 5 * time.Second}
	case errors.Is(err, engine.ErrChatInput), errors.Is(err, engine.ErrOption), errors.Is(err, engine.ErrNoVocab):
		return coded("")
	case errors.Is(context.Cause(ctx), errShutdown):
		return &apiError{status: http.StatusServiceUnavailable, kind: typeServer, message: errShutdown.Error(), code: "shutting_down", retry: 5 * time.Second}
	case errors.Is(context.Cause(ctx), errTimeout):
		return &apiError{status: http.StatusGatewayTimeout, kind: typeServer, message: errTimeout.Error(), code: "timeout"}
	case ctx.Err() != nil, errors.Is(err, errGone):
		return &apiError{status: statusGone, kind: typeServer, message: errGone.Error()}
	}
	return &apiError{status: http.StatusInternalServerError, kind: typeServer, message: err.Error()}
}

// writeError sends an error object.
func writeError(w http.ResponseWriter, e *apiError) {
	h := w.Header()
	if e.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.retry.Seconds()))))
	}
	if e.status == http.StatusGatewayTimeout {
		h.Set("X-Should-Retry", "false") // OpenAI's clients would ask again, and it would take as long again
	}
	status := e.status
	if status == statusGone {
		status = http.StatusServiceUnavailable // nobody reads it
	}
	writeJSON(w, status, map[string]any{"error": e})
}

// writeJSON sends a document.
func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := encode(v)
	if err != nil { // our own types always encode
		panic(err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b) // a client that is gone is nobody's error
}
