package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"
)

func environment(pairs ...string) func(string) string {
	return func(k string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == k {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// hub is a server that wants a token and sends the bytes from another host, as hubs do.
func hub(t *testing.T, token string, to func(r *http.Request) string) *server {
	return serve(t, nil, func(s *server, _ int, _, _ int64, w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(401)
			return true
		}
		http.Redirect(w, r, to(r), http.StatusFound)
		return true
	})
}

func TestTokenStaysWithItsHost(t *testing.T) {
	data := content(3*mib, 40)
	cdn := serve(t, data, nil)
	h := hub(t, "secret", func(r *http.Request) string { return cdn.URL + r.URL.Path })
	spec := specFor(t, data, "hf:org/repo/dir/file.jns@refs/pr/1")
	o := quick()
	o.Getenv = environment("HF_ENDPOINT", h.URL+"/", "HF_TOKEN", "secret")
	_, err := Get(context.Background(), spec, o)
	require.NoError(t, err)
	right(t, spec, data)
	require.NotEmpty(t, cdn.auth)
	for _, a := range cdn.auth {
		require.Empty(t, a, "the token reached another host")
	}
}

func TestTokenSurvivesARedirectOnItsHost(t *testing.T) {
	data := content(3*mib, 41)
	s := serve(t, data, nil)
	s.fault = func(_ *server, _ int, _, _ int64, w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(401)
			return true
		}
		if !strings.HasPrefix(r.URL.Path, "/moved") {
			http.Redirect(w, r, "/moved"+r.URL.Path, http.StatusTemporaryRedirect)
			return true
		}
		return false
	}
	spec := specFor(t, data, "hf:org/repo/file.jns")
	o := quick()
	o.Getenv = environment("HF_ENDPOINT", s.URL, "HF_TOKEN", "secret")
	_, err := Get(context.Background(), spec, o)
	require.NoError(t, err)
	right(t, spec, data)
}

// secure serves over TLS, and gives a transport that trusts it.
func secure(t *testing.T, h http.Handler) (*httptest.Server, http.RoundTripper) {
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	return s, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}, DisableCompression: true}
}

func TestDowngradeToHTTPIsRefusedAndTheTokenKept(t *testing.T) {
	data := content(mib, 42)
	open := serve(t, data, nil)
	s, transport := secure(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, open.URL+r.URL.Path, http.StatusFound)
	}))
	spec := specFor(t, data, "hf:org/repo/file.jns")
	o := quick()
	o.Transport = transport
	o.Getenv = environment("HF_ENDPOINT", s.URL, "HF_TOKEN", "secret")
	_, err := Get(context.Background(), spec, o)
	require.ErrorContains(t, err, "from https to http")
	require.NoFileExists(t, spec.Path)
	require.Empty(t, open.auth, "the other server was asked")
}

// TestSecretsDoNotComeBack: once a redirect has left the host, the token is gone, also when a later one leads back.
func TestSecretsDoNotComeBack(t *testing.T) {
	get := func(urls ...string) http.Header {
		var via []*http.Request
		for _, u := range urls {
			p, err := url.Parse(u)
			require.NoError(t, err)
			via = append(via, &http.Request{URL: p, Header: http.Header{"Authorization": {"x"}, "Cookie": {"y"}}})
		}
		last := via[len(via)-1]
		if err := checkRedirect(last, via[:len(via)-1]); err != nil {
			return nil
		}
		return last.Header
	}
	require.Equal(t, "x", get("https://a.example/1", "https://a.example/2").Get("Authorization"))
	require.Equal(t, "x", get("https://a.example/1", "https://A.example:443/2").Get("Authorization"))
	for _, chain := range [][]string{
		{"https://a.example/1", "https://b.example/2"},
		{"https://a.example/1", "https://sub.a.example/2"},
		{"https://a.example/1", "https://a.example:8443/2"},
		{"https://a.example/1", "https://b.example/2", "https://a.example/3"},
		{"http://127.0.0.1:1/1", "http://127.0.0.1:2/2"},
	} {
		h := get(chain...)
		require.NotNil(t, h, chain)
		require.Empty(t, h.Get("Authorization"), chain)
		require.Empty(t, h.Get("Cookie"), chain)
	}
	for _, chain := range [][]string{
		{"https://a.example/1", "http://a.example/2"},
		{"https://a.example/1", "http://127.0.0.1/2"},
		{"https://a.example/1", "file:///etc/passwd"},
		{"https://a.example/1", "https://user:pass@a.example/2"},
	} {
		require.Nil(t, get(chain...), chain)
	}
}

func TestAddressesThatAreRefused(t *testing.T) {
	o := quick()
	for address, says := range map[string]string{
		"http://example.org/x":        "plain http",
		"ftp://example.org/x":         "none of",
		"https://u:p@example.org/x":   "password",
		"https:///x":                  "no host",
		"x.jns":                       "no address",
		"hf:org/repo/x.jns":           "HF_ENDPOINT",
		"oci:example.org":             "not of the form",
		"oci:example.org/x":           "not of the form",
		"oci:example.org/x@sha256:..": "not of the form",
		"oci:example.org/../x:1":      "not of the form",
		"https://example.org/\nx":     "no address",
	} {
		require.ErrorContains(t, Check(address, o), says, address)
	}
	o.Getenv = environment("HF_ENDPOINT", "https://hub.example")
	require.NoError(t, Check("hf:org/repo/a/b.jns@main", o))
	for _, ref := range []string{"org/repo", "org/../x/y", "org/repo/../../x", "org/repo/x@../y", "../repo/x", "org/repo//x", "org/repo/x?y", "org/repo/x@a@b", "org/repo/%2e%2e/x"} {
		require.ErrorIs(t, Check("hf:"+ref, o), ErrRefused, ref)
	}
	o.Getenv = environment("HF_ENDPOINT", "http://hub.example")
	require.ErrorContains(t, Check("hf:org/repo/x", o), "plain http")
	o.Getenv = environment("HF_ENDPOINT", "https://hub.example", "HF_TOKEN", "a\r\nb")
	require.ErrorContains(t, Check("hf:org/repo/x", o), "HF_TOKEN")
	o.LocalFiles = false
	require.ErrorIs(t, Check("file:///etc/passwd", o), ErrRefused)
	o.Offline = true
	require.ErrorIs(t, Check("https://example.org/x", o), ErrOffline)
}

// oci is a registry with one artifact, behind a token service if challenge is given.
type oci struct {
	*httptest.Server
	data      []byte
	manifest  []byte
	challenge func(self string) string
	blobs     *server // where blobs lie; nil: here
}

func artifactOf(t *testing.T, data []byte, layers ...map[string]any) *oci {
	o := &oci{data: data}
	layer := func(title string, b []byte) map[string]any {
		return map[string]any{"mediaType": "application/vnd.jns", "digest": digest.FromBytes(b).String(), "size": len(b),
			"annotations": map[string]string{"org.opencontainers.image.title": title}}
	}
	if layers == nil {
		layers = []map[string]any{layer("other", []byte("other")), layer("file.jns", data)}
	}
	m, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": map[string]any{"mediaType": "application/vnd.oci.empty.v1+json", "digest": digest.FromString("{}").String(), "size": 2}, "layers": layers})
	require.NoError(t, err)
	o.manifest = m
	o.Server = httptest.NewServer(o)
	t.Cleanup(o.Close)
	return o
}

func (o *oci) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/token" {
		fmt.Fprint(w, `{"token":"pass"}`)
		return
	}
	if o.challenge != nil && r.Header.Get("Authorization") != "Bearer pass" {
		w.Header().Set("WWW-Authenticate", o.challenge(o.URL))
		w.WriteHeader(401)
		return
	}
	switch {
	case strings.Contains(r.URL.Path, "/manifests/"):
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		w.Header().Set("Docker-Content-Digest", digest.FromBytes(o.manifest).String())
		_, _ = w.Write(o.manifest)
	case strings.HasSuffix(r.URL.Path, "/blobs/"+digest.FromBytes(o.data).String()):
		if o.blobs != nil {
			http.Redirect(w, r, o.blobs.URL+"/blob", http.StatusTemporaryRedirect)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(o.data))
	default:
		w.WriteHeader(404)
	}
}

func (o *oci) ref() string { return "oci:" + strings.TrimPrefix(o.URL, "http://") + "/org/model:v1" }

func TestRegistries(t *testing.T) {
	data := content(4*mib+5, 43)
	bearer := func(self string) string {
		return `Bearer realm="` + self + `/token",service="x",scope="repository:org/model:pull"`
	}
	for name, change := range map[string]func(*oci){
		"open":                  func(*oci) {},
		"with a token service":  func(o *oci) { o.challenge = bearer },
		"blobs on another host": func(o *oci) { o.challenge, o.blobs = bearer, serve(t, data, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			o := artifactOf(t, data)
			change(o)
			spec := specFor(t, data, o.ref())
			_, err := Get(context.Background(), spec, quick())
			require.NoError(t, err)
			right(t, spec, data)
			if o.blobs != nil {
				for _, a := range o.blobs.auth {
					require.Empty(t, a, "the registry's token reached another host")
				}
			}
		})
	}
}

func TestHostileRegistriesAreRefused(t *testing.T) {
	data := content(mib, 44)
	layer := func(d string) []map[string]any {
		return []map[string]any{{"mediaType": "x", "digest": d, "size": 5, "annotations": map[string]string{"org.opencontainers.image.title": "file.jns"}}}
	}
	for _, d := range []string{"sha256:../../../../x", "../x", "sha256:" + strings.Repeat("0", 63), "md5:" + strings.Repeat("0", 32), "", "sha512:" + strings.Repeat("0", 128)} {
		o := artifactOf(t, data, layer(d)...)
		spec := specFor(t, data, o.ref())
		_, err := Get(context.Background(), spec, quick())
		require.ErrorContains(t, err, "no digest of a layer", d)
		require.NoFileExists(t, spec.Path)
	}
	// A manifest that is not the one its digest names.
	o := artifactOf(t, data)
	spec := specFor(t, data, strings.Replace(o.ref(), ":v1", "@sha256:"+strings.Repeat("1", 64), 1))
	_, err := Get(context.Background(), spec, quick())
	require.ErrorIs(t, err, ErrSource)
}

// FuzzChallengeOfARegistry: whatever a registry says in WWW-Authenticate, the client answers with an error and not with a crash, and nobody is asked but over https.
func FuzzChallengeOfARegistry(f *testing.F) {
	for _, s := range []string{"", "Bearer", "Bearer realm", `Bearer realm="`, `Bearer realm="http://x",service=`, "Basic realm=\"\"", `Bearer realm="\\`, "bearer ,,,===\"\"", `Bearer realm="file:///x"`,
		`Bearer a=b,a=c realm="`, "Negotiate x, Bearer y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, challenge string) {
		o := quick()
		o.fill()
		o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			require.Equal(t, "https", r.URL.Scheme)
			rec := httptest.NewRecorder()
			rec.Header()["Www-Authenticate"] = []string{challenge}
			rec.WriteHeader(401)
			resp := rec.Result()
			resp.Request = r
			return resp, nil
		})
		o.Retries = 1
		r, err := parseSource("oci:registry.example/org/model:v1", "x", newClient(&o), &o)
		require.NoError(t, err)
		_, err = r.open(context.Background(), 0, 1, "")
		require.Error(t, err)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func FuzzContentRange(f *testing.F) {
	for _, s := range []string{"bytes 0-1/2", "bytes 0-0/*", "bytes -1-2/3", "bytes 5-4/9", "bytes 0-9/5", "bytes 1-2/99999999999999999999", "bytes +1-2/3", "items 0-1/2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, b, n, ok := parseContentRange(s)
		if ok {
			require.True(t, 0 <= a && a <= b && (n == -1 || b < n), s)
		}
	})
}

// TestRedirectsLeaveTheClientsListAlone: it is the client's, and has room behind its end.
func TestRedirectsLeaveTheClientsListAlone(t *testing.T) {
	request := func(u string) *http.Request {
		p, err := url.Parse(u)
		require.NoError(t, err)
		return &http.Request{URL: p, Header: http.Header{}}
	}
	list := []*http.Request{request("https://a.example/1"), request("https://a.example/2"), nil}
	require.NoError(t, checkRedirect(request("https://a.example/3"), list[:2]))
	require.Nil(t, list[2])
}
