package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/format"
)

func diffCommand() *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "say in what two containers differ", ArgsUsage: "A.jns B.jns",
		Description: "From the top down: facts, sections, tensors, slots, program. Exit code 0: no difference, 1: there are some.",
		Flags:       []cli.Flag{jsonFlag()}, Action: diff,
	}
}

func diff(_ context.Context, c *cli.Command) error {
	if err := jnscli.Args(c, 2, 2, "jnsc diff takes two containers: jnsc diff A.jns B.jns"); err != nil {
		return err
	}
	a, b := c.Args().Get(0), c.Args().Get(1)
	f, x, err := open(a)
	if err != nil {
		return err
	}
	defer f.Close()
	g, y, err := open(b)
	if err != nil {
		return err
	}
	defer g.Close()
	found := format.Diff(x, y)
	if err := printDiff(c.Bool("json"), found); err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("%s and %s differ in %d places", a, b, len(found))
	}
	return nil
}

func printDiff(doc bool, found []format.Difference) error {
	if doc {
		type difference struct {
			Level string `json:"level"`
			Name  string `json:"name"`
			Old   string `json:"old,omitempty"`
			New   string `json:"new,omitempty"`
		}
		out := []difference{}
		for _, d := range found {
			out = append(out, difference(d))
		}
		return jnscli.JSON(stdout, map[string]any{"equal": len(found) == 0, "differences": out})
	}
	for _, d := range found {
		if _, err := fmt.Fprintln(stdout, d); err != nil {
			return err
		}
	}
	return nil
}
