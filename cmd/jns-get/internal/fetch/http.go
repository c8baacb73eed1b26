package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// doer sends a request; http.Client is one.
type doer interface {
	Do(*http.Request) (*http.Response, error)
}

// httpRemote reads ranges of one address.
type httpRemote struct {
	name   string // for people: without secrets
	url    string
	header http.Header // sent to the address's own host only
	do     doer
	stall  time.Duration
	hint   string // what to do about 401 and 403
}

func (h *httpRemote) String() string { return h.name }

// body is an open answer.
type body struct {
	io.ReadCloser
	from      int64  // offset of its first byte in the file
	to        int64  // end of the range that was promised
	size      int64  // of the whole file, -1 if the server does not say
	validator string // strong ETag, or the date of the file; empty if there is neither
	whole     bool   // the server ignored the range
}

// statusError is an answer that is no success.
type statusError struct {
	text      string
	permanent bool
	after     time.Duration // as the server asks; 0 if it does not
}

func (e *statusError) Error() string { return e.text }

// permanentError means that asking again is of no use.
type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

func permanent(err error) bool {
	var s *statusError
	var p permanentError
	return errors.As(err, &p) || errors.As(err, &s) && s.permanent || errors.Is(err, ErrRefused)
}

// loopback reports whether a host of an address is this machine.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// origin is what a token belongs to.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// allowed says whether an address may be asked at all: https, and http of this machine.
func allowed(u *url.URL) error {
	switch {
	case u.User != nil:
		return fmt.Errorf("%w: %s carries a user name or password", ErrRefused, u.Redacted())
	case u.Host == "" || u.Hostname() == "":
		return fmt.Errorf("%w: %q names no host", ErrRefused, u.Redacted())
	case u.Scheme == "https", u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	case u.Scheme == "http":
		return fmt.Errorf("%w: %s is plain http; only this machine may be asked so, use https", ErrRefused, u.Redacted())
	}
	return fmt.Errorf("%w: %q is no address this program can read", ErrRefused, u.Redacted())
}

const maxRedirects = 10

// secret are the headers that belong to one origin.
var secret = []string{"Authorization", "Cookie", "Proxy-Authorization"}

// checkRedirect follows redirects to safe addresses, and leaves secrets behind as soon as one leads elsewhere: another host, another port, another scheme.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return permanentError{fmt.Errorf("more than %d redirects", maxRedirects)}
	}
	first := via[0].URL
	if err := allowed(req.URL); err != nil {
		return fmt.Errorf("redirected: %w", err)
	}
	if req.URL.Scheme == "http" && (first.Scheme == "https" || !loopback(first.Hostname())) {
		return fmt.Errorf("%w: redirected from https to http", ErrRefused)
	}
	elsewhere := func(r *http.Request) bool { return origin(r.URL) != origin(first) }
	if elsewhere(req) || slices.ContainsFunc(via, elsewhere) {
		for _, h := range secret {
			req.Header.Del(h)
		}
	}
	// The address that led here may hold a signature; it is nobody else's business.
	req.Header.Del("Referer")
	return nil
}

// newTransport is a transport for many bytes over several connections: HTTP/1.1, since all streams of HTTP/2 would share one; nothing unpacked behind our back.
func newTransport(stall time.Duration) http.RoundTripper {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: stall, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    stall,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    64,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
		ReadBufferSize:         64 << 10,
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
}

func newClient(o *Options) *http.Client {
	t := o.Transport
	if t == nil {
		t = newTransport(o.Stall)
	}
	return &http.Client{Transport: guard{t}, CheckRedirect: checkRedirect}
}

// guard is the last gate: whatever led to an address, a redirect or what a registry calls its token service, it is asked only if it may be.
type guard struct{ http.RoundTripper }

func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := allowed(r.URL); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	return g.RoundTripper.RoundTrip(r)
}

// open asks for the bytes from, to (exclusive). validator, if given, is what the file must still have.
func (h *httpRemote) open(ctx context.Context, from, to int64, validator string) (*body, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url, nil)
	if err != nil {
		cancel(nil)
		return nil, permanentError{err}
	}
	for k, v := range h.header {
		req.Header[k] = v
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "jns-get")
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, to-1))
	if validator != "" {
		req.Header.Set("If-Range", validator)
	}
	// Whatever waits inside Do, a token service included, is bound by this watch; then it guards the body.
	watch := newStallWatch(h.stall, func() { cancel(errStalled) })
	resp, err := h.do.Do(req)
	if err != nil {
		watch.stop()
		err = cleanError(err, context.Cause(ctx))
		cancel(nil)
		return nil, err
	}
	b, err := h.answer(resp, from, to)
	if err != nil {
		resp.Body.Close()
		watch.stop()
		cancel(nil)
		return nil, err
	}
	watch.moved()
	b.ReadCloser = &watched{resp.Body, watch, ctx, cancel}
	return b, nil
}

var errStalled = errors.New("the source stopped sending")

// cleanError takes the address out of a client's error, since it may be a signed one, and prefers the reason of a cancellation.
func cleanError(err, cause error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if cause != nil {
		return cause
	}
	return err
}

// stallWatch calls fail when nothing has moved for so long. It counts ticks instead of setting one timer: a process that slept, with its machine or under a scheduler,
// finds one tick due when it wakes, and gets the time until the next to read what has arrived meanwhile.
type stallWatch struct {
	timer *time.Timer
	idle  atomic.Int32 // ticks since something moved
}

const stallTicks = 3

func newStallWatch(after time.Duration, fail func()) *stallWatch {
	w := &stallWatch{}
	tick := max(after/stallTicks, 1)
	var mu sync.Mutex // the first tick may come before the timer is stored
	mu.Lock()
	defer mu.Unlock()
	w.timer = time.AfterFunc(tick, func() {
		if w.idle.Add(1) >= stallTicks {
			fail()
			return
		}
		mu.Lock()
		defer mu.Unlock()
		w.timer.Reset(tick)
	})
	return w
}

func (w *stallWatch) moved() { w.idle.Store(0) }

// stop ends the watch. A tick that runs at this moment may set the timer once more; what it calls then is a context that is done already.
func (w *stallWatch) stop() { w.timer.Stop() }

// watched is a body that must keep sending.
type watched struct {
	io.ReadCloser
	watch  *stallWatch
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if n > 0 {
		w.watch.moved()
	}
	if err != nil && err != io.EOF {
		err = cleanError(err, context.Cause(w.ctx))
	}
	return n, err
}

func (w *watched) Close() error {
	w.watch.stop()
	w.cancel(nil)
	return w.ReadCloser.Close()
}

// answer reads the head of a response.
func (h *httpRemote) answer(resp *http.Response, from, to int64) (*body, error) {
	if e := resp.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, permanentError{fmt.Errorf("the server sends the file packed as %q though it was asked not to", clip(e))}
	}
	b := &body{size: -1, validator: validatorOf(resp.Header)}
	switch resp.StatusCode {
	case http.StatusOK:
		b.whole, b.size, b.to = true, resp.ContentLength, resp.ContentLength
		if b.size < 0 {
			return nil, permanentError{errors.New("the server neither sends ranges nor says how long the file is")}
		}
		return b, nil
	case http.StatusPartialContent:
		first, last, size, ok := parseContentRange(resp.Header.Get("Content-Range"))
		switch {
		case !ok:
			return nil, fmt.Errorf("the server sends a range but names it %q", clip(resp.Header.Get("Content-Range")))
		case first != from || last >= to:
			return nil, fmt.Errorf("the server sends bytes %d to %d, asked for were %d to %d", first, last, from, to-1)
		case resp.ContentLength >= 0 && resp.ContentLength != last-first+1:
			return nil, fmt.Errorf("the server sends %d bytes for a range of %d", resp.ContentLength, last-first+1)
		}
		b.from, b.to, b.size = first, last+1, size
		return b, nil
	}
	return nil, h.refusal(resp)
}

// refusal makes the error of an answer that has no bytes for us.
func (h *httpRemote) refusal(resp *http.Response) error {
	e := &statusError{text: "the server answers " + clip(resp.Status)}
	switch c := resp.StatusCode; {
	case c == http.StatusRequestedRangeNotSatisfiable:
		if _, n, ok := strings.Cut(resp.Header.Get("Content-Range"), "*/"); ok {
			e.text += ": its file has " + clip(n) + " bytes"
		} else {
			e.text += ": its file is shorter"
		}
	case c == http.StatusUnauthorized || c == http.StatusForbidden:
		e.permanent = true
		if h.hint != "" {
			e.text += "; " + h.hint
		}
	case c == http.StatusTooManyRequests || c == http.StatusRequestTimeout || c == http.StatusTooEarly || c >= 500 && c != http.StatusNotImplemented:
		e.after = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	default:
		e.permanent = true
	}
	return e
}

// validatorOf gives what If-Range can compare: a strong ETag, else the date.
func validatorOf(h http.Header) string {
	if e := h.Get("ETag"); len(e) >= 2 && len(e) < 1024 && e[0] == '"' && e[len(e)-1] == '"' {
		return e
	}
	if d := h.Get("Last-Modified"); d != "" && len(d) < 64 {
		if _, err := http.ParseTime(d); err == nil {
			return d
		}
	}
	return ""
}

// parseContentRange reads "bytes FIRST-LAST/SIZE"; size is -1 for "*".
func parseContentRange(s string) (first, last, size int64, ok bool) {
	rest, ok := strings.CutPrefix(s, "bytes ")
	if !ok || len(s) > 128 {
		return 0, 0, 0, false
	}
	span, total, ok1 := strings.Cut(rest, "/")
	a, b, ok2 := strings.Cut(span, "-")
	first, e1 := number(a)
	last, e2 := number(b)
	size, e3 := int64(-1), true
	if total != "*" {
		size, e3 = number(total)
	}
	ok = ok1 && ok2 && e1 && e2 && e3 && first <= last && (size < 0 || last < size)
	return first, last, size, ok
}

// number reads digits and nothing else.
func number(s string) (int64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// retryAfter reads the header of that name: seconds or a date, bounded.
func retryAfter(s string, now time.Time) time.Duration {
	if n, ok := number(strings.TrimSpace(s)); ok {
		return time.Duration(min(n, int64(maxRetryAfter/time.Second))) * time.Second
	}
	if t, err := http.ParseTime(s); err == nil {
		return min(max(t.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

// clip bounds a text of a server that goes into a message.
func clip(s string) string {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}
