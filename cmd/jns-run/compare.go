package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/format"
	"jns/runtime/engine"
)

func compareFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "compare", Usage: "measure beside `WHAT`: portable (plain Go), a kernel set, or another container of the model; isolated processes, in turns"},
		&cli.StringFlag{Name: "evidence", Usage: "write what every process measured, with digests, to the directory `DIR`; jns-run verify-evidence computes the figures again"},
	}
}

// Sizes of a comparison with plain Go, which is some hundred times slower than what it is compared with.
const (
	portablePrompt = 16
	portableTokens = 8
)

// comparedRounds is how often two sides are measured as a b b a where nothing else is asked for.
const comparedRounds = 2

// compared is bench by processes of their own.
func compared(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() != 1 {
		return jnscli.Usagef("name a container: jns-run bench MODEL.jns --compare portable")
	}
	if c.Int("d") != 0 || c.Bool("power") || c.IsSet("output") {
		return jnscli.Usagef("-d, -o and --power are for bench without --compare and --evidence")
	}
	sides, err := comparison(c)
	if err != nil {
		return err
	}
	dir := c.String("evidence")
	if dir != "" {
		if err := vacant(dir); err != nil {
			return err
		}
	}
	reps := c.Int("r")
	if !c.IsSet("r") && len(sides) == 2 {
		reps = comparedRounds
	}
	if reps < 1 || reps > mostRuns/4 {
		return jnscli.Usagef("-r %d: 1 to %d can be used", reps, mostRuns/4)
	}
	order := strings.Repeat("a", reps)
	if len(sides) == 2 {
		order = strings.Repeat("abba", reps)
	}
	m := &manifest{Format: evidenceFormat, Sides: sides}
	var raw [][]byte
	var records []*processRecord
	for i, name := range order {
		s := &sides[slices.IndexFunc(sides, func(s side) bool { return s.Name == string(name) })]
		if jnscli.Terminal(os.Stderr) {
			fmt.Fprintf(os.Stderr, "%d of %d: %s\n", i+1, len(order), s.Label)
		}
		b, err := measured(ctx, s.Arguments)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Label, err)
		}
		r, err := parseRecord(b)
		if err != nil {
			return fmt.Errorf("%s: its record: %w", s.Label, err)
		}
		m.Runs = append(m.Runs, ranAs{recordFile(i, s.Name), s.Name, int64(len(b)), hexSum(b)})
		raw, records = append(raw, b), append(records, r)
	}
	if m.Figures, err = figure(m.Runs, records); err != nil {
		return err
	}
	if dir != "" {
		digest, err := writeEvidence(dir, m, raw)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s  %s\n", digest, dir)
	}
	if c.Bool("json") {
		err = jnscli.JSONLine(stdout, m)
	} else {
		w := bufio.NewWriter(stdout)
		m.text(w)
		err = w.Flush()
	}
	if err == nil && !m.Figures.OutputsEqual {
		err = fmt.Errorf("%w: the outputs of the processes differ", errEvidence)
	}
	return err
}

// comparison makes the sides and the arguments of their processes.
func comparison(c *cli.Command) ([]side, error) {
	what := c.String("compare")
	p, n := c.Int("p"), c.Int("n")
	if what == "portable" || what == "scalar" {
		if !c.IsSet("p") {
			p = portablePrompt
		}
		if !c.IsSet("n") {
			n = portableTokens
		}
	}
	if p < 1 || n < 0 {
		return nil, jnscli.Usagef("-p must be at least 1 and -n not negative where processes are compared")
	}
	model := c.Args().First()
	arguments := func(model string, more ...string) []string {
		args := []string{"measure", model, fmt.Sprintf("-p=%d", p), fmt.Sprintf("-n=%d", n)}
		for _, f := range engineFlags() {
			name := f.Names()[0]
			replaced := slices.ContainsFunc(more, func(s string) bool { return strings.HasPrefix(s, "--"+name+"=") })
			if c.IsSet(name) && name != "json" && !replaced {
				args = append(args, fmt.Sprintf("--%s=%v", name, c.Value(name)))
			}
		}
		return append(args, more...)
	}
	sides := []side{{"a", "native", arguments(model)}}
	switch {
	case what == "":
		return sides, nil
	case what == "portable":
		return append(sides, side{"b", what, arguments(model, "--kernels=scalar")}), nil
	case slices.Contains(engine.KernelSets(), what):
		return append(sides, side{"b", what, arguments(model, "--kernels="+what)}), nil
	}
	if i, err := os.Stat(what); err != nil || !i.Mode().IsRegular() {
		return nil, jnscli.Usagef("--compare %s: neither portable, nor one of this machine's kernel sets (%s), nor a container", what, strings.Join(engine.KernelSets(), ", "))
	}
	if err := sameModel(model, what); err != nil {
		return nil, err
	}
	return append(sides, side{"b", what, arguments(what)}), nil
}

// sameModel refuses two containers whose outputs cannot be compared, before anything is measured.
func sameModel(a, b string) error {
	tensors := func(path string) (map[string][32]byte, error) {
		f, st, err := engine.OpenRegular(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		c, err := format.Open(f, st.Size())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		digests := map[string][32]byte{}
		for i := range c.Tensors.Len() {
			t := c.Tensors.At(i)
			digests[t.Name] = t.Digest
		}
		return digests, nil
	}
	of, err := tensors(a)
	if err != nil {
		return err
	}
	with, err := tensors(b)
	if err == nil && !maps.Equal(of, with) {
		err = fmt.Errorf("%w: %s and %s are different models, whose outputs differ; measure each by itself", errEvidence, a, b)
	}
	return err
}

// self is this program; tests, whose program is another, set it.
var self = os.Executable

// measured runs this program once more and gives what it wrote.
func measured(ctx context.Context, args []string) ([]byte, error) {
	program, err := self()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, args...)
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &limited{&out, recordBytes}, &limited{&words, 1 << 20}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		said := strings.TrimPrefix(strings.TrimSpace(words.String()), "jns-run: ")
		if cmd.ProcessState != nil && kinds[cmd.ProcessState.ExitCode()] != nil {
			return nil, childError{said, kinds[cmd.ProcessState.ExitCode()]}
		}
		return nil, fmt.Errorf("%w: %s", err, said)
	}
	return out.Bytes(), nil
}

// childError is what a process said, and what kind of failure its exit code told.
type childError struct {
	said string
	kind error
}

func (e childError) Error() string { return e.said }
func (e childError) Unwrap() error { return e.kind }

// kinds are sentinels of the classes that exit codes stand for.
var kinds = map[int]error{jnscli.ExitUsage: jnscli.ErrUsage, jnscli.ExitCorrupt: format.ErrCorrupt, jnscli.ExitUnsupported: format.ErrUnsupported, jnscli.ExitVerify: errEvidence}

// limited refuses more than so many bytes.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		return 0, errors.New("too much output")
	}
	return l.w.Write(b)
}

// measureCommand is what bench runs in processes of their own.
func measureCommand() *cli.Command {
	f := []cli.Flag{&cli.IntFlag{Name: "p", Value: 512}, &cli.IntFlag{Name: "n", Value: 128}}
	return &cli.Command{Name: "measure", Hidden: true, Usage: "one process of bench --compare: a warm-up that is discarded, then a measurement; writes a record", ArgsUsage: "MODEL.jns",
		Flags: append(engineFlags(), f...), Action: with(measure)}
}

// recordedVariables change what runs or how fast; others are nobody's business.
var recordedVariables = []string{"JNS_KERNELS", "JNS_CORES", "GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG"}

// measure reads a prompt and generates greedily, twice, and writes all that is known about it.
func measure(ctx context.Context, c *cli.Command, e *engine.Engine) error {
	p, n := c.Int("p"), c.Int("n")
	if p < 1 || n < 0 || p+n > e.Options().Context {
		return jnscli.Usagef("-p %d and -n %d: the context holds %d positions; raise it with --ctx", p, n, e.Options().Context)
	}
	w := bufio.NewWriter(stdout)
	line := func(v any) error { return jnscli.JSONLine(w, v) }
	m := machine()
	if pools, err := engine.ThisMachine("", 0); err == nil {
		m["processors"] = pools
	}
	first := processLine{Kind: "process", Format: evidenceFormat, Arguments: os.Args[1:], Environment: map[string]string{}, Program: c.Root().Version, Machine: plain(m)}
	for _, v := range recordedVariables {
		if s, ok := os.LookupEnv(v); ok {
			first.Environment[v] = s
		}
	}
	if err := line(first); err != nil {
		return err
	}
	prompt := make([]int32, p)
	for i := range prompt { // spread over the vocabulary, the same each time
		prompt[i] = int32(uint64(i) * 7919 % uint64(e.Vocab()))
	}
	for pass := range 2 {
		if err := measurePass(ctx, e, prompt, n, pass, line); err != nil {
			return err
		}
	}
	receipt, err := json.Marshal(e.Receipt())
	if err != nil {
		return err
	}
	last := receiptLine{Kind: "receipt", Receipt: receipt}
	last.PeakRSS, _ = peakRSS()
	if err := line(last); err != nil {
		return err
	}
	return w.Flush()
}

// measurePass is one prompt and n tokens after it. The warm-up hashes the logits too.
func measurePass(ctx context.Context, e *engine.Engine, prompt []int32, n, pass int, line func(any) error) error {
	s := e.NewSession()
	defer s.Close()
	digest := sha256.New()
	next := int32(0)
	each := func(_ int, l []float32) error {
		next = 0
		for i, v := range l {
			if v > l[next] {
				next = int32(i)
			}
		}
		if pass > 0 {
			return nil
		}
		return binary.Write(digest, binary.LittleEndian, l)
	}
	timed := func(phase string, tokens int, run func() error) error {
		start := time.Now()
		if err := run(); err != nil {
			return err
		}
		return line(timingLine{"timing", phase, pass, pass == 0, int64(tokens), max(time.Since(start).Nanoseconds(), 1)})
	}
	if err := timed("prefill", len(prompt), func() error { return s.Eval(ctx, prompt, nil, each) }); err != nil {
		return err
	}
	out := outputLine{Kind: "output", Pass: pass, Tokens: []int32{next}}
	if n > 0 {
		err := timed("decode", n, func() error {
			for range n {
				if err := s.Eval(ctx, []int32{next}, nil, each); err != nil {
					return err
				}
				out.Tokens = append(out.Tokens, next)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if pass == 0 {
		out.Logits = hex.EncodeToString(digest.Sum(nil))
	}
	return line(out)
}

// plain turns values into what they are in JSON, so that a record reads as it was written.
func plain(m map[string]any) map[string]any {
	b, err := json.Marshal(m)
	out := map[string]any{}
	if err != nil || json.Unmarshal(b, &out) != nil {
		return map[string]any{}
	}
	return out
}

// verifyEvidenceCommand checks a directory that bench --evidence wrote.
func verifyEvidenceCommand() *cli.Command {
	return &cli.Command{Name: "verify-evidence", Usage: "compute the figures of bench --evidence again from its records", ArgsUsage: "DIR",
		Description: "Every digest, the order of the runs and every figure must follow from the records; exit code 5 if anything does not. Any machine can do it, without the model.",
		Flags:       []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print one JSON document"}},
		Action: func(_ context.Context, c *cli.Command) error {
			if err := jnscli.Args(c, 1, 1, "name a directory: jns-run verify-evidence DIR"); err != nil {
				return err
			}
			m, digest, err := readEvidence(c.Args().First())
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return jnscli.JSONLine(stdout, map[string]any{"manifest_sha256": digest, "runs": len(m.Runs), "figures": m.Figures})
			}
			w := bufio.NewWriter(stdout)
			fmt.Fprintf(w, "%s  holds: %d records\n", digest, len(m.Runs))
			m.text(w)
			return w.Flush()
		}}
}
