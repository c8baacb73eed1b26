package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/runtime/engine"
)

func tokenizeCommand() *cli.Command {
	return &cli.Command{
		Name: "tokenize", Usage: "show the token ids of a text", ArgsUsage: "MODEL.jns",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "prompt", Aliases: []string{"p"}, Usage: "the text"},
			&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "the text's file; - reads standard input"},
			&cli.BoolFlag{Name: "no-special", Usage: "without the tokens that the model puts around a text, and special tokens' texts as plain text"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
		},
		Action: withTokenizer(tokenize),
	}
}

// withTokenizer is with for a verb that computes nothing.
func withTokenizer(f func(ctx context.Context, c *cli.Command, e *engine.Engine) error) cli.ActionFunc {
	return func(ctx context.Context, c *cli.Command) (err error) {
		if err := jnscli.Args(c, 1, 1, "name a container: "+c.FullName()+" MODEL.jns"); err != nil {
			return err
		}
		e, err := engine.Open(c.Args().First(), engine.Options{TokenizerOnly: true})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, e.Close()) }()
		return f(ctx, c, e)
	}
}

func tokenize(_ context.Context, c *cli.Command, e *engine.Engine) error {
	special := !c.Bool("no-special")
	text, err := textOf(c)
	if err != nil {
		return err
	}
	tokens, err := e.Tokenize(text, special, special)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		if tokens == nil {
			tokens = []int32{}
		}
		return jnscli.JSONLine(stdout, map[string]any{"tokens": tokens})
	}
	w := bufio.NewWriter(stdout)
	for _, t := range tokens {
		text, err := e.Detokenize([]int32{t})
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%d\t%q\n", t, text)
	}
	return w.Flush()
}
