package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/internal/output"
	"jns/runtime/engine"
)

func logitsCommand() *cli.Command {
	return &cli.Command{
		Name: "logits", Usage: "write the logits after each token of a prompt", ArgsUsage: "MODEL.jns",
		Description: "The file holds tokens × vocabulary values, float32, little-endian.",
		Flags: append(engineFlags(),
			&cli.IntSliceFlag{Name: "tokens", Usage: "token ids: 1,2,3"},
			&cli.StringFlag{Name: "prompt", Aliases: []string{"p"}, Usage: "text instead of ids"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "file to write", Required: true},
			&cli.BoolFlag{Name: "last", Usage: "only the last token's logits"}),
		Action: with(logits),
	}
}

func logits(ctx context.Context, c *cli.Command, e *engine.Engine) (err error) {
	var tokens []int32
	switch {
	case c.IsSet("tokens"):
		tokens, err = ids(c.IntSlice("tokens"))
	case c.IsSet("prompt"):
		tokens, err = e.Tokenize(c.String("prompt"), true, true)
	default:
		err = jnscli.Usagef("give --tokens 1,2,3 or -p TEXT")
	}
	if err != nil {
		return err
	}
	if len(tokens) == 0 {
		return jnscli.Usagef("the prompt has no tokens")
	}
	s := e.NewSession()
	defer s.Close()
	var want func(int) bool
	if !c.Bool("last") {
		want = func(int) bool { return true }
	}
	n := 0
	err = output.Write(c.String("output"), 0o666, func(f *os.File) error {
		w := bufio.NewWriterSize(f, 1<<20)
		var b []byte
		err := s.Eval(ctx, tokens, want, func(_ int, l []float32) error {
			if err := ctx.Err(); err != nil {
				return err // a batch of rows takes a while
			}
			b = b[:0]
			for _, v := range l {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
			}
			n++
			_, err := w.Write(b)
			return err
		})
		return errors.Join(tooLong(err), w.Flush())
	})
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return jnscli.JSONLine(stdout, map[string]any{"rows": n, "vocab": e.Vocab(), "file": c.String("output"), "receipt": e.Receipt()})
	}
	fmt.Fprintf(os.Stderr, "%d × %d logits in %s\n", n, e.Vocab(), c.String("output"))
	return nil
}
