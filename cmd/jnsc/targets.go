package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/compiler"
)

func targetsCommand() *cli.Command {
	return &cli.Command{
		Name: "targets", Usage: "list the targets and architectures",
		Description: "A target decides how weights are laid out. A container made for one machine runs on every other; where no kernel knows its\n" +
			"layout the scalar path does, and says so. \"native\" stands for the target of this machine.",
		Flags: []cli.Flag{jsonFlag()},
		Action: func(_ context.Context, c *cli.Command) error {
			if err := jnscli.Args(c, 0, 0, "jnsc targets takes no arguments"); err != nil {
				return err
			}
			all, archs := compiler.Targets(), compiler.Architectures()
			if c.Bool("json") {
				return jnscli.JSON(stdout, map[string]any{"targets": all, "architectures": archs})
			}
			w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
			for _, t := range all {
				note := ""
				if t.Default {
					note = " (default)"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s%s\n", t.Name, t.Layouts, strings.Join(t.Features, "+"), t.Words, note)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			_, err := fmt.Fprintf(stdout, "\narchitectures: %s\n", strings.Join(archs, ", "))
			return err
		},
	}
}
