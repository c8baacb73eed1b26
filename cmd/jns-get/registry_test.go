package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// registry is an OCI registry in memory, as far as publishing and fetching an artifact need one. It wants the user "me" with the password "secret" for writing.
type registry struct {
	mu    sync.Mutex
	blobs map[string][]byte // by digest
	tags  map[string]string // repository and tag or digest of a manifest: its digest
}

var registryPath = regexp.MustCompile(`^/v2/(.+)/(blobs|manifests)/(.+)$`)

func newRegistry(t *testing.T) *httptest.Server {
	s := httptest.NewServer(&registry{blobs: map[string][]byte{}, tags: map[string]string{}})
	t.Cleanup(s.Close)
	return s
}

func (s *registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	part := registryPath.FindStringSubmatch(r.URL.Path)
	if part == nil {
		http.NotFound(w, r)
		return
	}
	if user, pass, _ := r.BasicAuth(); r.Method != http.MethodGet && r.Method != http.MethodHead && (user != "me" || pass != "secret") {
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	repo, kind, name := part[1], part[2], part[3]
	switch {
	case r.Method == http.MethodPost && kind == "blobs" && strings.HasPrefix(name, "uploads"):
		w.Header().Set("Location", "/v2/"+repo+"/blobs/uploads/1")
		w.WriteHeader(http.StatusAccepted)
	case r.Method == http.MethodPut:
		s.put(w, r, repo, kind, name)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		if kind == "manifests" {
			name = s.tags[repo+" "+name]
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		}
		b, ok := s.blobs[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Docker-Content-Digest", name)
		http.ServeContent(w, r, "", zeroTime, strings.NewReader(string(b)))
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (s *registry) put(w http.ResponseWriter, r *http.Request, repo, kind, name string) {
	b, err := io.ReadAll(r.Body)
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(b))
	if want := r.URL.Query().Get("digest"); err != nil || kind == "blobs" && want != digest {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.blobs[digest] = b
	if kind == "manifests" {
		s.tags[repo+" "+name], s.tags[repo+" "+digest] = digest, digest
	}
	w.Header().Set("Docker-Content-Digest", digest)
	w.WriteHeader(http.StatusCreated)
}
