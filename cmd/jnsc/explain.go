package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/compiler"
	"jns/format"
)

func explainCommand() *cli.Command {
	return &cli.Command{
		Name: "explain", Usage: "say what each tensor becomes and why", ArgsUsage: "MODEL.gguf|MODEL.jns",
		Description: "Of a GGUF: what jnsc compile would make of it for the target, and the program. Nothing is written, weights are not read.\n" +
			"Of a container: what it records.",
		Flags: append(rooflineFlags(),
			&cli.StringFlag{Name: "target", Usage: "what to lay the weights out for; see jnsc targets"},
			&cli.BoolFlag{Name: "program", Usage: "only the program: each operation with shapes, places in the arena and what was fused into it"},
			&cli.BoolFlag{Name: "dot", Usage: "the program as a graph for Graphviz: jnsc explain --dot M | dot -Tsvg -o m.svg"},
			&cli.StringFlag{Name: "profile", Usage: "a routing trace `FILE`, as for jnsc compile"},
			&cli.BoolFlag{Name: "keep-unknown", Usage: "keep tensors that the architecture does not know instead of refusing them"},
			jsonFlag(),
		),
		Action: explain,
	}
}

func explain(_ context.Context, c *cli.Command) error {
	if err := jnscli.Args(c, 1, 1, "jnsc explain takes one model or container: jnsc explain MODEL.gguf [--target T]"); err != nil {
		return err
	}
	forms := 0
	for _, name := range []string{"program", "dot", "roofline"} {
		if c.Bool(name) {
			forms++
		}
	}
	if forms > 1 || c.Bool("dot") && c.Bool("json") {
		return jnscli.Usagef("--program, --dot, --roofline: one form at a time; --json goes with all but --dot")
	}
	ex, err := explanation(c)
	if err != nil {
		return err
	}
	if c.Bool("roofline") {
		return rooflineOf(c, ex)
	}
	show := ex.Text
	switch {
	case c.Bool("json"):
		return jnscli.JSON(stdout, ex)
	case c.Bool("dot"):
		show = ex.Dot
	case c.Bool("program"):
		show = ex.ProgramText
	}
	var b strings.Builder
	if err := show(&b); err != nil {
		return err
	}
	_, err = fmt.Fprint(stdout, jnscli.Printable(b.String()))
	return err
}

func explanation(c *cli.Command) (*compiler.Explanation, error) {
	path := c.Args().First()
	if !isContainer(path) {
		f, _, err := format.OpenFile(path)
		if errors.Is(err, format.ErrNotRegular) {
			return nil, fmt.Errorf("%w; give the path of a .gguf or .jns file", err)
		} else if err != nil {
			return nil, err
		}
		f.Close()
		ex, err := compiler.Explain(compiler.Options{Source: path, Target: c.String("target"), Profile: c.String("profile"), KeepUnknown: c.Bool("keep-unknown")})
		if errors.Is(err, compiler.ErrNotGGUF) {
			err = fmt.Errorf("neither a container nor a model: %w", err)
		}
		return ex, err
	}
	if c.IsSet("target") && !c.Bool("roofline") || c.IsSet("keep-unknown") || c.IsSet("profile") {
		return nil, jnscli.Usagef("%s is compiled already: --target (but with --roofline), --profile and --keep-unknown are for a GGUF", path)
	}
	return compiler.ExplainContainer(path)
}
