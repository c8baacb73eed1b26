// Command peer measures llama.cpp and our runtime beside each other on this machine: prefill, decoding, time to the first token, memory.
//
//	go run ./cmd/internal/peer [-pairs 7] [-threads 1,2] [-models DIR | files…] [-types all|Q8_0,… [-types-dir DIR]] [-third PROGRAM] [-speed] [-quick] [-json | -markdown] [-check]
//
// Both run the same file with the same threads, in alternation, so that what else the machine does meets both. The peer is built by
// build/build.sh with this machine's flags; a peer that lacks a feature of the processor is refused, because beating it would say nothing.
// pair.go holds the arithmetic, third.go the comparison with a third program, table.go the table for a README, features.go the check, run.go the runs, types.go the files of
// one model in every type. The program must not know containers or models: it runs commands.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"jns/cmd/internal/peer/child"
)

// options are the flags.
type options struct {
	pairs, reps   int
	prompt, n     int
	threads       []int
	models        []string
	peer, jnsc    string
	third         string
	jnsRun        string
	target, text  string
	json, check   bool
	markdown      bool
	speedOnly     bool
	firstRuns     int
	allowFeatures bool

	types    []fileType // of the one model, made by the peer; nil: the models as they are
	typesDir string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(2)
	}
	met, err := bench(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
	if o.check && !met {
		fmt.Fprintln(os.Stderr, "peer: a goal is not met")
		os.Exit(1)
	}
}

// parse reads the flags and finds the models.
func parse(args []string) (options, error) {
	var o options
	var dir, threads, types string
	var quick bool
	f := flag.NewFlagSet("peer", flag.ContinueOnError)
	f.IntVar(&o.pairs, "pairs", 7, "pairs of runs per model and thread count")
	f.IntVar(&o.reps, "reps", 2, "repetitions within a run; their median is the run's value")
	f.IntVar(&o.prompt, "p", 512, "tokens of prompt")
	f.IntVar(&o.n, "n", 128, "tokens of decoding")
	f.StringVar(&threads, "threads", "1,2", "thread counts")
	f.StringVar(&dir, "models", modelsDir(), "directory of GGUF files, when none are named")
	f.StringVar(&o.peer, "peer", "", "a built peer (default: build it, see build/build.sh)")
	f.StringVar(&o.third, "third", "", "a third program that answers bench as the peer does, such as build/peer.c over ik_llama.cpp's libraries; measured in the same alternation")
	f.StringVar(&o.jnsc, "jnsc", "", "a built jnsc (default: build it)")
	f.StringVar(&o.jnsRun, "jns-run", "", "a built jns-run (default: build it)")
	f.StringVar(&o.target, "target", "", "target of jnsc (default: its own)")
	f.StringVar(&o.text, "text", "The capital of France is", "prompt of the first-token measurement")
	f.StringVar(&types, "types", "", "measure one model in these file types, made by the peer's quantiser: all, or a list such as Q8_0,IQ4_XS")
	f.StringVar(&o.typesDir, "types-dir", "", "where files made for -types are kept (default: types beside the model)")
	f.BoolVar(&quick, "quick", false, "3 pairs, 128 tokens of prompt, 32 of decoding: a look, not a measurement")
	f.BoolVar(&o.json, "json", false, "JSON instead of a table")
	f.BoolVar(&o.markdown, "markdown", false, "a table with a line a model at the end too, what misses its goal in bold")
	f.BoolVar(&o.speedOnly, "speed", false, "prefill and decoding only, neither the first token nor its memory")
	f.BoolVar(&o.check, "check", false, "exit with 1 when a goal is not met")
	f.BoolVar(&o.allowFeatures, "any-peer", false, "measure even a peer that lacks features of the processor")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.firstRuns = 9
	if quick { // what is named beside it stays as it is named
		named := map[string]bool{}
		f.Visit(func(f *flag.Flag) { named[f.Name] = true })
		for _, q := range []struct {
			name  string
			to    *int
			value int
		}{{"pairs", &o.pairs, 3}, {"reps", &o.reps, 1}, {"p", &o.prompt, 128}, {"n", &o.n, 32}} {
			if !named[q.name] {
				*q.to = q.value
			}
		}
		o.firstRuns = 3
	}
	if o.json && o.markdown {
		return o, fmt.Errorf("-json and -markdown exclude each other")
	}
	if o.pairs < 1 || o.reps < 1 || o.prompt < 1 || o.n < 1 {
		return o, fmt.Errorf("-pairs, -reps, -p and -n must be at least 1")
	}
	for _, s := range strings.Split(threads, ",") {
		t, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || t < 1 {
			return o, fmt.Errorf("-threads %q: want numbers such as 1,2", threads)
		}
		o.threads = append(o.threads, t)
	}
	if types != "" {
		list, err := chooseTypes(types)
		if err != nil {
			return o, err
		}
		if o.types, o.models = list, f.Args(); len(o.models) == 0 {
			o.models = []string{filepath.Join(dir, typesModel)}
		}
		if len(o.models) != 1 {
			return o, fmt.Errorf("-types measures one model, %d are named", len(o.models))
		}
		if _, err := child.FileSize(o.models[0]); err != nil {
			return o, fmt.Errorf("%w; run `make models`, or name a file", err)
		}
		if o.typesDir == "" {
			o.typesDir = filepath.Join(filepath.Dir(o.models[0]), "types")
		}
		return o, nil
	}
	o.models = f.Args()
	if len(o.models) == 0 {
		o.models, _ = filepath.Glob(filepath.Join(dir, "*.gguf"))
		sort.Slice(o.models, func(i, j int) bool { // small ones first
			a, _ := child.FileSize(o.models[i])
			b, _ := child.FileSize(o.models[j])
			return a < b
		})
	}
	if len(o.models) == 0 {
		return o, fmt.Errorf("no GGUF files in %s; run `make models`, or name files", dir)
	}
	return o, nil
}

// typesModel is what -types measures when no file is named: small, so that all types are made and measured in reasonable time.
const typesModel = "SmolLM2-135M-Instruct-Q4_1.gguf"

// modelsDir is where `make models` puts the real models.
func modelsDir() string {
	if d := os.Getenv("JNS_MODELS"); d != "" {
		return d
	}
	return filepath.Join(".cache", "models")
}

// bench measures every model and prints; met says whether every goal is met.
func bench(ctx context.Context, o options) (met bool, err error) {
	tmp, err := os.MkdirTemp("", "jns-peer-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(tmp)
	if o.peer == "" {
		if o.peer, err = child.BuildPeer(ctx, filepath.Join("cmd", "internal", "peer", "build", "build.sh"), ""); err != nil {
			return false, err
		}
	}
	ours := child.Ours{Jnsc: o.jnsc, Run: o.jnsRun}
	if o.jnsc == "" || o.jnsRun == "" {
		built, err := child.BuildOurs(ctx, tmp)
		if err != nil {
			return false, err
		}
		if o.jnsc == "" {
			ours.Jnsc = built.Jnsc
		}
		if o.jnsRun == "" {
			ours.Run = built.Run
		}
	}
	r := runner{o, ours, tmp}
	info, err := r.systemInfo(ctx)
	if err != nil {
		return false, err
	}
	cpu, flags := thisProcessor()
	if lacks := missing(info, flags); len(lacks) > 0 {
		msg := fmt.Sprintf("the peer was built without %s, which this processor has; remove its build directory and build again here", strings.Join(lacks, ", "))
		if !o.allowFeatures {
			return false, fmt.Errorf("%s", msg)
		}
		fmt.Fprintln(os.Stderr, "peer:", msg)
	}
	if o.types != nil {
		o.models, err = makeTypes(ctx, o.peer, o.models[0], o.typesDir, o.types, func(name, why string) { fmt.Fprintf(os.Stderr, "peer: no %s: %s\n", name, why) })
		if err != nil {
			return false, err
		}
	}
	rep := report{SystemInfo: info, Machine: cpu, Target: o.target, Pairs: o.pairs, Reps: o.reps}
	if !o.json {
		rep.printHead(os.Stdout)
	}
	for _, m := range o.models {
		res, err := r.model(ctx, m, func(row row) {
			if !o.json {
				row.print(os.Stdout)
			}
		})
		rep.Rows = append(rep.Rows, res...)
		if err == nil {
			continue
		}
		err = fmt.Errorf("%s: %w", filepath.Base(m), err)
		if o.types == nil || ctx.Err() != nil {
			return false, err
		}
		// One type of many that cannot be measured does not keep the others from it.
		fmt.Fprintln(os.Stderr, "peer:", err)
		rep.Failed = append(rep.Failed, failure{strings.TrimSuffix(filepath.Base(m), ".gguf"), err.Error()})
	}
	if o.markdown {
		fmt.Println()
		rep.markdown(os.Stdout)
	}
	if o.json {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(rep); err != nil {
			return false, err
		}
	}
	if n := len(rep.Failed); n > 0 {
		return false, fmt.Errorf("%d of %d types could not be measured", n, len(o.models))
	}
	return rep.met(), nil
}
