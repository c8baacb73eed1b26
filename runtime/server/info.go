package server

import (
	"encoding/json"
	"net/http"
)

// modelObject is an entry of /v1/models.
func (s *Server) modelObject() map[string]any {
	m := s.e.Container().TOC.Model
	return map[string]any{"id": s.o.Model, "object": "model", "created": s.created.Unix(), "owned_by": "jns", "root_digest": s.e.Root(),
		"context_length": s.e.Options().Context, "trained_context": m.Context, "vocabulary": s.e.Vocab(), "parameters": m.Params, "chat": s.e.HasTemplate()}
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{s.modelObject()}})
	return nil
}

func (s *Server) model(w http.ResponseWriter, r *http.Request) error {
	if id := r.PathValue("id"); id != s.o.Model {
		return unknownModel(id, s.o.Model)
	}
	writeJSON(w, http.StatusOK, s.modelObject())
	return nil
}

// health says whether requests are taken: 200 ok, 503 while shutting down or when the container's file has failed.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	running, waiting, closed := s.queue.state()
	status, word := http.StatusOK, "ok"
	switch {
	case s.broken.Load():
		status, word = http.StatusServiceUnavailable, "the container cannot be read any more"
	case closed:
		status, word = http.StatusServiceUnavailable, "shutting down"
	}
	writeJSON(w, status, map[string]any{"status": word, "running": running, "waiting": waiting})
	return nil
}

func (s *Server) receipt(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, s.e.Receipt())
	return nil
}

// tokenize answers {"text": …, "add_special": true, "parse_special": true} with {"tokens": […], "count": n}.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) error {
	body, err := s.body(w, r)
	if err != nil {
		return err
	}
	q := struct {
		Text  *string `json:"text"`
		Add   bool    `json:"add_special"`
		Parse bool    `json:"parse_special"`
	}{Add: true, Parse: true}
	if err := json.Unmarshal(body, &q); err != nil {
		return badJSON(err)
	}
	if q.Text == nil {
		return invalid("text", "text is missing")
	}
	ids, err := s.e.Tokenize(*q.Text, q.Add, q.Parse)
	if err != nil {
		return err
	}
	if ids == nil {
		ids = []int32{}
	}
	writeJSON(w, http.StatusOK, map[string]any{"tokens": ids, "count": len(ids)})
	return nil
}

// detokenize answers {"tokens": […]} with {"text": …}.
func (s *Server) detokenize(w http.ResponseWriter, r *http.Request) error {
	body, err := s.body(w, r)
	if err != nil {
		return err
	}
	var q struct {
		Tokens []int32 `json:"tokens"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return badJSON(err)
	}
	for i, id := range q.Tokens {
		if id < 0 || int(id) >= s.e.Vocab() {
			return invalid("tokens", "token %d is %d; the vocabulary has %d tokens", i, id, s.e.Vocab())
		}
	}
	text, err := s.e.Detokenize(q.Tokens)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]any{"text": text})
	return nil
}
