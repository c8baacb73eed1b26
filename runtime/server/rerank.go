package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"jns/runtime/engine"
)

// rankRequest is a body of /v1/rerank.
type rankRequest struct {
	Model     *string        `json:"model"`
	Query     *string        `json:"query"`
	Documents []rankDocument `json:"documents"`
	Top       *int           `json:"top_n"`
	Return    bool           `json:"return_documents"`
}

// maxDocuments bounds the documents of a request.
const maxDocuments = 1 << 16

// rankDocument is a string, or an object with a text.
type rankDocument struct{ text *string }

func (d *rankDocument) UnmarshalJSON(b []byte) error {
	if isObject(b) {
		var o struct {
			Text *string `json:"text"`
		}
		err := json.Unmarshal(b, &o)
		d.text = o.Text
		return err
	}
	return json.Unmarshal(b, &d.text)
}

// rankResult is a document's place in the answer.
type rankResult struct {
	Index    int           `json:"index"`
	Score    float32       `json:"relevance_score"`
	Document *rankedObject `json:"document,omitempty"`
}

type rankedObject struct {
	Text string `json:"text"`
}

// rerank sorts documents by how well they answer a query, in the manner of Jina's and Cohere's APIs and llama.cpp's server. Other requests have their turn between two documents.
func (s *Server) rerank(w http.ResponseWriter, r *http.Request) error {
	body, err := s.body(w, r)
	if err != nil {
		return err
	}
	q, err := s.parseRank(body)
	if err != nil {
		return err
	}
	place, err := s.queue.reserve()
	if err != nil {
		s.metrics.refused.add(1)
		return err
	}
	defer place.leave()
	total, longest, err := s.measure(r.Context(), q)
	if err != nil {
		return err
	}
	if err := place.wait(r.Context(), s.e.SessionBytes(longest)); err != nil {
		return err
	}
	if left, limited := s.queue.left(); limited {
		s.sessions.trim(left)
	}
	results, err := s.rank(r.Context(), q)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "model": s.o.Model, "results": results,
		"usage": map[string]int{"prompt_tokens": total, "total_tokens": total}})
	return nil
}

// parseRank reads and checks a body.
func (s *Server) parseRank(body []byte) (*rankRequest, error) {
	q := &rankRequest{}
	if err := json.Unmarshal(body, q); err != nil {
		return nil, badJSON(err)
	}
	switch {
	case q.Model != nil && *q.Model != "" && *q.Model != s.o.Model:
		return nil, unknownModel(*q.Model, s.o.Model)
	case len(q.Documents) > maxDocuments:
		return nil, invalid("documents", "%d documents, at most %d are taken", len(q.Documents), maxDocuments)
	case !s.e.Scores():
		return nil, unsupported("model", "%v", engine.ErrNoScores)
	case q.Query == nil:
		return nil, invalid("query", "query is missing")
	case len(q.Documents) == 0:
		return nil, invalid("documents", "documents is missing or empty")
	case q.Top != nil && *q.Top < 1:
		return nil, invalid("top_n", "top_n is %d, must be at least 1", *q.Top)
	}
	for i, d := range q.Documents {
		if d.text == nil {
			return nil, invalid("documents", "document %d is neither a string nor an object with a text", i)
		}
	}
	return q, nil
}

// measure makes the tokens of all documents with the query, before anything is computed: a request is answered wholly or not at all. They are not kept: a long query with many short
// documents would take gigabytes.
func (s *Server) measure(ctx context.Context, q *rankRequest) (total, longest int, err error) {
	room := s.e.Options().Context
	for i, d := range q.Documents {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		ids, err := s.e.PairTokens(*q.Query, *d.text)
		if err != nil {
			return 0, 0, err
		}
		switch {
		case len(ids) == 0:
			return 0, 0, invalid("documents", "document %d and the query have no tokens", i)
		case len(ids) > room:
			return 0, 0, &apiError{status: http.StatusBadRequest, kind: typeInvalid, code: "context_length_exceeded", param: "documents",
				message: fmt.Sprintf("document %d and the query have %d tokens; this server's context holds %d (jns-run serve --ctx raises it)", i, len(ids), room)}
		}
		total, longest = total+len(ids), max(longest, len(ids))
	}
	return total, longest, nil
}

// rank scores all pairs and gives the best first; equal scores stay in the order of the request.
func (s *Server) rank(ctx context.Context, q *rankRequest) ([]rankResult, error) {
	if s.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.o.Timeout, errTimeout)
		defer cancel()
	}
	results := make([]rankResult, 0, len(q.Documents))
	for i, d := range q.Documents {
		ids, err := s.e.PairTokens(*q.Query, *d.text)
		if err != nil {
			return nil, err
		}
		scores, err := s.e.Rank(ctx, ids)
		if err != nil {
			if ctx.Err() != nil { // of the inner context, whose cause the caller does not see
				return nil, classify(ctx, err)
			}
			return nil, fmt.Errorf("document %d: %w", i, err)
		}
		s.metrics.prompt.add(len(ids))
		results = append(results, rankResult{Index: i, Score: scores[0]})
		if q.Return {
			results[i].Document = &rankedObject{*d.text}
		}
	}
	slices.SortStableFunc(results, func(a, b rankResult) int { return cmp.Compare(b.Score, a.Score) })
	if q.Top != nil {
		results = results[:min(*q.Top, len(results))]
	}
	return results, nil
}
