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
		Description: "ppN: a prompt of N tokens in one go; tgN: N tokens generated one by one after an empty prompt, tgN@D after D tokens. One warm-up, then the repetitions; tokens per second.\n" +
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
	GOPS     float64 `json:"gops,omitempty"`     // prefill: two operations a product
	OfPeak   float64 `json:"of_peak,omitempty"`

	Joules float64 `json:"joules_per_token,omitempty"`
	Above  float64 `json:"joules_per_token_above_idle,omitempty"`

	Ops []engine.OpTime `json:"operations,omitempty"` // of other repetitions than those above

	name   string
	energy energy
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
		r, err := b.measure(fmt.Sprintf("pp%d", p), p, func() error {
			s := e.NewSession()
			defer s.Close()
			return s.Eval(ctx, ids[:p], nil, sink)
		})
		if err != nil {
			return err
		}
		w := b.work
		r.GOPS = 2 * r.Median * (float64(w.Int8-w.LastInt8+w.Float-w.LastFloat) + float64(w.LastInt8+w.LastFloat)/float64(p)) / 1e9
	}
	if n > 0 {
		name, kept := fmt.Sprintf("tg%d", n), 0
		base := e.NewSession()
		defer base.Close()
		if depth > 0 {
			name += fmt.Sprintf("@%d", depth)
			if err := base.Eval(ctx, ids[:depth], func(int) bool { return false }, sink); err != nil {
				return err
			}
		}
		r, err := b.measure(name, n, func() error {
			s := base.Fork()
			defer s.Close()
			for i := depth; i < depth+n; i++ {
				if err := s.Eval(ctx, ids[i:i+1], nil, sink); err != nil {
					return err
				}
			}
			kept = s.Bytes()
			return nil
		})
		if err != nil {
			return err
		}
		r.GBps, r.KV = r.Median*float64(b.work.Bytes)/1e9, kept
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
		fmt.Fprintf(os.Stderr, "%s, %d threads, kernels %s\n", m["cpu"], rec.Threads, e.Options().Kernels)
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

// idleTime is how long idle power is measured.
const idleTime = 3 * time.Second

// measure runs something that computes count tokens.
func (b *benchRun) measure(name string, count int, run func() error) (*rate, error) {
	r := &rate{name: name}
	var all []float64
	for i := 0; i <= b.reps; i++ { // the first is a warm-up
		before := 0.0
		if b.meter != nil {
			before = b.meter.joules()
		}
		start := time.Now()
		if err := run(); err != nil {
			return nil, err
		}
		took := time.Since(start).Seconds()
		if i == 0 {
			continue
		}
		all = append(all, float64(count)/took)
		if b.meter != nil {
			r.energy.joules += b.meter.joules() - before
			r.energy.seconds += took
			r.energy.tokens += count
		}
	}
	slices.Sort(all)
	r.Median, r.Min, r.Max = (all[(len(all)-1)/2]+all[len(all)/2])/2, all[0], all[len(all)-1]
	b.rates = append(b.rates, r)
	if !b.ops {
		return r, nil
	}
	var err error
	r.Ops, err = b.e.Times(func() error {
		for range b.reps {
			if err := run(); err != nil {
				return err
			}
		}
		return nil
	})
	return r, err
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
