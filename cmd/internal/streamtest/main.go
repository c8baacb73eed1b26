// Command streamtest makes a mixture-of-experts model that is larger than the memory it is then run in, runs it with several grants of memory and each way of reading, and compares:
// tokens and logits must be the same to the last bit, memory must stay within the grant, and no more must be read than the policy's replay says.
//
//	go run ./cmd/internal/streamtest -shape small|eighth|wide|full -dir FOLDER -jnsc bin/jnsc -jns-run bin/jns-run
//
// gguf.go makes the model. It must not know how anything is cached.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	var t test
	name := flag.String("shape", "small", "small (47 MB), eighth, wide (1.1 GB) or full (8.8 GB)")
	flag.StringVar(&t.dir, "dir", ".", "folder for the model, which stays there")
	flag.StringVar(&t.jnsc, "jnsc", "bin/jnsc", "the compiler")
	flag.StringVar(&t.run, "jns-run", "bin/jns-run", "the runtime")
	flag.StringVar(&t.group, "cgroup", "", "folder of a control group with memory (version 1 or 2) below which groups may be made: each run has its grant as the limit, and no swap")
	flag.IntVar(&t.n, "n", 48, "tokens to generate")
	flag.IntVar(&t.prompt, "p", 64, "tokens of the prompt")
	grants := flag.String("memory", "", "grants, such as 1GiB,2GiB (default: 1/8, 1/4 and 1/2 of the model)")
	waits := flag.Bool("waits", false, "say how the time of each grant compares with that of computing and of reading, instead of testing")
	peer := flag.String("peer", "", "measure beside this program, which runs llama.cpp (cmd/internal/peer/build), with the first of -memory; needs -cgroup")
	pairs := flag.Int("pairs", 3, "with -peer: pairs of runs; with -waits: rounds")
	peerTokens := flag.Int("peer-n", 6, "with -peer: tokens that llama.cpp decodes in a run")
	flag.Parse()
	i := slices.IndexFunc(shapes, func(s shape) bool { return s.name == *name })
	if i < 0 || flag.NArg() > 0 || *pairs < 1 || *peerTokens < 1 {
		flag.Usage()
		os.Exit(2)
	}
	t.shape = &shapes[i]
	if *grants != "" {
		t.grants = strings.Split(*grants, ",")
	}
	run := t.all
	if *waits {
		run = func() error { return t.waits(*pairs) }
	}
	if *peer != "" {
		run = func() error {
			if err := t.make(); err != nil || len(t.grants) == 0 {
				return errors.Join(err, errors.New("give -memory"))
			}
			return t.beside(*peer, t.grants[0], *pairs, *peerTokens)
		}
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "stream-test:", err)
		os.Exit(1)
	}
	fmt.Println("stream-test: passed")
}

type test struct {
	shape     *shape
	dir       string
	jnsc, run string
	group     string
	n, prompt int
	grants    []string
	model     string
	cache     string // the runs' cache directory; empty: the user's
}

// phase is what passes over prompts, or over single tokens, did.
type phase struct {
	RanMS    float64 `json:"ran_ms"`
	WaitedMS float64 `json:"waited_ms"`
	Bytes    uint64  `json:"bytes"`
}

// result is what a run printed.
type result struct {
	Tokens  []int32 `json:"tokens"`
	Digest  string  `json:"logits_digest"`
	Timings struct {
		PrefillTPS float64 `json:"prefill_tps"`
		DecodeTPS  float64 `json:"decode_tps"`
	} `json:"timings"`
	Receipt struct {
		IO     string `json:"io"`
		Batch  int    `json:"batch"`
		Stream *struct {
			Memory struct {
				Frames uint64 `json:"frames"`
			} `json:"memory"`
			Rate  float64 `json:"io_bytes_per_s"`
			Cache struct {
				Prompts    phase   `json:"prompts"`
				Tokens     phase   `json:"tokens"`
				HitRate    float64 `json:"hit_rate"`
				Bytes      uint64  `json:"bytes"`
				AheadBytes uint64  `json:"ahead_bytes"`
				AheadUsed  uint64  `json:"ahead_used"`
				AheadNot   uint64  `json:"ahead_unused"`
				WaitedMS   float64 `json:"waited_ms"`
			} `json:"cache"`
		} `json:"stream"`
	} `json:"receipt"`

	peak   uint64 // of the process
	charge charge // of its control group, if it had one
	took   time.Duration
}

func (t *test) all() error {
	if err := t.make(); err != nil {
		return err
	}
	st, err := os.Stat(t.model)
	if err != nil {
		return err
	}
	if t.grants == nil {
		for _, part := range []int64{8, 4, 2} {
			t.grants = append(t.grants, strconv.FormatInt(st.Size()/part+t.floor(), 10))
		}
	}
	fmt.Printf("%-10s %-18s %9s %9s %8s %9s %9s %7s %9s %11s %9s\n", "memory", "io", "prefill/s", "decode/s", "hit rate", "read MiB", "ahead MiB", "wait s", "peak MiB", "charged MiB", "limit hit")
	ref, err := t.once("", "auto", "")
	if err != nil {
		return err
	}
	t.print("unlimited", ref)
	var errs []error
	for _, g := range t.grants {
		trace := filepath.Join(t.dir, "routing.trace")
		for i, io := range []string{"uring", "pread", "mmap"} {
			record := ""
			if i == 0 {
				record = trace
			}
			r, err := t.once(g, io, record)
			if err != nil {
				return fmt.Errorf("--memory %s --io %s: %w", g, io, err)
			}
			t.print(g, r)
			errs = append(errs, t.judge(g, io, ref, r))
			if record != "" {
				errs = append(errs, t.replay(trace, r))
			}
		}
	}
	return errors.Join(errs...)
}

// floor is what a run takes beside weights: small models are all floor.
func (t *test) floor() int64 {
	if t.shape.name == "small" {
		return 44 << 20
	}
	return 0
}

func (t *test) make() error {
	gguf := filepath.Join(t.dir, "stream-"+t.shape.name+".gguf")
	t.model = filepath.Join(t.dir, "stream-"+t.shape.name+".jns")
	if _, err := os.Stat(t.model); err == nil {
		return nil
	}
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return err
	}
	start := time.Now()
	if _, err := os.Stat(gguf); err != nil {
		if err := t.shape.write(gguf); err != nil {
			return err
		}
		fmt.Printf("made %s in %.1f s\n", gguf, time.Since(start).Seconds())
	}
	c := exec.Command(t.jnsc, "compile", gguf, "-o", t.model)
	c.Stderr = os.Stderr
	return c.Run()
}

// once runs the model.
func (t *test) once(memory, io, trace string) (*result, error) {
	tokens := make([]string, t.prompt)
	for i := range tokens {
		tokens[i] = strconv.Itoa(i * 7919 % int(t.shape.voc))
	}
	args := []string{t.model, "--tokens", strings.Join(tokens, ","), "--n", strconv.Itoa(t.n), "--temp", "1", "--seed", "6", "--json", "--logits-digest", "--ctx", "1536", "--io", io, "--cold"}
	if memory != "" {
		args = append(args, "--memory", memory)
	}
	if trace != "" {
		args = append(args, "--record-routing", trace)
	}
	c := exec.Command(t.run, args...)
	var g *group
	if t.group != "" && memory != "" {
		var err error
		if c, g, err = t.limited(memory, t.run, args...); err != nil {
			return nil, err
		}
		defer g.remove()
	}
	if t.cache != "" {
		c.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.cache)
	}
	var out, words bytes.Buffer
	c.Stdout, c.Stderr = &out, &words
	start := time.Now()
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, words.String())
	}
	r := &result{took: time.Since(start)}
	r.peak = peakOf(c.ProcessState)
	if g != nil {
		var err error
		if r.charge, err = g.charge(); err != nil {
			return nil, err
		}
	}
	return r, json.Unmarshal(out.Bytes(), r)
}

// bytesOf gives a size as a control group takes it.
func bytesOf(s string) string {
	for suffix, shift := range map[string]uint{"MiB": 20, "GiB": 30} {
		if v, ok := strings.CutSuffix(s, suffix); ok {
			n, _ := strconv.ParseFloat(v, 64)
			return strconv.FormatUint(uint64(n*float64(uint64(1)<<shift)), 10)
		}
	}
	return s
}

func (t *test) print(grant string, r *result) {
	if n, err := strconv.ParseUint(grant, 10, 64); err == nil {
		grant = fmt.Sprintf("%d MiB", n>>20)
	}
	fmt.Printf("%-10s %-18s %9.1f %9.1f", grant, r.Receipt.IO, r.Timings.PrefillTPS, r.Timings.DecodeTPS)
	if s := r.Receipt.Stream; s != nil {
		fmt.Printf(" %8.3f %9d %9d %7.2f", s.Cache.HitRate, s.Cache.Bytes>>20, s.Cache.AheadBytes>>20, s.Cache.WaitedMS/1000)
	} else {
		fmt.Printf(" %8s %9s %9s %7s", "", "", "", "")
	}
	fmt.Printf(" %9d", r.peak>>20)
	if r.charge.known {
		fmt.Printf(" %11.1f %9d", float64(r.charge.peak)/(1<<20), r.charge.hits)
	}
	fmt.Println()
}

func (t *test) judge(grant, io string, ref, r *result) error {
	var errs []error
	fail := func(text string, args ...any) {
		errs = append(errs, fmt.Errorf("--memory %s --io %s: "+text, append([]any{grant, io}, args...)...))
	}
	if !slices.Equal(r.Tokens, ref.Tokens) {
		fail("other tokens")
	}
	if r.Digest != ref.Digest || r.Digest == "" {
		fail("other logits")
	}
	if n, err := strconv.ParseUint(bytesOf(grant), 10, 64); err == nil && r.peak > n {
		fail("peak memory %d MiB", r.peak>>20)
	}
	if err := r.charge.judge(bytesOf(grant)); err != nil {
		fail("%w", err)
	}
	if r.Receipt.Stream == nil {
		fail("nothing was streamed")
	}
	return errors.Join(errs...)
}

// replay compares what was read with what policies would have read.
func (t *test) replay(trace string, r *result) error {
	s := r.Receipt.Stream
	if s == nil {
		return nil
	}
	b, err := exec.Command(t.run, "cache-sim", trace, "--memory", strconv.FormatUint(s.Memory.Frames, 10), "--json").Output()
	if err != nil {
		return fmt.Errorf("cache-sim: %w", err)
	}
	var sim struct {
		Policies []struct {
			Policy string
			Ahead  bool
			Bytes  uint64
		}
	}
	if err := json.Unmarshal(b, &sim); err != nil {
		return err
	}
	best, own, optimum := uint64(1)<<63, uint64(0), uint64(0) // own: as in the run, with what is read ahead
	var text []string
	for _, p := range sim.Policies {
		if p.Ahead {
			if p.Policy == "auto" {
				own = p.Bytes
			}
			continue
		}
		text = append(text, fmt.Sprintf("%s %d MiB", p.Policy, p.Bytes>>20))
		if p.Policy == "belady" {
			optimum = p.Bytes
		} else {
			best = min(best, p.Bytes)
		}
	}
	fmt.Printf("%-10s replay: %s; read %.4f of the replay's, %.4f of the best online policy's, %.3f of the optimum's\n", "", strings.Join(text, ", "),
		float64(s.Cache.Bytes)/float64(own), float64(s.Cache.Bytes)/float64(best), float64(s.Cache.Bytes)/float64(optimum))
	var errs []error
	if s.Cache.Bytes != own { // what is read follows from the routing alone
		errs = append(errs, fmt.Errorf("%d bytes were read, the replay says %d", s.Cache.Bytes, own))
	}
	if s.Cache.Bytes > best {
		errs = append(errs, fmt.Errorf("%d bytes were read, the best policy without reading ahead would have read %d", s.Cache.Bytes, best))
	}
	return errors.Join(errs...)
}
