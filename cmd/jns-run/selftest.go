package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/runtime/engine"
)

func selftestCommand() *cli.Command {
	return &cli.Command{
		Name: "selftest", Usage: "prove that this machine's kernels give the bits of the scalar definition", ArgsUsage: "[MODEL.jns]",
		Description: "Every product of every kernel set this machine has, those too that run only where they are named, and the functions of vectors, on inputs from seeds; with a model also\n" +
			"its logits, by every set, on one and on all threads, in batches of several sizes. --kernels SET checks one set. Exit code 5 if a bit differs.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "kernels", Usage: "the set to check; auto: all", Value: "auto"},
			&cli.IntFlag{Name: "threads", Aliases: []string{"t"}, Usage: "most worker threads, with a model (default: processors that this process may use)", HideDefault: true},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
		},
		Action: selfTest,
	}
}

// checkedSet is a line of the table.
type checkedSet struct {
	Set     string           `json:"set"`
	Kernels int              `json:"kernels"`
	Cases   int              `json:"cases"`
	First   *engine.Checked  `json:"first_difference,omitempty"`
	Results []engine.Checked `json:"results"`
}

func selfTest(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() > 1 {
		return jnscli.Usagef("unexpected argument %q", c.Args().Get(1))
	}
	if c.Int("threads") < 0 {
		return jnscli.Usagef("--threads %d: must be at least 1", c.Int("threads"))
	}
	var t selfTestTable
	draw := !c.Bool("json") && jnscli.Terminal(os.Stderr)
	each := func(r engine.Checked) error {
		t.add(r)
		if draw {
			fmt.Fprintf(os.Stderr, "\r\x1b[K%s %s", r.Set, r.Kernel)
		}
		return nil
	}
	err := engine.SelfTest(ctx, c.String("kernels"), each)
	if model := c.Args().First(); err == nil && model != "" {
		err = engine.SelfTestModel(ctx, model, c.String("kernels"), engine.Options{Threads: c.Int("threads")}, each)
	}
	if draw {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
	if err != nil {
		return err
	}
	if c.Bool("json") {
		if t.sets == nil {
			t.sets = []*checkedSet{}
		}
		err = jnscli.JSONLine(stdout, map[string]any{"sets": t.sets, "equal": t.failed == nil})
	} else {
		err = t.print()
	}
	return errors.Join(err, t.failed)
}

// selfTestTable gathers results by set, in the order in which sets come.
type selfTestTable struct {
	sets   []*checkedSet
	failed error // names the first kernel that differs
}

func (t *selfTestTable) add(r engine.Checked) {
	var s *checkedSet
	for _, have := range t.sets {
		if have.Set == r.Set {
			s = have
		}
	}
	if s == nil {
		s = &checkedSet{Set: r.Set}
		t.sets = append(t.sets, s)
	}
	s.Kernels, s.Cases, s.Results = s.Kernels+1, s.Cases+r.Cases, append(s.Results, r)
	if r.Difference == "" {
		return
	}
	if s.First == nil {
		s.First = &r
	}
	if t.failed == nil {
		t.failed = fmt.Errorf("%w: %s of %s: %s", engine.ErrSelfTest, r.Kernel, r.Set, r.Difference)
	}
}

func (t *selfTestTable) print() error {
	if len(t.sets) == 0 {
		_, err := fmt.Fprintln(stdout, "there is no kernel set to check but scalar, the definition itself")
		return err
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "set\tchecks\tcases\tfirst difference")
	for _, s := range t.sets {
		first := "none"
		if s.First != nil {
			first = s.First.Kernel + ": " + s.First.Difference
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", s.Set, s.Kernels, s.Cases, first)
	}
	return w.Flush()
}
