package main

import (
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/internal/progress"
	"jns/compiler"
)

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "prove that a container is whole and true", ArgsUsage: "MODEL.jns",
		Description: "Every digest, every padding byte, the program, that each tensor unpacks to the source's bytes, and that program and tokenizer\n" +
			"are what this compiler makes of the source. What is wrong is named with its section and offset; exit code 5.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "against", Usage: "a `GGUF` (any part of a split model) that must be the source"},
			&cli.StringFlag{Name: "profile", Usage: "the routing trace `FILE` by which the experts must lie; nothing else needs it"},
			threadsFlag(), jsonFlag(),
		},
		Action: verify,
	}
}

func verify(ctx context.Context, c *cli.Command) error {
	if err := jnscli.Args(c, 1, 1, "jnsc verify takes one container: jnsc verify MODEL.jns [--against MODEL.gguf]"); err != nil {
		return err
	}
	n, err := threads(c)
	if err != nil {
		return err
	}
	bars := progress.New()
	v, err := compiler.Verify(ctx, compiler.VerifyOptions{
		Container: c.Args().First(), Against: c.String("against"), Profile: c.String("profile"), Workers: n,
		Progress: func(p compiler.Progress) { bars.Show(p.Phase, p.Done, p.Total) },
	})
	bars.Close(err)
	if c.Bool("json") {
		return verdict(c, v, err)
	}
	if err != nil {
		return err
	}
	for _, s := range v.Checks {
		fmt.Fprintf(os.Stderr, "proved: %s\n", s)
	}
	for _, s := range v.Notes {
		fmt.Fprintf(os.Stderr, "note: %s\n", s)
	}
	_, err = fmt.Fprintf(stdout, "%s  %s: good\n", hexOf(v.Root), c.Args().First())
	return err
}

// verdict is the JSON document. A failed verification is a result too, so it is printed besides the exit code.
func verdict(c *cli.Command, v *compiler.Verified, err error) error {
	doc := map[string]any{"file": c.Args().First(), "good": err == nil}
	if err != nil {
		doc["error"] = err.Error()
	} else {
		doc["root_digest"], doc["bytes"], doc["tensors"], doc["checks"], doc["notes"] = hexOf(v.Root), v.Bytes, v.Tensors, v.Checks, append([]string{}, v.Notes...)
	}
	if e := jnscli.JSON(stdout, doc); e != nil {
		return e
	}
	return err
}
