package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/internal/output"
	"jns/runtime/engine"
)

// readers are the ways to read, as --io names them. A model that fits in memory needs none of them; a name that is none is refused all the same.
var readers = []string{"auto", "uring", "pread", "mmap"}

// streamFlags are the flags of every verb that computes, for models that do not fit in memory.
func streamFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "memory", Usage: "memory that the process may take, such as 2GiB (default: what is available)", Validator: func(s string) error {
			if s == "" { // by a variable of a shell that is not set, say
				return jnscli.Usagef("--memory names no size")
			}
			_, err := parseSize(s)
			return err
		}},
		&cli.StringFlag{Name: "io", Usage: "how weights that do not fit are read: " + strings.Join(readers, ", "), Value: "auto", Validator: func(s string) error {
			if !slices.Contains(readers, s) {
				return jnscli.Usagef("--io is one of %s", strings.Join(readers, ", "))
			}
			return nil
		}},
		&cli.StringFlag{Name: "verify", Usage: "slots: compare weights with their digests as they are read", Validator: func(s string) error {
			if s != "slots" {
				return jnscli.Usagef("--verify slots is all there is")
			}
			return nil
		}},
		&cli.StringFlag{Name: "policy", Usage: "which processors work: " + strings.Join(engine.Schedules(), ", ") + "; which experts stay in memory: " +
			strings.Join(engine.Policies(), ", ") + "; or one of each, as in big,lru", HideDefault: true, Validator: func(s string) error {
			if s == "" { // by a variable of a shell that is not set, say
				return jnscli.Usagef("--policy names none")
			}
			_, _, err := policies(s)
			return err
		}},
		&cli.FloatFlag{Name: "skip-experts", Usage: "where less than a fifth of the experts fit: leave out those that would have to be read and have less than this part of a token's largest weight; changes results", HideDefault: true},
		&cli.StringFlag{Name: "record-routing", Usage: "write which experts were used to `FILE`, for cache-sim and heatmap"},
		&cli.BoolFlag{Name: "cold", Usage: "do not begin with the experts that the last run ended with"},
	}
}

// streamOptions adds what the flags say to the options.
func streamOptions(c *cli.Command, o *engine.Options) {
	o.Memory, _ = parseSize(c.String("memory"))
	o.IO, o.Verify, o.Warm = c.String("io"), c.String("verify") == "slots", !c.Bool("cold")
	o.Skip = c.Float("skip-experts")
	o.Schedule, o.Policy, _ = policies(c.String("policy"))
}

// policies parts what --policy says into the policies for processors and for experts; the names of the two are different.
func policies(s string) (processors, experts string, err error) {
	if s == "" { // nothing is asked for
		return "", "", nil
	}
	for word := range strings.SplitSeq(s, ",") {
		word = strings.TrimSpace(word)
		switch {
		case processors == "" && slices.Contains(engine.Schedules(), word):
			processors = word
		case experts == "" && slices.Contains(engine.Policies(), word):
			experts = word
		default:
			return "", "", jnscli.Usagef("--policy %s: one of %s for processors, one of %s for experts, or both with a comma", s, strings.Join(engine.Schedules(), ", "),
				strings.Join(engine.Policies(), ", "))
		}
	}
	return processors, experts, nil
}

// traceFile is the file of --record-routing. It is begun when something is written to it, or when it is known that something will be, and gets its name when it is whole: a run that is
// killed leaves the trace that was there before.
type traceFile struct {
	name string
	f    *os.File
	next *output.File // f, unless something that is no regular file has the name
}

func (t *traceFile) Write(b []byte) (int, error) {
	if err := t.create(); err != nil {
		return 0, err
	}
	return t.f.Write(b)
}

func (t *traceFile) create() (err error) {
	if t.f != nil {
		return nil
	}
	if st, err := os.Lstat(t.name); err == nil && !st.Mode().IsRegular() {
		t.f, err = os.OpenFile(t.name, os.O_WRONLY|os.O_TRUNC, 0)
		return err
	}
	if t.next, err = output.Create(t.name, 0o666); err == nil {
		t.f = t.next.File
	}
	return err
}

// close ends the file; whole: all that belongs in it has been written.
func (t *traceFile) close(whole bool) error {
	switch {
	case t.f == nil:
		return nil
	case t.next == nil:
		return t.f.Close()
	case !whole:
		t.next.Discard()
		return nil
	}
	defer t.next.Discard()
	return t.next.Commit()
}

// started checks that an engine with this trace will write one.
func (t *traceFile) started(e *engine.Engine) error {
	if e.StreamReceipt() == nil {
		return jnscli.Usagef("--record-routing %s: the model fits in memory, so that there is nothing to read and to record; grant less with --memory", t.name)
	}
	return t.create()
}

var sizeUnits = []struct {
	name string
	size float64
}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12}, {"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"t", 1 << 40}, {"b", 1}}

// parseSize reads 512MiB, 1.5GiB, 2G, 4GB or a number of bytes.
func parseSize(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	text, unit := strings.ToLower(strings.TrimSpace(s)), 1.0
	for _, u := range sizeUnits {
		if v, ok := strings.CutSuffix(text, u.name); ok {
			text, unit = strings.TrimSpace(v), u.size
			break
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0) || v*unit >= math.MaxInt64 {
		return 0, fmt.Errorf("%w: %q is no size: 512MiB, 2GiB, a number of bytes", engine.ErrOption, s)
	}
	return uint64(v * unit), nil
}
