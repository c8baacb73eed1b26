package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler"
	"jns/runtime/engine"
	"jns/runtime/server"
)

type rankAnswer struct {
	Object, Model string
	Results       []struct {
		Index    int
		Score    float32                `json:"relevance_score"`
		Document *struct{ Text string } `json:"document"`
	}
	Usage struct {
		Prompt int `json:"prompt_tokens"`
		Total  int `json:"total_tokens"`
	}
	Error *struct{ Message, Param, Code string }
}

// The server's endpoint gives the engine's scores, best first.
func TestRerankOverHTTPGivesTheEnginesScores(t *testing.T) {
	m := newModel("bert+rank")
	recipes["bert+rank"](m)
	m.pieces(nil)
	dir := t.TempDir()
	src, path := filepath.Join(dir, "m.gguf"), filepath.Join(dir, "m.jns")
	require.NoError(t, os.WriteFile(src, m.bytes(), 0o600))
	_, err := compiler.Compile(context.Background(), compiler.Options{Source: src, Output: path})
	require.NoError(t, err)
	e, err := engine.Open(path, engine.Options{Threads: 1})
	require.NoError(t, err)
	defer e.Close()
	s, err := server.New(e, server.Options{Model: "ranker"})
	require.NoError(t, err)
	h := httptest.NewServer(s.Handler())
	defer func() { h.Close(); s.Close() }()
	ask := func(status int, body any) (a rankAnswer) {
		t.Helper()
		b, err := json.Marshal(body)
		require.NoError(t, err)
		resp, err := http.Post(h.URL+"/v1/rerank", "application/json", bytes.NewReader(b))
		require.NoError(t, err)
		defer resp.Body.Close()
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&a))
		require.Equal(t, status, resp.StatusCode, a.Error)
		return a
	}

	documents := []string{"ann does", "she", "who sings", "ann"}
	want, tokens := map[int]float32{}, 0
	for i, d := range documents {
		ids, err := e.PairTokens("who sings", d)
		require.NoError(t, err)
		scores, err := e.Rank(context.Background(), ids)
		require.NoError(t, err)
		want[i], tokens = scores[0], tokens+len(ids)
	}
	a := ask(200, map[string]any{"model": "ranker", "query": "who sings", "documents": documents, "return_documents": true})
	require.Equal(t, "list", a.Object)
	require.Equal(t, "ranker", a.Model)
	require.Equal(t, [2]int{tokens, tokens}, [2]int{a.Usage.Prompt, a.Usage.Total})
	require.Len(t, a.Results, len(documents))
	for i, r := range a.Results {
		require.Equal(t, want[r.Index], r.Score)
		require.Equal(t, documents[r.Index], r.Document.Text)
		require.True(t, i == 0 || a.Results[i-1].Score >= r.Score, "best first")
		delete(want, r.Index)
	}
	require.Empty(t, want, "each document is there once")

	// Objects with a text are documents too; the best alone, without its text.
	b := ask(200, map[string]any{"query": "who sings", "documents": []any{documents[0], map[string]string{"text": documents[1]}, documents[2], documents[3]}, "top_n": 1})
	require.Len(t, b.Results, 1)
	require.Equal(t, a.Results[0].Index, b.Results[0].Index)
	require.Equal(t, a.Results[0].Score, b.Results[0].Score)
	require.Nil(t, b.Results[0].Document)
	require.Len(t, ask(200, map[string]any{"query": "who sings", "documents": documents, "top_n": 99}).Results, len(documents))

	for param, body := range map[string]map[string]any{
		"query":     {"documents": documents},
		"documents": {"query": "who sings", "documents": []any{}},
		"top_n":     {"query": "who sings", "documents": documents, "top_n": 0},
	} {
		require.Equal(t, param, ask(400, body).Error.Param)
	}
	require.Contains(t, ask(400, map[string]any{"query": "who", "documents": []any{"ann", map[string]int{"x": 1}}}).Error.Message, "document 1")
	require.Equal(t, "context_length_exceeded", ask(400, map[string]any{"query": "who", "documents": []string{"ann", strings.Repeat("ann ", 100_000)}}).Error.Code)
	require.Equal(t, "model_not_found", ask(404, map[string]any{"model": "other", "query": "who", "documents": documents}).Error.Code)
}
