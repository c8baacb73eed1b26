package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"jns/cmd/internal/peer/child"
)

// runner runs both sides.
type runner struct {
	o    options
	ours child.Ours
	tmp  string
}

// peerBench is the peer's answer to "bench".
type peerBench struct {
	Prompt []float64 `json:"pp"`
	Decode []float64 `json:"tg"`
	RSS    int64     `json:"peak_rss_kib"`
}

// oursBench is a part of the answer of `jns-run bench`.
type oursBench struct {
	Median float64 `json:"tps_median"`
}

func (r runner) systemInfo(ctx context.Context) (string, error) {
	var v struct {
		Info string `json:"system_info"`
	}
	_, err := child.JSON(ctx, &v, r.o.peer, "info")
	return v.Info, err
}

// model measures one file: compile once, then per thread count the first token, then speed. show gets each row as it is known; with an error come the rows before it.
func (r runner) model(ctx context.Context, path string, show func(row)) ([]row, error) {
	name := strings.TrimSuffix(filepath.Base(path), ".gguf")
	jns := filepath.Join(r.tmp, name+".jns")
	defer os.Remove(jns)
	if err := r.ours.Compile(ctx, path, jns, r.o.target); err != nil {
		return nil, err
	}
	var rows []row
	add := func(x row) {
		x.Model = name
		x = x.finish()
		show(x)
		rows = append(rows, x)
	}
	for _, t := range r.o.threads {
		if r.o.speedOnly {
			break
		}
		first, mem, err := r.first(ctx, path, jns, t)
		if err != nil {
			return rows, err
		}
		add(first)
		add(mem)
	}
	for _, t := range r.o.threads {
		speed, err := r.speed(ctx, path, jns, t)
		if err != nil {
			return rows, err
		}
		for _, x := range speed {
			add(x)
		}
	}
	return rows, nil
}

// first measures from process start to the first byte of text, prompt tokenized by each side, files in the page cache: the first run of each
// side is not counted.
func (r runner) first(ctx context.Context, gguf, jns string, t int) (first, mem row, err error) {
	first = row{What: "first", Threads: t, Unit: "ms", Goal: goalFirst}
	mem = row{What: "rss-first", Threads: t, Unit: "MiB", Goal: goalMemory}
	threads := strconv.Itoa(t)
	for i := -1; i < r.o.firstRuns; i++ {
		p, err := r.again(ctx, func() (child.Result, error) {
			return child.Run(ctx, r.o.peer, "first", gguf, "-t", threads, "-x", r.o.text)
		})
		if err != nil {
			return first, mem, err
		}
		o, err := child.Run(ctx, r.ours.Run, jns, "--raw", "-p", r.o.text, "-n", "1", "--temp", "0", "--ignore-eos", "--threads", threads)
		if err != nil {
			return first, mem, err
		}
		if len(o.Stdout) == 0 {
			return first, mem, fmt.Errorf("jns-run wrote nothing for %q; use -text with another prompt", r.o.text)
		}
		if i < 0 {
			continue
		}
		first.Peer, first.Ours = append(first.Peer, p.First.Seconds()*1e3), append(first.Ours, o.First.Seconds()*1e3)
		mem.Peer, mem.Ours = append(mem.Peer, mib(p.RSS)), append(mem.Ours, mib(o.RSS))
	}
	return first, mem, nil
}

// speed measures prefill and decoding, a pair after the other.
func (r runner) speed(ctx context.Context, gguf, jns string, t int) ([]row, error) {
	pp := row{What: fmt.Sprintf("pp%d", r.o.prompt), Threads: t, Unit: "tok/s", Goal: goalPrefill, AtLeast: true}
	tg := row{What: fmt.Sprintf("tg%d", r.o.n), Threads: t, Unit: "tok/s", Goal: decodeGoal(t), AtLeast: true}
	mem := row{What: "rss-bench", Threads: t, Unit: "MiB", Goal: goalMemory}
	work := []string{"-p", strconv.Itoa(r.o.prompt), "-n", strconv.Itoa(r.o.n), "-t", strconv.Itoa(t), "-r", strconv.Itoa(r.o.reps)}
	for i := 0; i < r.o.pairs; i++ {
		var p, third peerBench
		pr, err := r.again(ctx, func() (child.Result, error) {
			return child.JSON(ctx, &p, r.o.peer, append([]string{"bench", gguf}, work...)...)
		})
		if err != nil {
			return nil, err
		}
		if r.o.third != "" {
			if _, err := r.again(ctx, func() (child.Result, error) {
				return child.JSON(ctx, &third, r.o.third, append([]string{"bench", gguf}, work...)...)
			}); err != nil {
				return nil, err
			}
			if len(third.Prompt) == 0 || len(third.Decode) == 0 {
				return nil, fmt.Errorf("the third program measured nothing")
			}
			pp.Third, tg.Third = append(pp.Third, median(third.Prompt)), append(tg.Third, median(third.Decode))
		}
		var o map[string]json.RawMessage
		or, err := child.JSON(ctx, &o, r.ours.Run, append(append([]string{"bench", jns}, work...), "--json", "--no-probe")...)
		if err != nil {
			return nil, err
		}
		opp, err := oursValue(o, pp.What)
		if err != nil {
			return nil, err
		}
		otg, err := oursValue(o, tg.What)
		if err != nil {
			return nil, err
		}
		if len(p.Prompt) == 0 || len(p.Decode) == 0 {
			return nil, fmt.Errorf("the peer measured nothing")
		}
		pp.Peer, pp.Ours = append(pp.Peer, median(p.Prompt)), append(pp.Ours, opp)
		tg.Peer, tg.Ours = append(tg.Peer, median(p.Decode)), append(tg.Ours, otg)
		mem.Peer, mem.Ours = append(mem.Peer, mib(pr.RSS)), append(mem.Ours, mib(or.RSS))
	}
	return []row{pp, tg, mem}, nil
}

// again runs one of the other programs, and once more when a signal ended it: a crash of theirs is said and is no measurement.
func (r runner) again(ctx context.Context, run func() (child.Result, error)) (child.Result, error) {
	const most = 5
	for i := 1; ; i++ {
		res, err := run()
		var e *child.Error
		if err == nil || ctx.Err() != nil || i == most || !errors.As(err, &e) || e.Code != -1 {
			return res, err
		}
		fmt.Fprintf(os.Stderr, "peer: run %d of %d: %v\n", i, most, err)
	}
}

// oursValue takes {"pp512":{"tps_median":…}} apart.
func oursValue(o map[string]json.RawMessage, name string) (float64, error) {
	var b oursBench
	if err := json.Unmarshal(o[name], &b); err != nil || b.Median <= 0 {
		return 0, fmt.Errorf("jns-run bench --json: no positive %s.tps_median", name)
	}
	return b.Median, nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
