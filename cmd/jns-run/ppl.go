package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/runtime/engine"
)

func pplCommand() *cli.Command {
	return &cli.Command{
		Name: "ppl", Usage: "perplexity of a text, and divergence from another run's logits", ArgsUsage: "MODEL.jns",
		Description: "The text is cut in pieces of the context length; in each, every token but the first is predicted from those before it.\n" +
			"--against FILE (as jns-run logits writes it, for the same text in one piece) adds the mean Kullback-Leibler divergence from that run to this one, in nats.",
		Flags: append(engineFlags(),
			&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "the text; - reads standard input"},
			&cli.StringFlag{Name: "prompt", Aliases: []string{"p"}, Usage: "the text itself"},
			&cli.StringFlag{Name: "against", Usage: "logits of another run"}),
		Action: with(ppl),
	}
}

func ppl(ctx context.Context, c *cli.Command, e *engine.Engine) error {
	text, err := textOf(c)
	if err != nil {
		return err
	}
	tokens, err := e.Tokenize(text, true, false)
	if err != nil {
		return err
	}
	if len(tokens) < 2 {
		return jnscli.Usagef("the text has %d tokens, at least 2 are needed", len(tokens))
	}
	room := e.Options().Context
	var other io.ReaderAt
	if name := c.String("against"); name != "" {
		if len(tokens) > room {
			return jnscli.Usagef("--against needs the text in one piece: %d tokens, the context holds %d (raise it with --ctx)", len(tokens), room)
		}
		f, st, err := engine.OpenRegular(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if want := int64(len(tokens)) * int64(e.Vocab()) * 4; st.Size() != want {
			return jnscli.Usagef("%s has %d bytes; logits of these %d tokens and %d words would have %d", name, st.Size(), len(tokens), e.Vocab(), want)
		}
		other = f
	}
	var nll, kl float64
	n, m := 0, 0
	row := make([]byte, 4*e.Vocab())
	ref := make([]float32, e.Vocab())
	for from := 0; from < len(tokens)-1; from += room {
		part := tokens[from:min(from+room, len(tokens))]
		s := e.NewSession()
		err := s.Eval(ctx, part, func(i int) bool { return i < len(part)-1 || other != nil }, func(i int, l []float32) error {
			if err := ctx.Err(); err != nil {
				return err // a batch of rows takes a while
			}
			if i < len(part)-1 {
				nll += engine.LogSumExp(l) - float64(l[part[i+1]])
				n++
			}
			if other == nil {
				return nil
			}
			if _, err := other.ReadAt(row, int64(i)*int64(len(row))); err != nil {
				return err
			}
			for j := range ref {
				ref[j] = math.Float32frombits(binary.LittleEndian.Uint32(row[4*j:]))
			}
			kl += engine.Divergence(ref, l)
			m++
			return nil
		})
		s.Close()
		if err != nil {
			return err
		}
	}
	doc := map[string]any{"tokens": len(tokens), "predicted": n, "nll": nll / float64(n), "ppl": engine.Exp(nll / float64(n))}
	if m > 0 {
		doc["kl"] = kl / float64(m)
	}
	if c.Bool("json") {
		return jnscli.JSONLine(stdout, doc)
	}
	text = fmt.Sprintf("perplexity %.4f over %d tokens (%.6f nats each)\n", doc["ppl"], n, doc["nll"])
	if m > 0 {
		text += fmt.Sprintf("divergence %.8f nats from %s\n", doc["kl"], c.String("against"))
	}
	_, err = fmt.Fprint(stdout, text)
	return err
}

// textOf is the text that --file or --prompt gives.
func textOf(c *cli.Command) (string, error) {
	switch name := c.String("file"); {
	case c.IsSet("prompt") && name != "":
		return "", jnscli.Usagef("give the text with -f FILE or -p TEXT, not both")
	case c.IsSet("prompt"):
		return c.String("prompt"), nil
	case name == "":
		return "", jnscli.Usagef("give a text with -f FILE or -p TEXT")
	case name == "-":
		return readText(os.Stdin, "standard input")
	default:
		f, err := openInput(name)
		if err != nil {
			return "", err
		}
		defer f.Close()
		return readText(f, name)
	}
}

// readText reads a text of at most maxPrompt bytes; one that is longer is refused, not cut.
func readText(r io.Reader, name string) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxPrompt+1))
	if err == nil && len(b) > maxPrompt {
		err = jnscli.Usagef("%s is longer than %s", name, jnscli.Size(maxPrompt))
	}
	return string(b), err
}
