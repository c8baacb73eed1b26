package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/runtime/engine"
)

func benchCommand() *cli.Command {
	f := []cli.Flag{
		&cli.IntFlag{Name: "p", Usage: "tokens of the prompt (0: skip)", Value: 512},
		&cli.IntFlag{Name: "n", Usage: "tokens to generate (0: skip)", Value: 128},
		&cli.IntFlag{Name: "r", Usage: "repetitions", Value: 5},
	}
	return &cli.Command{Name: "bench", Usage: "measure prefill and decode", ArgsUsage: "MODEL.jns",
		Description: "ppN: a prompt of N tokens in one go; tgN: N tokens generated one by one after an empty prompt. One warm-up, then the repetitions; tokens per second.",
		Flags:       append(engineFlags(), f...), Action: with(bench)}
}

// rate is a measurement over the repetitions, in tokens per second.
type rate struct {
	Median float64 `json:"tps_median"`
	Min    float64 `json:"tps_min"`
	Max    float64 `json:"tps_max"`
}

func bench(ctx context.Context, c *cli.Command, e *engine.Engine) error {
	p, n, reps := c.Int("p"), c.Int("n"), c.Int("r")
	if reps < 1 || p < 0 || n < 0 || p+n == 0 {
		return jnscli.Usagef("-p and -n must not both be 0, and -r at least 1")
	}
	room := e.Options().Context
	if p > room || n > room {
		return jnscli.Usagef("the context holds %d positions; raise it with --ctx", room)
	}
	doc := map[string]any{}
	type line struct {
		name string
		rate
	}
	var lines []line
	add := func(name string, count int, run func() error) error {
		var all []float64
		for i := 0; i <= reps; i++ { // the first is a warm-up
			start := time.Now()
			if err := run(); err != nil {
				return err
			}
			if i > 0 {
				all = append(all, float64(count)/time.Since(start).Seconds())
			}
		}
		slices.Sort(all)
		r := rate{Median: (all[(len(all)-1)/2] + all[len(all)/2]) / 2, Min: all[0], Max: all[len(all)-1]}
		doc[name] = r
		lines = append(lines, line{name, r})
		return nil
	}
	ids := make([]int32, max(p, n))
	for i := range ids { // spread over the vocabulary, the same each time
		ids[i] = int32(uint64(i) * 7919 % uint64(e.Vocab()))
	}
	sink := func(int, []float32) error { return nil }
	if p > 0 {
		err := add(fmt.Sprintf("pp%d", p), p, func() error {
			s := e.NewSession()
			defer s.Close()
			return s.Eval(ctx, ids[:p], nil, sink)
		})
		if err != nil {
			return err
		}
	}
	if n > 0 {
		err := add(fmt.Sprintf("tg%d", n), n, func() error {
			s := e.NewSession()
			defer s.Close()
			for i := 0; i < n; i++ {
				if err := s.Eval(ctx, ids[i:i+1], nil, sink); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	rec := e.Receipt()
	if c.Bool("json") {
		doc["machine"] = machine()
		if n, ok := peakRSS(); ok {
			doc["peak_rss_bytes"] = n
		}
		doc["receipt"] = rec
		return jnscli.JSONLine(stdout, doc)
	}
	fmt.Fprintf(os.Stderr, "%s, %d threads, kernels %s\n", machine()["cpu"], rec.Threads, e.Options().Kernels)
	w := bufio.NewWriter(stdout)
	fmt.Fprintf(w, "%-8s %10s %10s %10s  tokens/s\n", "", "median", "min", "max")
	for _, l := range lines {
		fmt.Fprintf(w, "%-8s %10.1f %10.1f %10.1f\n", l.name, l.Median, l.Min, l.Max)
	}
	return w.Flush()
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

// machine says where the measurement was made.
func machine() map[string]any {
	m := map[string]any{"os": runtime.GOOS, "arch": runtime.GOARCH, "cpus": runtime.NumCPU(), "cpu": "unknown", "kernels": engine.KernelSets()}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, l := range strings.Split(string(b), "\n") {
			if k, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(k) == "model name" {
				m["cpu"] = strings.TrimSpace(v)
				break
			}
		}
	}
	return m
}
