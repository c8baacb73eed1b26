package server

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"jns/runtime/engine"
)

// Options say how to serve. The zero value of a field takes its default, except where it says otherwise.
type Options struct {
	Model    string               // the id that clients name; required
	Sampling *engine.SampleParams // where a request says nothing; nil: engine.DefaultSampling
	Seeded   bool                 // Sampling.Seed is meant; else each request without a seed gets one of its own
	APIKey   string               // if set, requests need it as a bearer token

	Parallel int           // requests answered at once, by turns; default 4
	Queue    *int          // requests that wait beyond those; nil: 64
	Patience time.Duration // longest wait in the queue; default 60 s
	Timeout  time.Duration // longest time for one answer, waiting not counted; 0: none
	Stall    time.Duration // longest time for a client to send its body or to take one piece of the answer; default 30 s
	Grace    time.Duration // how long a shutdown waits for running answers; default 30 s
	MaxBody  int64         // bytes of a request's body; default 8 MiB

	Log *slog.Logger // nil: nothing is logged
}

func (o Options) resolve() (Options, error) {
	if o.Model == "" {
		return o, fmt.Errorf("%w: the served model needs a name", engine.ErrOption)
	}
	if o.Sampling == nil {
		d := engine.DefaultSampling()
		d.PenaltyWindow = -1
		o.Sampling = &d
	}
	queue := 64
	if o.Queue == nil {
		o.Queue = &queue
	}
	duration := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	duration(&o.Patience, time.Minute)
	duration(&o.Stall, 30*time.Second)
	duration(&o.Grace, 30*time.Second)
	if o.Parallel == 0 {
		o.Parallel = 4
	}
	if o.MaxBody == 0 {
		o.MaxBody = 8 << 20
	}
	const most = 1 << 16 // of places: far more than any machine answers in time
	if o.Parallel < 1 || o.Parallel > most || *o.Queue < 0 || *o.Queue > most || o.MaxBody < 0 || min(o.Patience, o.Timeout, o.Stall, o.Grace) < 0 {
		return o, fmt.Errorf("%w: a number of requests, a time or a size is negative or too large", engine.ErrOption)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// Server answers requests over one engine.
type Server struct {
	e     *engine.Engine
	o     Options
	facts facts
	print string // fingerprint of what decides results: the container

	queue    *queue
	sessions *sessions
	metrics  *metrics
	created  time.Time
	broken   atomic.Bool // the container's file failed: nothing will work any more
	loopback atomic.Bool // only local names may be asked for

	base    context.Context // of all requests
	stop    context.CancelCauseFunc
	mu      sync.Mutex
	closed  bool           // no handler may begin
	running sync.WaitGroup // handlers
	handler http.Handler
}

// New makes a server. The engine stays the caller's, and must not be closed before Close or Serve has returned.
func New(e *engine.Engine, o Options) (*Server, error) {
	o, err := o.resolve()
	if err != nil {
		return nil, err
	}
	s := &Server{e: e, o: o, print: "jns_" + e.Root()[:16], created: time.Now()}
	s.facts = facts{model: o.Model, vocab: e.Vocab(), hasText: e.HasVocab(), defaults: *o.Sampling, seeded: o.Seeded, mentions: e.TemplateMentions, check: e.CheckSampling}
	if err := e.CheckSampling(*o.Sampling); err != nil {
		return nil, err
	}
	s.queue = newQueue(o.Parallel, *o.Queue, o.Patience)
	s.queue.memory = e.KVLimit()
	s.sessions = &sessions{open: func() session { return engineSession{e.NewSession()} }, max: o.Parallel}
	s.metrics = newMetrics(s)
	s.base, s.stop = context.WithCancelCause(context.Background())
	s.handler = s.routes()
	return s, nil
}

// Handler answers requests, for a listener of the caller's own. Close ends it.
func (s *Server) Handler() http.Handler { return s.handler }

// Close cancels what is running, waits for it, and gives the sessions' memory back.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.queue.close()
	s.stop(errShutdown)
	s.running.Wait()
	s.sessions.close()
}

// enter says whether a handler may begin; then running.Done must be called.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.running.Add(1)
	}
	return !s.closed
}

// Serve answers on a listener until ctx ends; then it lets running answers finish for the grace period, refuses all others, and returns nil.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if a, ok := l.Addr().(*net.TCPAddr); ok && a.IP.IsLoopback() {
		s.loopback.Store(true)
	}
	srv := &http.Server{Handler: s.handler, ReadHeaderTimeout: s.o.Stall, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug)}
	defer s.Close()
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return errors.Join(err, srv.Close()) // else requests whose body is on its way would be waited for, and connections at rest stay
	case <-ctx.Done():
	}
	s.o.Log.Info("shutting down", "grace", s.o.Grace)
	s.queue.close()
	grace, cancel := context.WithTimeout(context.Background(), s.o.Grace)
	defer cancel()
	if srv.Shutdown(grace) == nil {
		return nil
	}
	s.stop(errShutdown) // those who still run are told so
	last, cancel2 := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel2()
	if srv.Shutdown(last) != nil {
		return srv.Close()
	}
	return nil
}

// handler is an endpoint. An error becomes the response, or the last event of a stream that has begun.
type handler func(w http.ResponseWriter, r *http.Request) error

func (s *Server) routes() http.Handler {
	type route struct {
		method, path string
		h            handler
	}
	mux := http.NewServeMux()
	methods := map[string]string{}
	for _, r := range []route{
		{"POST", "/v1/chat/completions", s.answer(parseChat)},
		{"POST", "/v1/completions", s.answer(parseCompletion)},
		{"POST", "/v1/rerank", s.rerank},
		{"GET", "/v1/models", s.models},
		{"GET", "/v1/models/{id...}", s.model},
		{"POST", "/tokenize", s.tokenize},
		{"POST", "/detokenize", s.detokenize},
		{"GET", "/health", s.health},
		{"GET", "/metrics", s.metrics.serve},
		{"GET", "/receipt", s.receipt},
	} {
		mux.Handle(r.method+" "+r.path, s.wrap(r.path, r.h))
		methods[r.path] = r.method
	}
	for path, m := range methods { // what has the path and another method
		allow := m
		if m == "GET" {
			allow = "GET, HEAD"
		}
		mux.Handle(path, s.wrap(path, func(w http.ResponseWriter, r *http.Request) error {
			w.Header().Set("Allow", allow)
			return &apiError{status: http.StatusMethodNotAllowed, kind: typeInvalid, message: fmt.Sprintf("%s is not allowed here; use %s", r.Method, allow)}
		}))
	}
	mux.Handle("/", s.wrap("other", func(w http.ResponseWriter, r *http.Request) error {
		return &apiError{status: http.StatusNotFound, kind: typeInvalid, code: "unknown_url", message: fmt.Sprintf("unknown URL: %s %s", r.Method, r.URL.Path)}
	}))
	return mux
}

// wrap is what all endpoints have around them: who may ask, panics, metrics, the log.
func (s *Server) wrap(path string, h handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w := &recorder{ResponseWriter: rw, stall: s.o.Stall}
		if !s.enter() {
			writeError(w, draining())
			return
		}
		defer s.running.Done()
		start := time.Now()
		if r.ContentLength != 0 { // also for a body that nobody will want: the connection waits for its end
			_ = http.NewResponseController(w).SetReadDeadline(start.Add(s.o.Stall))
		}
		ctx, cancel := context.WithCancelCause(r.Context())
		defer cancel(nil)
		defer context.AfterFunc(s.base, func() { cancel(context.Cause(s.base)) })()
		r = r.WithContext(ctx)
		status := 0
		defer func() {
			if v := recover(); v != nil {
				s.metrics.panics.add(1)
				s.o.Log.Error("internal error", "path", path, "panic", v, "stack", string(debug.Stack()))
				status = s.fail(w, &apiError{status: http.StatusInternalServerError, kind: typeServer, message: "internal error"})
			}
			if status == 0 {
				status = w.status
			}
			s.metrics.request(path, status, time.Since(start))
			s.o.Log.Info("request", "method", r.Method, "path", path, "status", status, "ms", time.Since(start).Milliseconds(), "detail", w.detail)
		}()
		err := s.admit(path, r)
		if err == nil {
			err = h(w, r)
		}
		if err != nil {
			a := classify(ctx, err)
			if errors.Is(err, engine.ErrFault) {
				s.broken.Store(true)
			}
			w.detail = a.message
			status = s.fail(w, a)
		}
	})
}

// fail sends an error, as a response or, in a stream, as its last event.
func (s *Server) fail(w *recorder, a *apiError) int {
	if w.status == 0 {
		writeError(w, a)
	} else if w.events {
		_ = event(w, map[string]any{"error": a})
	}
	return a.status
}

// admit says whether the request may be answered at all.
func (s *Server) admit(path string, r *http.Request) error {
	if s.loopback.Load() && !local(r.Host) {
		// A page in a browser could otherwise have its own name point here, and read answers as its own (DNS rebinding).
		return &apiError{status: http.StatusForbidden, kind: typeInvalid, message: fmt.Sprintf("host %q is not a name of this machine; serve on another address with --host", r.Host)}
	}
	if s.o.APIKey == "" || path == "/health" {
		return nil
	}
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || subtle.ConstantTimeCompare([]byte(key), []byte(s.o.APIKey)) != 1 {
		return &apiError{status: http.StatusUnauthorized, kind: typeAuth, code: "invalid_api_key", message: "the API key is missing or wrong"}
	}
	return nil
}

// local reports whether a Host header names this machine.
func local(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") {
		return true
	}
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	name, err := os.Hostname()
	return err == nil && strings.EqualFold(host, name)
}

// recorder remembers what was sent, and gives the client time to take it.
type recorder struct {
	http.ResponseWriter
	stall  time.Duration // for each piece
	status int
	events bool   // a stream of events has begun
	detail string // for the log
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	// For every response, not for streams alone: a client that asks much and reads nothing would hold its handler for ever.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.stall))
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach deadlines and Flush.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
