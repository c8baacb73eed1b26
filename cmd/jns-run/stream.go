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
	"jns/runtime/engine"
)

// streamFlags are the flags of every verb that computes, for models that do not fit in memory.
func streamFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "memory", Usage: "memory that the process may take, such as 2GiB (default: what is available)", Validator: func(s string) error { _, err := parseSize(s); return err }},
		&cli.StringFlag{Name: "io", Usage: "how weights that do not fit are read: auto, uring, pread, mmap", Value: "auto"},
		&cli.StringFlag{Name: "verify", Usage: "slots: compare weights with their digests as they are read", Validator: func(s string) error {
			if s != "slots" {
				return jnscli.Usagef("--verify slots is all there is")
			}
			return nil
		}},
		&cli.StringFlag{Name: "policy", Usage: "which processors work: " + strings.Join(engine.Schedules(), ", ") + "; which experts stay in memory: " +
			strings.Join(engine.Policies(), ", ") + "; or one of each, as in big,lru", HideDefault: true, Validator: func(s string) error { _, _, err := policies(s); return err }},
		&cli.FloatFlag{Name: "skip-experts", Usage: "where less than a fifth of the experts fit: leave out those that would have to be read and have less than this part of a token's largest weight; changes results", HideDefault: true},
		&cli.StringFlag{Name: "record-routing", Usage: "write which experts were used to `FILE`, for cache-sim, heatmap and jnsc compile --profile"},
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
	for word := range strings.SplitSeq(s, ",") {
		word = strings.TrimSpace(word)
		switch {
		case word == "":
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

// record gives the options the file for the routing trace.
func record(c *cli.Command, o *engine.Options) error {
	name := c.String("record-routing")
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	o.Record = f // closed by the process's end; the engine's Close writes all there is
	return nil
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
