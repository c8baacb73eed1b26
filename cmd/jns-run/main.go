// Command jns-run maps a .jns container and runs it: text, chat, benchmark, logits. See README.md for a tour.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/format"
	"jns/runtime/engine"
)

// classes sorts errors into exit codes.
var classes = jnscli.Classes{
	{Code: jnscli.ExitUsage, Sentinels: []error{engine.ErrOption}},
	{Code: jnscli.ExitVerify, Sentinels: []error{errEvidence, engine.ErrSelfTest}},
	{Code: jnscli.ExitCorrupt, Sentinels: []error{format.ErrCorrupt, format.ErrMagic, engine.ErrTrace, engine.ErrNotRegular, errNoEvidence, engine.ErrSessionFile}},
	{Code: jnscli.ExitUnsupported, Sentinels: []error{format.ErrUnsupported, format.ErrVersion, engine.ErrNoVocab, engine.ErrNoTemplate, engine.ErrTemplate, engine.ErrSessionModel,
		engine.ErrSessionVersion, engine.ErrTraceVersion, engine.ErrNoEmbed, engine.ErrNoLogits, engine.ErrNoScores}},
}

func main() {
	// Nothing is allocated per token, so the heap hardly grows; a collector that starts late leaves the processors to the workers.
	debug.SetGCPercent(400)
	jnscli.Main(root(), classes)
}

func root() *cli.Command {
	c := &cli.Command{
		Name:  "jns-run",
		Usage: "run a compiled model",
		Description: "jns-run MODEL.jns -p TEXT answers a prompt with the model's own chat template, or continues it with --raw.\n" +
			"Exit codes: 0 done, 1 failed, 2 usage, 3 the input is corrupt, 4 the input is fine but not supported, 5 verification failed,\n130 interrupted.",
		ArgsUsage: "MODEL.jns",
		Flags:     local(append(append(engineFlags(), sampleFlags()...), generateFlags()...)),
		Action:    generate,
		Commands: []*cli.Command{chatCommand(), benchCommand(), logitsCommand(), tokenizeCommand(), embedCommand(), rerankCommand(), selftestCommand(), infoCommand(), pplCommand(), serveCommand(),
			statsCommand(), cacheSimCommand(), heatmapCommand(), verifyEvidenceCommand(), measureCommand()},
	}
	for _, verb := range c.Commands {
		verb.Before = inherit
	}
	return c
}

// inherit gives a verb the flags that stand before it, as in jns-run --threads 1 chat MODEL.jns. A flag that the verb does not have is an error, not ignored.
func inherit(ctx context.Context, verb *cli.Command) (context.Context, error) {
	root := verb.Root()
	for _, name := range root.LocalFlagNames() {
		if verb.IsSet(name) && slices.Contains(verb.LocalFlagNames(), name) || !given(name) {
			continue
		}
		values := []string{fmt.Sprint(root.Value(name))}
		switch v := root.Value(name).(type) {
		case []string:
			values = v
		case []int:
			values = nil
			for _, n := range v {
				values = append(values, strconv.Itoa(n))
			}
		}
		if !slices.ContainsFunc(verb.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) }) {
			return ctx, jnscli.Usagef("jns-run %s has no flag --%s", verb.Name, name)
		}
		for _, v := range values {
			if err := verb.Set(name, v); err != nil {
				return ctx, jnscli.Usagef("--%s %s: %v", name, v, err)
			}
		}
	}
	return ctx, nil
}

// given says whether a flag was written, not only set by the environment.
func given(name string) bool {
	return slices.ContainsFunc(os.Args[1:], func(a string) bool {
		a, _, _ = strings.Cut(strings.TrimLeft(a, "-"), "=")
		return a == name
	})
}

// local keeps flags from the verbs below, which would accept them and do nothing with them.
func local(flags []cli.Flag) []cli.Flag {
	for _, f := range flags {
		switch f := f.(type) {
		case *cli.BoolFlag:
			f.Local = true
		case *cli.IntFlag:
			f.Local = true
		case *cli.Uint64Flag:
			f.Local = true
		case *cli.Float64Flag:
			f.Local = true
		case *cli.StringFlag:
			f.Local = true
		case *cli.IntSliceFlag:
			f.Local = true
		case *cli.StringSliceFlag:
			f.Local = true
		case *jnscli.TextsFlag:
			f.Local = true
		default:
			panic(fmt.Sprintf("a flag of type %T", f)) // the flags are a list in this package
		}
	}
	return flags
}

// engineFlags are the flags of every verb that computes.
func engineFlags() []cli.Flag {
	return append(streamFlags(),
		&cli.IntFlag{Name: "threads", Aliases: []string{"t"}, Usage: "most worker threads (default: processors that this process may use)", HideDefault: true},
		&cli.StringFlag{Name: "kernels", Usage: "kernel set: auto, or one of this machine's: " + strings.Join(engine.KernelSets(), ", "), Value: "auto", Sources: cli.EnvVars("JNS_KERNELS")},
		&cli.IntFlag{Name: "batch", Usage: "tokens computed at once while a prompt is read", Value: engine.DefaultBatch},
		&cli.IntFlag{Name: "ctx", Usage: "most positions of a session (default: what the model was trained for, at most 4096)", HideDefault: true},
		&cli.StringFlag{Name: "kv", Usage: "how keys and values are kept: f16, or q8_0 in about half the memory, with slightly different results", Value: engine.KVF16},
		&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
	)
}

// opened is an engine together with the file of --record-routing.
type opened struct {
	*engine.Engine
	trace *traceFile
	full  func() bool // the run was longer than a trace can be
}

// Close closes the engine, which writes the trace's end, and gives the trace its name.
func (o *opened) Close() error {
	err := o.Engine.Close()
	if o.trace == nil {
		return err
	}
	if o.full() {
		fmt.Fprintf(os.Stderr, "jns-run: the run was longer than a trace can be: %s holds its beginning alone\n", o.trace.name)
	}
	return errors.Join(err, o.trace.close(err == nil))
}

// open opens the container named by the first argument.
func open(c *cli.Command) (*opened, error) {
	if c.Args().Len() < 1 {
		return nil, jnscli.Usagef("name a container: %s MODEL.jns", c.FullName())
	}
	if c.Args().Len() > 1 {
		return nil, jnscli.Usagef("unexpected argument %q", c.Args().Get(1))
	}
	return openNamed(c, c.Args().First())
}

// openNamed opens a container as the flags say.
func openNamed(c *cli.Command, name string) (*opened, error) {
	if err := apart(c, name); err != nil {
		return nil, err
	}
	o := engineOptions(c)
	trace := traceFile{name: c.String("record-routing")}
	if trace.name == "" {
		e, err := engine.Open(name, o)
		return &opened{Engine: e}, err
	}
	o.Record = &trace
	e, err := engine.Open(name, o)
	if err != nil {
		return nil, errors.Join(err, trace.close(false))
	}
	if err := trace.started(e); err != nil {
		return nil, errors.Join(err, e.Close(), trace.close(false))
	}
	return &opened{e, &trace, e.TraceFull}, nil
}

// apart refuses to write over what is read, and over models: a result can be had again, a model perhaps not.
func apart(c *cli.Command, input string) error {
	session := c.String("session")
	for _, name := range []string{"output", "record-routing"} {
		path := c.String(name)
		switch {
		case path == "":
		case oneFile(path, input), session != "" && oneFile(path, session):
			return jnscli.Usagef("--%s %s would be written over what is read; name another file", name, path)
		case isModel(path):
			return jnscli.Usagef("--%s %s is a model; name another file, or remove it", name, path)
		}
	}
	return nil
}

// tooLong makes an error that ends the command as a wrong call of one about a prompt that the context does not hold.
func tooLong(err error) error {
	if errors.Is(err, engine.ErrContextFull) {
		return fmt.Errorf("%w: %w", jnscli.ErrUsage, err)
	}
	return err
}

// openInput opens a text or a trace: a regular file, or what this process was given open, such as /dev/stdin and what the shell makes of <(…).
// Any other pipe might be waited for until somebody writes to it.
func openInput(name string) (*os.File, error) {
	if name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/") {
		return os.Open(name)
	}
	f, _, err := engine.OpenRegular(name)
	return f, err
}

// oneFile reports whether two names are of one file, be it there or not.
func oneFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	if err1 == nil && err2 == nil {
		return os.SameFile(x, y)
	}
	return err1 != nil && err2 != nil && filepath.Clean(a) == filepath.Clean(b)
}

// isModel reports whether a file begins as a container, or as a GGUF.
func isModel(path string) bool {
	f, _, err := engine.OpenRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var b [8]byte
	n, _ := io.ReadFull(f, b[:])
	return b == format.Magic || n >= 4 && string(b[:4]) == "GGUF"
}

// engineOptions are the options that the flags ask for. What is not asked for stays 0: the engine then takes its default, or less where memory is scarce.
func engineOptions(c *cli.Command) engine.Options {
	o := engine.Options{Threads: c.Int("threads"), Kernels: c.String("kernels"), Context: c.Int("ctx"), KV: c.String("kv")}
	if c.IsSet("batch") {
		o.Batch = c.Int("batch")
	}
	streamOptions(c, &o)
	return o
}

// with opens the engine, runs f, and closes.
func with(f func(ctx context.Context, c *cli.Command, e *engine.Engine) error) cli.ActionFunc {
	return func(ctx context.Context, c *cli.Command) (err error) {
		e, err := open(c)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, e.Close()) }()
		return f(ctx, c, e.Engine)
	}
}

var stdout = os.Stdout
