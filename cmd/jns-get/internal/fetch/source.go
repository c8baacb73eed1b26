package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"jns/format"
)

// remote is one place that a file can be had from.
type remote interface {
	fmt.Stringer
	// open gives the bytes from, to (exclusive), or tells why not.
	open(ctx context.Context, from, to int64, validator string) (*body, error)
}

// src is a remote and what happened with it.
type src struct {
	remote
	address   string
	mu        sync.Mutex
	gave      bool // a chunk of it was taken
	validator string
	noRanges  bool
	fails     int // in a row
	bad       int // bad chunks in a row
	changes   int
	dead      error
	first     *body // answer to the first question, if it is the whole file: used instead of being asked for again
}

// failed records a failure and says how long to wait, and whether the source is still of use.
func (s *src) failed(err error, o *Options) (wait time.Duration, alive bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead != nil {
		return 0, false
	}
	s.fails++
	if permanent(err) || s.fails > o.Retries {
		s.dead = err
		return 0, false
	}
	wait = min(o.Backoff<<min(s.fails-1, 16), maxBackoff)
	var st *statusError
	if errors.As(err, &st) && st.after > wait {
		wait = st.after
	}
	return wait, true
}

// good records a whole chunk.
func (s *src) good() { s.mu.Lock(); s.fails, s.bad, s.gave = 0, 0, true; s.mu.Unlock() }

// progress records bytes, of which it is not known yet whether they are right.
func (s *src) progress() { s.mu.Lock(); s.fails = 0; s.mu.Unlock() }

func (s *src) kill(err error) {
	s.mu.Lock()
	if s.dead == nil {
		s.dead = err
	}
	s.mu.Unlock()
}

func (s *src) death() error { s.mu.Lock(); defer s.mu.Unlock(); return s.dead }

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Check says whether an address is one that Get can use, without asking anybody.
func Check(address string, o Options) error {
	o.fill()
	_, err := parseSource(address, "", newClient(&o), &o)
	return err
}

// parseSource makes a remote of an address: https:, http: of this machine, file:, hf:, oci:.
func parseSource(address, name string, client *http.Client, o *Options) (remote, error) {
	scheme, rest, ok := strings.Cut(address, ":")
	if !ok || len(address) > 8192 || strings.ContainsFunc(address, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return nil, fmt.Errorf("%w: %q is no address; it begins with https:, http:, file:, hf: or oci:", ErrRefused, clip(address))
	}
	if scheme == "file" {
		return parseFile(address, o)
	}
	if o.Offline {
		return nil, fmt.Errorf("%w: %s would have to be asked", ErrOffline, clip(address))
	}
	switch scheme {
	case "https", "http":
		u, err := url.Parse(address)
		if err != nil {
			return nil, fmt.Errorf("%w: %q is no address", ErrRefused, clip(address))
		}
		if err := allowed(u); err != nil {
			return nil, err
		}
		return &httpRemote{name: plain(u), url: u.String(), do: client, stall: o.Stall}, nil
	case "hf":
		return parseHF(rest, client, o)
	case "oci":
		return parseOCI(rest, name, client, o)
	}
	return nil, fmt.Errorf("%w: %q begins with none of https:, http:, file:, hf:, oci:", ErrRefused, clip(address))
}

// plain is an address without its query, which may hold a signature.
func plain(u *url.URL) string {
	v := *u
	v.RawQuery, v.Fragment, v.User = "", "", nil
	return clip(v.String())
}

var hfPart = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// parseHF makes the address of ORG/REPO/PATH@REVISION on the hub that HF_ENDPOINT names. HF_TOKEN goes to that host only.
func parseHF(ref string, client *http.Client, o *Options) (remote, error) {
	endpoint := o.Getenv("HF_ENDPOINT")
	if endpoint == "" {
		return nil, fmt.Errorf("%w: hf:%s needs the address of the hub: set HF_ENDPOINT, for example HF_ENDPOINT=https://HOST", ErrRefused, clip(ref))
	}
	base, err := url.Parse(strings.TrimRight(endpoint, "/"))
	if err != nil {
		return nil, fmt.Errorf("%w: HF_ENDPOINT is no address", ErrRefused)
	}
	if err := allowed(base); err != nil {
		return nil, fmt.Errorf("HF_ENDPOINT: %w", err)
	}
	file, rev, ok := strings.Cut(ref, "@")
	if !ok {
		rev = "main"
	}
	parts := strings.Split(file, "/")
	bad := len(parts) < 3
	for _, p := range append(parts, strings.Split(rev, "/")...) {
		bad = bad || !hfPart.MatchString(p)
	}
	if bad {
		return nil, fmt.Errorf("%w: hf:%s is not of the form hf:ORG/REPO/FILE@REVISION", ErrRefused, clip(ref))
	}
	u := base.JoinPath(parts[0], parts[1], "resolve")
	u.RawPath = u.EscapedPath() + "/" + url.PathEscape(rev) + "/" + strings.Join(parts[2:], "/")
	u.Path += "/" + rev + "/" + strings.Join(parts[2:], "/")
	h := &httpRemote{name: "hf:" + clip(ref), url: u.String(), do: client, stall: o.Stall, header: http.Header{}}
	if token := strings.TrimSpace(o.Getenv("HF_TOKEN")); token != "" {
		if strings.ContainsFunc(token, func(r rune) bool { return r <= 0x20 || r >= 0x7f }) {
			return nil, fmt.Errorf("%w: HF_TOKEN holds a space or a control character", ErrRefused)
		}
		h.header.Set("Authorization", "Bearer "+token)
		h.hint = "does the token in HF_TOKEN give access to this repository?"
	} else {
		h.hint = "if the repository needs a token, set HF_TOKEN"
	}
	return h, nil
}

// fileRemote is a file of this machine.
type fileRemote struct{ path string }

func parseFile(address string, o *Options) (remote, error) {
	if !o.LocalFiles {
		return nil, fmt.Errorf("%w: %s: a manifest from elsewhere may not name files of this machine", ErrRefused, clip(address))
	}
	path := strings.TrimPrefix(address, "file:")
	if rest, ok := strings.CutPrefix(path, "//"); ok {
		u, err := url.Parse(address)
		if err != nil || u.Host != "" && u.Host != "localhost" {
			return nil, fmt.Errorf("%w: %q is no file of this machine", ErrRefused, clip(rest))
		}
		path = u.Path
	}
	if path == "" {
		return nil, fmt.Errorf("%w: %q names no file", ErrRefused, clip(address))
	}
	return &fileRemote{filepath.FromSlash(path)}, nil
}

func (f *fileRemote) String() string { return f.path }

func (f *fileRemote) open(_ context.Context, from, to int64, _ string) (*body, error) {
	h, _, err := format.OpenFile(f.path)
	if err != nil {
		return nil, permanentError{err}
	}
	st, err := h.Stat()
	if err != nil {
		return nil, permanentError{errors.Join(err, h.Close())}
	}
	to = min(to, st.Size())
	return &body{
		ReadCloser: struct {
			io.Reader
			io.Closer
		}{io.NewSectionReader(h, from, max(to-from, 0)), h},
		from: from, to: to, size: st.Size(), validator: fmt.Sprintf("%d %d", st.Size(), st.ModTime().UnixNano()),
	}, nil
}
