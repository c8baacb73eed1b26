// Command agree judges how near our logits are to a near-exact oracle, beside llama.cpp's:
//
//	go run ./cmd/internal/agree [-json] [-v] [-only REGEXP] [files…]         against the references in ../shared
//	go run ./cmd/internal/agree -archs [-dir DIR]                            models of many architectures, and what else is promised of every file
//	go run ./cmd/internal/agree -peer build [-more | -prompt TEXT | -ids …]  references made anew, all logits of all steps; other prompts
//
// The oracle is llama.cpp computing with the same weights as F32, an F32 cache and no approximations. Errors are relative to the standard
// deviation of the logits. Rule 1: over all steps of a file our RMS is at most 1.1 times llama.cpp's, over one prompt at most 1.5 times, and the mean
// of the files' ratios at most 1. Rule 2: the greedy choice is the oracle's up to the first step whose margin is below our largest error. Rule 3: where the weights
// are F16 the largest error is at most 0.005. The exit code is 1 when a rule fails. A file that jnsc refuses as unsupported is listed and not judged.
//
// judge.go holds the rules, reference.go reads stored references, source.go runs both programs, every.go checks what else is promised of every file, table.go prints. It must not know how anything is computed: it runs commands.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"jns/cmd/internal/peer/child"
)

// options are the flags.
type options struct {
	shared, models string
	only           *regexp.Regexp
	files          []string
	archs          bool
	made           string   // folder of the sixteen F16 models; empty: made for the occasion
	without        bool     // they are left out
	dirs           []string // folders of more models
	json, verbose  bool
	steps          bool
	leastSteps     int
	peer           string // the binary; empty: stored references
	prompts        []string
	ids            [][]int
	n              int
	jnsc, jnsRun   string
	target         string
	kernels        string
	threads, batch int
}

func (o options) newPrompts() bool { return len(o.prompts)+len(o.ids) > 0 }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "agree:", err)
		os.Exit(2)
	}
	rep, err := agree(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "agree:", err)
		os.Exit(1)
	}
	if len(rep.Failures) > 0 {
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	var only string
	var more bool
	f := flag.NewFlagSet("agree", flag.ContinueOnError)
	f.StringVar(&o.shared, "shared", fromEnv("JNS_SHARED", filepath.Join("..", "shared")), "folder with models and references")
	f.StringVar(&o.models, "models", fromEnv("JNS_MODELS", filepath.Join(".cache", "models")), "folder of the real models")
	f.StringVar(&only, "only", "", "only files whose name matches")
	f.BoolVar(&o.archs, "archs", false, "everything that is promised of the models of many architectures, in one table")
	f.StringVar(&o.made, "made", "", "folder of the sixteen F16 models (default: made in a temporary one); for -archs")
	f.BoolVar(&o.without, "without-made", false, "leave the sixteen F16 models out; for -archs")
	f.Func("dir", "a folder of more models for -archs, F16 or F32; the oracle is the peer, if there is one; repeatable", func(s string) error {
		o.dirs = append(o.dirs, s)
		return nil
	})
	f.BoolVar(&o.json, "json", false, "JSON instead of a table")
	f.BoolVar(&o.verbose, "v", false, "print every prompt")
	f.BoolVar(&o.steps, "steps", false, "print every step's errors, with -v")
	f.IntVar(&o.leastSteps, "least-steps", 8, "steps that a prompt needs to be judged where only top logits are stored")
	f.StringVar(&o.peer, "peer", "", "make references anew with this peer; \"build\" builds it first (cmd/internal/peer/build/build.sh)")
	f.Func("prompt", "a prompt to use instead of the stored ones; repeatable; needs -peer", func(s string) error {
		o.prompts = append(o.prompts, s)
		return nil
	})
	f.Func("ids", "a prompt as ids 1,2,3; repeatable; needs -peer", func(s string) error {
		ids, err := parseIDs(s)
		o.ids = append(o.ids, ids)
		return err
	})
	f.BoolVar(&more, "more", false, "other built-in prompts instead of the stored ones; needs -peer")
	f.IntVar(&o.n, "n", 32, "tokens to continue a new prompt by")
	f.StringVar(&o.jnsc, "jnsc", "", "a built jnsc (default: build it)")
	f.StringVar(&o.jnsRun, "jns-run", "", "a built jns-run (default: build it)")
	f.StringVar(&o.target, "target", "", "target of jnsc (default: its own)")
	f.StringVar(&o.kernels, "kernels", "", "kernel set of jns-run (default: its own choice)")
	f.IntVar(&o.threads, "threads", 0, "threads of jns-run (0: its own choice)")
	f.IntVar(&o.batch, "batch", 0, "batch of jns-run (0: its own choice)")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if more {
		o.prompts = append(o.prompts, morePrompts...)
	}
	o.files = f.Args()
	if o.newPrompts() && o.peer == "" {
		return o, fmt.Errorf("new prompts need -peer")
	}
	if o.n < 1 || o.leastSteps < 1 {
		return o, fmt.Errorf("-n and -least-steps must be at least 1")
	}
	if only != "" {
		re, err := regexp.Compile(only)
		if err != nil {
			return o, fmt.Errorf("-only: %w", err)
		}
		o.only = re
	}
	return o, nil
}

func fromEnv(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

func parseIDs(s string) ([]int, error) {
	var ids []int
	for _, x := range strings.Split(s, ",") {
		id, err := strconv.Atoi(strings.TrimSpace(x))
		if err != nil || id < 0 {
			return nil, fmt.Errorf("%q is no list of token ids", s)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// agree judges every file and prints.
func agree(ctx context.Context, o options) (report, error) {
	tmp, err := os.MkdirTemp("", "jns-agree-")
	if err != nil {
		return report{}, err
	}
	defer os.RemoveAll(tmp)
	var unmade error
	if o.archs && len(o.files) == 0 && !o.without {
		o.made = o.madeDir(tmp)
		unmade = makeSixteen(ctx, o, o.made)
	}
	models, err := o.find()
	if err != nil {
		return report{}, err
	}
	ours := child.Ours{Jnsc: o.jnsc, Run: o.jnsRun}
	if o.jnsc == "" || o.jnsRun == "" {
		built, err := child.BuildOurs(ctx, tmp)
		if err != nil {
			return report{}, err
		}
		if o.jnsc == "" {
			ours.Jnsc = built.Jnsc
		}
		if o.jnsRun == "" {
			ours.Run = built.Run
		}
	}
	if o.peer == "build" {
		if o.peer, err = child.BuildPeer(ctx, filepath.Join("cmd", "internal", "peer", "build", "build.sh"), ""); err != nil {
			return report{}, err
		}
	}
	j := judge{o, ours, tmp}
	var rep report
	if !o.json {
		if o.archs {
			printEveryHead(os.Stdout)
		} else {
			printHead(os.Stdout)
		}
	}
	for _, m := range models {
		r := j.file(ctx, m)
		if err := ctx.Err(); err != nil {
			return report{}, err
		}
		rep.Files = append(rep.Files, r)
		switch {
		case o.json:
		case o.archs:
			r.printEvery(os.Stdout)
		default:
			r.print(os.Stdout, o.verbose || o.steps, o.steps)
		}
	}
	rep = rep.judged(o.archs)
	if unmade != nil {
		rep.Failures = append(rep.Failures, fmt.Sprintf("the sixteen F16 models were NOT CHECKED, since they could not be made (python3, and pip with a package index, are needed; -without-made leaves them out): %v", unmade))
	}
	if o.json {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return rep, e.Encode(rep)
	}
	rep.print(os.Stdout)
	return rep, nil
}
