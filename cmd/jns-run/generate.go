package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/runtime/engine"
)

func generateFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "prompt", Aliases: []string{"p"}, Usage: "the prompt; - reads standard input"},
		&cli.StringFlag{Name: "system", Usage: "system message, with the chat template"},
		&cli.IntSliceFlag{Name: "tokens", Usage: "the prompt as token ids, for models without a vocabulary"},
		&cli.BoolFlag{Name: "raw", Usage: "continue the prompt as it is, without the chat template"},
		&cli.IntFlag{Name: "n", Usage: "most tokens to generate (-1: until the context is full)", Value: 256},
		&cli.StringSliceFlag{Name: "stop", Usage: "end when this text comes; may be given several times"},
		&cli.BoolFlag{Name: "ignore-eos", Usage: "go on after the model's end-of-text token"},
		&cli.BoolFlag{Name: "receipt", Usage: "print what really ran to standard error"},
		&cli.BoolFlag{Name: "logits-digest", Usage: "add the SHA-256 of all logits to the document of --json"},
	}
}

// output is the document that --json prints.
type output struct {
	PromptTokens []int32        `json:"prompt_tokens"`
	Tokens       []int32        `json:"tokens"`
	Text         string         `json:"text"`
	FinishReason string         `json:"finish_reason"`
	Timings      timings        `json:"timings"`
	LogitsDigest string         `json:"logits_digest,omitempty"`
	Receipt      engine.Receipt `json:"receipt"`
}

type timings struct {
	LoadMS     float64 `json:"load_ms"`
	PrefillTPS float64 `json:"prefill_tps"`
	DecodeTPS  float64 `json:"decode_tps"`
	TTFTMS     float64 `json:"ttft_ms"` // from the start of the process to the first token
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// started is as near to the start of the process as this program can see.
var started = time.Now()

func generate(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() == 0 {
		return cli.ShowRootCommandHelp(c)
	}
	if !c.IsSet("prompt") && !c.IsSet("tokens") {
		if _, err := os.Stat(c.Args().First()); err != nil {
			return jnscli.Usagef("%q is neither a verb nor a file (see jns-run --help)", c.Args().First())
		}
		return jnscli.Usagef("give a prompt with -p TEXT (or: jns-run chat MODEL.jns)")
	}
	return with(answer)(ctx, c)
}

func answer(ctx context.Context, c *cli.Command, e *engine.Engine) error {
	loaded := time.Now()
	prompt, err := promptTokens(c, e)
	if err != nil {
		return err
	}
	params, err := sampleParams(c)
	if err != nil {
		return err
	}
	s := e.NewSession()
	defer s.Close()
	asJSON := c.Bool("json")
	out := bufio.NewWriter(stdout)
	var first time.Time
	r := engine.Request{Prompt: prompt, MaxTokens: c.Int("n"), Sample: params, Stop: c.StringSlice("stop"), IgnoreEOS: c.Bool("ignore-eos"),
		Token: func(id int32) error {
			if first.IsZero() {
				first = time.Now()
			}
			if !asJSON && !e.HasVocab() {
				fmt.Fprintf(out, "%d\n", id)
				return out.Flush()
			}
			return nil
		},
		Text: func(piece string) error {
			if asJSON {
				return nil
			}
			out.WriteString(piece)
			return out.Flush()
		}}
	digest := sha256.New()
	if c.Bool("logits-digest") {
		r.Logits = func(l []float32) { binary.Write(digest, binary.LittleEndian, l) }
	}
	res, err := s.Generate(ctx, r)
	if err != nil && !(errors.Is(err, context.Canceled) && res != nil) {
		return err
	}
	if !asJSON && e.HasVocab() {
		fmt.Fprintln(out)
		if err := out.Flush(); err != nil {
			return err
		}
	}
	t := timings{LoadMS: ms(loaded.Sub(started)), PrefillTPS: res.Timings.PrefillTPS, DecodeTPS: res.Timings.DecodeTPS}
	if !first.IsZero() {
		t.TTFTMS = ms(first.Sub(started))
	}
	if asJSON {
		if res.Tokens == nil {
			res.Tokens = []int32{}
		}
		o := output{PromptTokens: res.PromptTokens, Tokens: res.Tokens, Text: res.Text, FinishReason: res.Finish, Timings: t, Receipt: e.Receipt()}
		if r.Logits != nil {
			o.LogitsDigest = hex.EncodeToString(digest.Sum(nil))
		}
		return errors.Join(err, jnscli.JSONLine(stdout, o))
	}
	if c.Bool("receipt") {
		if err := jnscli.JSON(os.Stderr, e.Receipt()); err != nil {
			return err
		}
	}
	return err
}

// promptTokens makes the token ids of the prompt: from --tokens, from the text as it is, or through the chat template.
func promptTokens(c *cli.Command, e *engine.Engine) ([]int32, error) {
	if c.IsSet("tokens") {
		if c.IsSet("prompt") {
			return nil, jnscli.Usagef("--tokens and --prompt exclude each other")
		}
		return ids(c.IntSlice("tokens"))
	}
	text := c.String("prompt")
	if text == "-" {
		var err error
		if text, err = readText(os.Stdin, "the prompt on standard input"); err != nil {
			return nil, err
		}
	}
	if c.Bool("raw") || (!c.IsSet("system") && !e.HasTemplate()) {
		return e.Tokenize(text, true, true)
	}
	var m []engine.Message
	if c.IsSet("system") {
		m = append(m, engine.Message{Role: "system", Content: c.String("system")})
	}
	return e.ChatTokens(append(m, engine.Message{Role: "user", Content: text}), engine.ChatOptions{Generate: true})
}

// maxPrompt bounds a text that is read from a file.
const maxPrompt = 64 << 20

func ids(list []int) ([]int32, error) {
	out := make([]int32, len(list))
	for i, v := range list {
		if v < 0 || v > 1<<31-1 {
			return nil, jnscli.Usagef("token id %d", v)
		}
		out[i] = int32(v)
	}
	return out, nil
}
