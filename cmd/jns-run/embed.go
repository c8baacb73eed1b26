package main

import (
	"bufio"
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/runtime/engine"
)

func embedCommand() *cli.Command {
	return &cli.Command{
		Name: "embed", Usage: "give the embedding of a text", ArgsUsage: "MODEL.jns",
		Description: "One vector, pooled as the model's makers say, of length 1; or one for each token where they do not say.",
		Flags: append(engineFlags(),
			&cli.StringFlag{Name: "prompt", Aliases: []string{"p"}, Usage: "the text"},
			&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "the text's file; - reads standard input"},
			&cli.IntSliceFlag{Name: "tokens", Usage: "token ids instead of text: 1,2,3"},
			&cli.BoolFlag{Name: "raw", Usage: "vectors as they are, not of length 1"}),
		Action: with(embed),
	}
}

func embed(ctx context.Context, c *cli.Command, e *engine.Engine) error {
	var tokens []int32
	var err error
	if c.IsSet("tokens") {
		tokens, err = ids(c.IntSlice("tokens"))
	} else {
		var text string
		if text, err = textOf(c); err == nil {
			tokens, err = e.Tokenize(text, true, true)
		}
	}
	if err != nil {
		return err
	}
	vectors, err := e.Embed(ctx, tokens, !c.Bool("raw"))
	if err != nil {
		return tooLong(err)
	}
	if c.Bool("json") {
		return jnscli.JSONLine(stdout, map[string]any{"tokens": tokens, "width": e.Width(), "embeddings": vectors, "receipt": e.Receipt()})
	}
	w := bufio.NewWriter(stdout)
	for _, v := range vectors {
		for i, x := range v {
			if i > 0 {
				w.WriteByte(' ')
			}
			fmt.Fprint(w, x)
		}
		w.WriteByte('\n')
	}
	return w.Flush()
}
