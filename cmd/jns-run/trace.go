package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/internal/output"
	"jns/runtime/engine"
)

// The verbs about routing traces, and the one that shows how a model streams.

func cacheSimCommand() *cli.Command {
	return &cli.Command{
		Name: "cache-sim", Usage: "replay a routing trace and compare what policies would have read with the optimum", ArgsUsage: "TRACE",
		Description: "TRACE is what --record-routing wrote. --memory is the memory for experts alone; several sizes may be given. Each policy is replayed as it is, and with what a run reads ahead, some of it in vain.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "memory", Usage: "memory for experts, such as 2GiB", Required: true},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"}},
		Action: cacheSim,
	}
}

func heatmapCommand() *cli.Command {
	return &cli.Command{
		Name: "heatmap", Usage: "draw which experts a routing trace used, as SVG", ArgsUsage: "TRACE",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FILE` to write (default: standard output)"},
			&cli.BoolFlag{Name: "json", Usage: "with -o: print one JSON document about what was drawn"}},
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Bool("json") && c.String("output") == "" {
				return jnscli.Usagef("the drawing would stand in the same place as what --json says: give its file with -o FILE")
			}
			t, err := readTrace(c)
			if err != nil {
				return err
			}
			if err := apart(c, c.Args().First()); err != nil {
				return err
			}
			title := "use of experts: " + filepath.Base(c.Args().First())
			if name := c.String("output"); name != "" {
				if err := output.Write(name, 0o666, func(f *os.File) error { return t.HeatMap(f, title) }); err != nil || !c.Bool("json") {
					return err
				}
				slots, bytes, passes := t.Slots()
				return jnscli.JSONLine(stdout, map[string]any{"file": name, "slots": slots, "slot_bytes": bytes, "passes": passes})
			}
			w := bufio.NewWriter(stdout)
			return errors.Join(t.HeatMap(w, title), w.Flush())
		},
	}
}

func statsCommand() *cli.Command {
	return &cli.Command{
		Name: "stats", Usage: "run a prompt and say what was read from disk, how often experts were in memory, and how long was waited", ArgsUsage: "MODEL.jns",
		Flags: append(engineFlags(),
			&cli.StringFlag{Name: "prompt", Aliases: []string{"p"}, Usage: "the prompt"},
			&cli.IntSliceFlag{Name: "tokens", Usage: "the prompt as token ids"},
			&cli.IntFlag{Name: "n", Usage: "tokens to generate (-1: until the context is full)", Value: 64, Validator: lengths}),
		Action: with(stats),
	}
}

func readTrace(c *cli.Command) (*engine.Trace, error) {
	if err := jnscli.Args(c, 1, 1, "name a routing trace, which --record-routing FILE writes"); err != nil {
		return nil, err
	}
	f, err := openInput(c.Args().First())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := engine.ReadTrace(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Args().First(), err)
	}
	return t, nil
}

func cacheSim(_ context.Context, c *cli.Command) error {
	t, err := readTrace(c)
	if err != nil {
		return err
	}
	slots, bytes, passes := t.Slots()
	type run struct {
		Memory   uint64            `json:"memory"`
		Policies []engine.Replayed `json:"policies"`
	}
	var runs []run
	for _, text := range c.StringSlice("memory") {
		n, err := parseSize(text)
		if err != nil {
			return err
		}
		rs, err := t.Simulate(n)
		if err != nil {
			return err
		}
		runs = append(runs, run{n, rs})
	}
	if c.Bool("json") {
		doc := map[string]any{"slots": slots, "slot_bytes": bytes, "passes": passes, "runs": runs}
		if len(runs) == 1 {
			doc["memory"], doc["policies"] = runs[0].Memory, runs[0].Policies
		}
		return jnscli.JSONLine(stdout, doc)
	}
	fmt.Fprintf(os.Stderr, "%d experts, %s; %d passes\n", slots, jnscli.Size(bytes), passes)
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "memory\tpolicy\treads\tread\thit rate\tof the optimum\n")
	for _, r := range runs {
		best := r.Policies[len(r.Policies)-1].Bytes
		for _, p := range r.Policies {
			name := p.Policy
			if p.Ahead {
				name += ", reading ahead"
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%.4f\t%.3f\n", jnscli.Size(r.Memory), name, p.Reads, jnscli.Size(p.Bytes), p.HitRate(), float64(p.Bytes)/float64(max(best, 1)))
		}
	}
	return w.Flush()
}

func stats(ctx context.Context, c *cli.Command, e *engine.Engine) error {
	prompt, err := func() ([]int32, error) {
		if c.IsSet("tokens") {
			return ids(c.IntSlice("tokens"))
		}
		if !c.IsSet("prompt") {
			return nil, jnscli.Usagef("give a prompt with -p TEXT, or --tokens 1,2,3")
		}
		return e.Tokenize(c.String("prompt"), true, true)
	}()
	if err != nil {
		return err
	}
	s := e.NewSession()
	defer s.Close()
	var line live
	if jnscli.Terminal(os.Stderr) && !c.Bool("json") {
		line.w = os.Stderr
	}
	res, err := s.Generate(ctx, engine.Request{Prompt: prompt, MaxTokens: c.Int("n"), Sample: engine.Greedy(), IgnoreEOS: true, Token: func(int32) error {
		line.token(time.Now(), e.StreamReceipt)
		return nil
	}})
	line.end()
	if err != nil {
		return tooLong(err)
	}
	r := e.Receipt()
	if c.Bool("json") {
		return jnscli.JSONLine(stdout, map[string]any{"prompt_tokens": len(prompt), "tokens": len(res.Tokens), "prefill_tps": res.Timings.PrefillTPS, "decode_tps": res.Timings.DecodeTPS, "receipt": r})
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "tokens\t%d read at %.1f/s, %d generated at %.1f/s\n", len(prompt), res.Timings.PrefillTPS, len(res.Tokens), res.Timings.DecodeTPS)
	fmt.Fprintf(w, "reads by\t%s\n", r.IO)
	k := r.Stream
	if k == nil {
		fmt.Fprintf(w, "streamed\tnothing: the model fits in memory\n")
		return w.Flush()
	}
	fmt.Fprintf(w, "because\t%s\n", k.Why)
	fmt.Fprintf(w, "memory\t%s granted: %s resident weights, %s frames, %s arena, %s keys and values\n", jnscli.Size(k.Memory.Granted), jnscli.Size(k.Memory.Resident),
		jnscli.Size(k.Memory.Frames), jnscli.Size(k.Memory.Arena), jnscli.Size(k.Memory.KV))
	q := k.Cache
	fmt.Fprintf(w, "experts\t%d of %d fit; policy %s\n", q.Frames, q.Slots, k.Policy)
	fmt.Fprintf(w, "read\t%d times, %s; ahead %d, of which %d were used and %d not\n", q.Reads, jnscli.Size(q.Bytes), q.AheadReads, q.AheadUsed, q.AheadUnused)
	for _, p := range []struct {
		name string
		engine.StreamPhase
	}{{"prompts", q.Prompts}, {"tokens", q.Tokens}} {
		if p.Passes > 0 {
			fmt.Fprintf(w, "%s\t%d in %.1f ms, of which %.1f were waited for reads; %s read\n", p.name, p.Rows, p.RanMS, p.WaitedMS, jnscli.Size(p.Bytes))
		}
	}
	if b := r.Decoding; b != nil {
		fmt.Fprintf(w, "bound by\t%s: %.2f s computed, %.2f s to read as much at the measured rate; it took %.2f s, %.2f of them waited: %.2f × the longer\n",
			map[string]string{engine.BoundComputing: "the processor", engine.BoundReading: "the disk"}[b.By], b.Computed, b.Read, b.Took, b.Waited, b.Ratio)
	}
	if s := k.Skip; s != nil {
		fmt.Fprintf(w, "left out\t%d of %d chosen experts (%.2f %%), with %.2f %% of the routers' weight; limit %v of the largest\n", s.Skipped, s.Chosen, 100*s.Part, 100*s.Weight, s.Below)
	}
	fmt.Fprintf(w, "hit rate\t%.4f\n", q.HitRate)
	for l, v := range q.Layers {
		fmt.Fprintf(w, "  layer %d\t%.4f\n", l, v)
	}
	return w.Flush()
}
