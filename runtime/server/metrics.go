package server

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// metrics are what /metrics shows, in Prometheus' text format. It is written here, because the client library's initialisation (protocol buffers, procfs) would
// double the time that every run of the program takes to start, served or not; a test reads the page with Prometheus' own parser.
type metrics struct {
	s *Server

	mu       sync.Mutex
	requests map[[2]string]uint64  // by endpoint and status
	duration map[string]*histogram // by endpoint

	first                                                 histogram
	prompt, cached, generated, refused, cancelled, panics counter
}

// counter only grows.
type counter struct{ n atomic.Uint64 }

func (c *counter) add(n int) { c.n.Add(uint64(n)) }

// bounds of histograms, in seconds.
var bounds = [...]float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}

// histogram counts durations.
type histogram struct {
	mu     sync.Mutex
	counts [len(bounds) + 1]uint64 // not cumulated
	sum    float64
}

func (h *histogram) observe(d time.Duration) {
	i, _ := slices.BinarySearch(bounds[:], d.Seconds())
	h.mu.Lock()
	h.counts[i]++
	h.sum += d.Seconds()
	h.mu.Unlock()
}

func newMetrics(s *Server) *metrics {
	return &metrics{s: s, requests: map[[2]string]uint64{}, duration: map[string]*histogram{}}
}

// request counts a request that has ended. Endpoints are patterns and statuses few, so that the page stays short.
func (m *metrics) request(endpoint string, status int, took time.Duration) {
	m.mu.Lock()
	m.requests[[2]string{endpoint, strconv.Itoa(status)}]++
	h := m.duration[endpoint]
	if h == nil {
		h = &histogram{}
		m.duration[endpoint] = h
	}
	m.mu.Unlock()
	h.observe(took)
}

// page writes one metric after the other.
type page struct{ strings.Builder }

func (p *page) family(name, kind, help string) {
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (p *page) single(name, kind, help string, v float64) {
	p.family(name, kind, help)
	fmt.Fprintf(p, "%s %s\n", name, strconv.FormatFloat(v, 'g', -1, 64))
}

func (p *page) counter(name, help string, c *counter) {
	p.single(name, "counter", help, float64(c.n.Load()))
}

// histogram writes the series of one histogram; labels is empty or ends with a comma.
func (p *page) histogram(name, labels string, h *histogram) {
	h.mu.Lock()
	defer h.mu.Unlock()
	total := uint64(0)
	for i, n := range h.counts {
		total += n
		le := math.Inf(1)
		if i < len(bounds) {
			le = bounds[i]
		}
		fmt.Fprintf(p, "%s_bucket{%sle=%q} %d\n", name, labels, strconv.FormatFloat(le, 'g', -1, 64), total)
	}
	if labels != "" {
		labels = "{" + strings.TrimSuffix(labels, ",") + "}"
	}
	fmt.Fprintf(p, "%s_sum%s %s\n%s_count%s %d\n", name, labels, strconv.FormatFloat(h.sum, 'g', -1, 64), name, labels, total)
}

func (m *metrics) serve(w http.ResponseWriter, _ *http.Request) error {
	var p page
	running, waiting, _ := m.s.queue.state()
	m.mu.Lock()
	requests, duration := maps.Clone(m.requests), maps.Clone(m.duration)
	m.mu.Unlock()
	p.family("jns_requests_total", "counter", "Requests answered, by endpoint and status; 499: the client went away.")
	for _, k := range slices.SortedFunc(maps.Keys(requests), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		fmt.Fprintf(&p, "jns_requests_total{endpoint=%q,status=%q} %d\n", k[0], k[1], requests[k])
	}
	p.family("jns_request_seconds", "histogram", "Time from a request's arrival to its end.")
	for _, e := range slices.Sorted(maps.Keys(duration)) {
		p.histogram("jns_request_seconds", fmt.Sprintf("endpoint=%q,", e), duration[e])
	}
	p.family("jns_first_token_seconds", "histogram", "Time from a request's arrival to its first token.")
	p.histogram("jns_first_token_seconds", "", &m.first)
	p.counter("jns_prompt_tokens_total", "Tokens of prompts, those found in memory included.", &m.prompt)
	p.counter("jns_prompt_tokens_cached_total", "Tokens of prompts found in memory.", &m.cached)
	p.counter("jns_generated_tokens_total", "Tokens generated.", &m.generated)
	p.counter("jns_requests_refused_total", "Requests refused because the queue was full or closed.", &m.refused)
	p.counter("jns_requests_cancelled_total", "Answers ended because the client went away.", &m.cancelled)
	p.counter("jns_panics_total", "Requests that ended in an internal error.", &m.panics)
	p.single("jns_requests_running", "gauge", "Requests being answered.", float64(running))
	p.single("jns_requests_waiting", "gauge", "Requests waiting for their turn.", float64(waiting))
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	p.single("go_goroutines", "gauge", "Goroutines.", float64(runtime.NumGoroutine()))
	p.single("go_memstats_heap_alloc_bytes", "gauge", "Bytes of the heap in use.", float64(mem.HeapAlloc))
	p.single("go_memstats_sys_bytes", "gauge", "Bytes that the Go runtime has from the system; the container's mapping is not among them.", float64(mem.Sys))
	p.single("process_start_time_seconds", "gauge", "When the server was made, in Unix time.", float64(m.s.created.UnixMilli())/1000)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, err := w.Write([]byte(p.String()))
	return err
}
