package server

import (
	"strings"
	"testing"
)

// What ranks is tested with models that do in cmd/internal/synth; the embedded one makes text.
func TestAModelThatMakesTextDoesNotRank(t *testing.T) {
	s := start(t, "", Options{})
	a := s.refuse("/v1/rerank", `{"query":"who sings","documents":["ann does"]}`, 400)
	if a.Error.Code == nil || *a.Error.Code != "unsupported" {
		t.Fatalf("%+v", a.Error)
	}
	s.refuse("/v1/rerank", `{"model":"other","query":"who sings","documents":["ann does"]}`, 404)
	s.refuse("/v1/rerank", `{"query":1}`, 400)
	a = s.refuse("/v1/rerank", `{"query":"q","documents":["`+strings.Repeat(`","`, maxDocuments)+`"]}`, 400)
	if *a.Error.Param != "documents" {
		t.Fatalf("%+v", a.Error)
	}
}
