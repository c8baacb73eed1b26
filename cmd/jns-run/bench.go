package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/internal/output"
	"jns/runtime/engine"
)

func benchCommand() *cli.Command {
	f := []cli.Flag{
		&cli.IntFlag{Name: "p", Usage: "tokens of the prompt (0: skip)", Value: 512},
		&cli.IntFlag{Name: "n", Usage: "tokens to generate (0: skip)", Value: 128},
		&cli.IntFlag{Name: "d", Usage: "depth: tokens that the session holds when generating begins"},
		&cli.IntFlag{Name: "r", Usage: "repetitions", Value: 5},
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write a report with the facts of the machine to `FILE`"},
		&cli.BoolFlag{Name: "no-probe", Usage: "do not measure the machine's own read bandwidth and int8 peak"},
		&cli.BoolFlag{Name: "ops", Usage: "where the time goes, by operation: as many repetitions more, with clocks around every step"},
		&cli.BoolFlag{Name: "power", Usage: "energy per token from the processor's counters, idle power before and after"},
	}
	return &cli.Command{Name: "bench", Usage: "measure prefill and decode", ArgsUsage: "MODEL.jns",
		Description: "ppN: a prompt of N tokens in one go; tgN: N tokens generated one by one after an empty prompt, tgN@D after D tokens, in turns with tgN; beside it stands\n" +
			"how much of tgN that is, and how much it would be if reading the keys and values took as long as reading so many bytes of weights. One warm-up, then the repetitions; tokens per second.\n" +
			"Beside them stands what the same instructions reach on this machine when they do nothing else: plain reads of memory, int8 products of registers.",
		Flags: slices.Concat(engineFlags(), f, compareFlags()), Action: func(ctx context.Context, c *cli.Command) error {
			if c.String("compare") != "" || c.String("evidence") != "" {
				return compared(ctx, c) // without the container: its pages belong to the processes that are measured
			}
			return with(bench)(ctx, c)
		}}
}

// rate is a measurement over the repetitions, in tokens per second, and what it means in bytes, operations and joules.
type rate struct {
	Median float64 `json:"tps_median"`
	Min    float64 `json:"tps_min"`
	Max    float64 `json:"tps_max"`

	GBps     float64 `json:"gbps,omitempty"`      // decode: bytes of weights read
	OfRead   float64 `json:"of_memory,omitempty"` // the same as a part of what plain reads of memory reach with as many threads
	OfCached float64 `json:"of_weights,omitempty"`
	KV       int     `json:"kv_bytes,omitempty"` // of keys and values at the end
	Fall     *fall   `json:"fall,omitempty"`     // of decoding at a depth
	GOPS     float64 `json:"gops,omitempty"`     // prefill: two operations a product
	OfPeak   float64 `json:"of_peak,omitempty"`

	Joules float64 `json:"joules_per_token,omitempty"`
	Above  float64 `json:"joules_per_token_above_idle,omitempty"`

	Ops []engine.OpTime `json:"operations,omitempty"` // of other repetitions than those above

	name   string
	energy energy
}

// fall says how decoding at a depth stands beside decoding after an empty prompt.
type fall struct {
	Measured  float64 `json:"measured"` // part of the tokens per second that is left, of medians
	Explained float64 `json:"by_bytes"` // the same if a token's time were its bytes of weights, keys and values
	KVBytes   float64 `json:"kv_bytes"` // of keys and values that a token reads on average
	KVGBps    float64 `json:"kv_gbps"`  // these in the time that a token takes longer; 0: none
}

// job is something that is measured: run computes count tokens.
type job struct {
	name  string
	count int
	run   func() error
}

// benchRun is a bench under way.
type benchRun struct {
	e        *engine.Engine
	reps     int
	ops      bool
	work     engine.Work
	ceilings []engine.Ceiling
	meter    *meter
	power    *power
	rates    []*rate
}

func bench(ctx context.Context, c *cli.Command, e *engine.Engine) error {
	p, n, depth := c.Int("p"), c.Int("n"), c.Int("d")
	b := &benchRun{e: e, reps: c.Int("r"), ops: c.Bool("ops"), work: e.Work()}
	if b.reps < 1 || p < 0 || n < 0 || depth < 0 || p+n == 0 {
		return jnscli.Usagef("-p and -n must not both be 0, -d not negative, and -r at least 1")
	}
	room := e.Options().Context
	if p > room || n+depth > room {
		return jnscli.Usagef("the context holds %d positions; raise it with --ctx", room)
	}
	ids := make([]int32, max(p, n+depth))
	for i := range ids { // spread over the vocabulary, the same each time
		ids[i] = int32(uint64(i) * 7919 % uint64(e.Vocab()))
	}
	if c.Bool("power") {
		b.power = &power{}
		m, err := openMeter(powercap, time.Second)
		if err != nil {
			b.power.Reason = err.Error()
		} else {
			b.meter = m
			for _, z := range m.zones {
				b.power.Zones = append(b.power.Zones, z.Name)
			}
			b.power.IdleBefore = m.idle(idleTime)
		}
	}
	sink := func(int, []float32) error { return nil }
	if p > 0 {
		rates, err := b.measure(job{fmt.Sprintf("pp%d", p), p, func() error {
			s := e.NewSession()
			defer s.Close()
			return s.Eval(ctx, ids[:p], nil, sink)
		}})
		if err != nil {
			return err
		}
		r, w := rates[0], b.work
		r.GOPS = 2 * r.Median * (float64(w.Int8-w.LastInt8+w.Float-w.LastFloat) + float64(w.LastInt8+w.LastFloat)/float64(p)) / 1e9
	}
	if n > 0 {
		if err := b.decode(ctx, ids, n, depth, sink); err != nil {
			return err
		}
	}
	rss, hasRSS := peakRSS() // of the model, not of the measurement of the machine
	if b.meter != nil {
		b.power.IdleAfter = b.meter.idle(idleTime)
		idle := (b.power.IdleBefore + b.power.IdleAfter) / 2
		for _, r := range b.rates {
			r.Joules, r.Above = r.energy.perToken(idle)
		}
		if err := b.meter.close(); err != nil {
			return fmt.Errorf("%w: %w", errPower, err)
		}
	}
	if !c.Bool("no-probe") {
		b.ceilings = e.Ceilings(probeBytes(e.Options().Memory))
		b.compare()
	}
	m, rec := machine(), e.Receipt()
	if file := c.String("output"); file != "" {
		var text bytes.Buffer
		b.report(&text, m, rec)
		if err := output.WriteBytes(file, 0o666, text.Bytes()); err != nil {
			return err
		}
	}
	if !c.Bool("json") {
		fmt.Fprintf(os.Stderr, "%s, %d threads, kernels %s", m["cpu"], rec.Threads, e.Options().Kernels)
		if p := rec.Mapped; p != nil {
			fmt.Fprintf(os.Stderr, ", %s of the container mapped, %s of it in large pages", jnscli.Size(p.Bytes), jnscli.Size(p.Large))
		}
		fmt.Fprintln(os.Stderr)
		w := bufio.NewWriter(stdout)
		b.table(w)
		return w.Flush()
	}
	doc := map[string]any{"machine": m, "receipt": rec, "work": b.work}
	for _, r := range b.rates {
		doc[r.name] = r
	}
	if hasRSS {
		doc["peak_rss_bytes"] = rss
	}
	if b.ceilings != nil {
		doc["ceilings"] = b.ceilings
	}
	if b.power != nil {
		doc["power"] = b.power
	}
	return jnscli.JSONLine(stdout, doc)
}

// decode measures n tokens after an empty prompt and, where depth is not 0, in turns with them n tokens at that depth.
func (b *benchRun) decode(ctx context.Context, ids []int32, n, depth int, sink func(int, []float32) error) error {
	depths := []int{0}
	if depth > 0 {
		depths = []int{0, depth}
	}
	var jobs []job
	kept := make([]int, len(depths))
	for i, depth := range depths {
		base := b.e.NewSession()
		defer base.Close()
		name := fmt.Sprintf("tg%d", n)
		if depth > 0 {
			name += fmt.Sprintf("@%d", depth)
			if err := base.Eval(ctx, ids[:depth], func(int) bool { return false }, sink); err != nil {
				return err
			}
		}
		jobs = append(jobs, job{name, n, func() error {
			s := base.Fork()
			defer s.Close()
			for i := depth; i < depth+n; i++ {
				if err := s.Eval(ctx, ids[i:i+1], nil, sink); err != nil {
					return err
				}
			}
			kept[i] = s.Bytes()
			return nil
		}})
	}
	rates, err := b.measure(jobs...)
	if err != nil {
		return err
	}
	weights := float64(b.work.Bytes)
	for i, r := range rates {
		r.GBps, r.KV = r.Median*weights/1e9, kept[i]
	}
	if depth > 0 {
		shallow, deep := 0.0, 0.0 // bytes of keys and values that a token reads
		for i := range n {
			shallow, deep = shallow+float64(b.e.KVBytes(i))/float64(n), deep+float64(b.e.KVBytes(depth+i))/float64(n)
		}
		rates[1].Fall = fallOf(rates[0].Median, rates[1].Median, weights, shallow, deep)
	}
	return nil
}

// fallOf compares rates of tokens that read the same weights and different keys and values.
func fallOf(before, after, weights, shallow, deep float64) *fall {
	f := &fall{Measured: after / before, Explained: (weights + shallow) / (weights + deep), KVBytes: deep}
	if longer := 1/after - 1/before; longer > 0 {
		f.KVGBps = (deep - shallow) / longer / 1e9
	}
	return f
}

// idleTime is how long idle power is measured.
const idleTime = 3 * time.Second

// measure runs jobs in turns, so that what else the machine does meets all of them.
func (b *benchRun) measure(jobs ...job) ([]*rate, error) {
	rates, all := make([]*rate, len(jobs)), make([][]float64, len(jobs))
	for i := range b.reps + 1 { // the first is a warm-up
		for k, j := range jobs {
			if i == 0 {
				rates[k] = &rate{name: j.name}
			}
			before := 0.0
			if b.meter != nil {
				before = b.meter.joules()
			}
			start := time.Now()
			if err := j.run(); err != nil {
				return nil, err
			}
			took := time.Since(start).Seconds()
			if i == 0 {
				continue
			}
			all[k] = append(all[k], float64(j.count)/took)
			if b.meter != nil {
				e := &rates[k].energy
				e.joules += b.meter.joules() - before
				e.seconds += took
				e.tokens += j.count
			}
		}
	}
	for k, r := range rates {
		v := all[k]
		slices.Sort(v)
		r.Median, r.Min, r.Max = (v[(len(v)-1)/2]+v[len(v)/2])/2, v[0], v[len(v)-1]
	}
	b.rates = append(b.rates, rates...)
	if !b.ops {
		return rates, nil
	}
	for k, j := range jobs {
		var err error
		rates[k].Ops, err = b.e.Times(func() error {
			for range b.reps {
				if err := j.run(); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return rates, nil
}

// compare fills in what parts of the machine's ceilings the rates are.
func (b *benchRun) compare() {
	c := b.ceilings[len(b.ceilings)-1]
	for _, r := range b.rates {
		r.OfRead = r.GBps / c.Memory
		if c.Weights > 0 {
			r.OfCached = r.GBps / c.Weights
		}
		if c.Int8 > 0 && b.work.Float == 0 { // products of floats are no part of that peak
			r.OfPeak = r.GOPS / c.Int8
		}
	}
}

// probeBytes is how much memory a measurement of bandwidth reads: twice the last cache, at most a gigabyte or a quarter of what the process may take.
func probeBytes(limit uint64) int {
	n := min(max(2*lastCache(cacheDir), 256<<20), 1<<30)
	if limit != 0 {
		n = min(n, limit/4)
	}
	return int(n)
}

// peakRSS is the most memory that the process had at once, the touched pages of the container included. Known on Linux only.
func peakRSS() (bytes uint64, ok bool) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for l := range strings.Lines(string(b)) {
		if v, found := strings.CutPrefix(l, "VmHWM:"); found {
			n, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(v), "kB")), 10, 64)
			return n << 10, err == nil
		}
	}
	return 0, false
}
