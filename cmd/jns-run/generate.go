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
	"slices"
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
		&cli.IntFlag{Name: "n", Usage: "most tokens to generate (-1: until the context is full)", Value: 256, Validator: lengths},
		&jnscli.TextsFlag{Name: "stop", Usage: "end when this text comes; may be given several times"},
		&cli.BoolFlag{Name: "ignore-eos", Usage: "go on after the model's end-of-text token"},
		sessionFlag(),
		&cli.BoolFlag{Name: "receipt", Usage: "print what really ran to standard error"},
		&cli.BoolFlag{Name: "logits-digest", Usage: "add the SHA-256 of all logits to the document of --json"},
	}
}

// lengths are what -n can be.
func lengths(n int) error {
	if n < -1 {
		return jnscli.Usagef("-n is a number of tokens, or -1")
	}
	return nil
}

// generated is the document that --json prints.
type generated struct {
	PromptTokens []int32        `json:"prompt_tokens"`
	Tokens       []int32        `json:"tokens"`
	Text         string         `json:"text"`
	FinishReason string         `json:"finish_reason"`
	Timings      timings        `json:"timings"`
	LogitsDigest string         `json:"logits_digest,omitempty"`
	Session      *sessionReport `json:"session,omitempty"`
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
		for _, f := range c.Flags {
			if slices.ContainsFunc(f.Names(), given) {
				return jnscli.Usagef("give a model: jns-run MODEL.jns -p TEXT (see jns-run --help)")
			}
		}
		return cli.ShowRootCommandHelp(c)
	}
	if !c.IsSet("prompt") && !c.IsSet("tokens") && !c.IsSet("session") {
		if _, err := os.Stat(c.Args().First()); err != nil {
			return jnscli.Usagef("%q is neither a verb nor a file (see jns-run --help)", c.Args().First())
		}
		return jnscli.Usagef("give a prompt with -p TEXT (or: jns-run chat MODEL.jns)")
	}
	return with(answer)(ctx, c)
}

func answer(ctx context.Context, c *cli.Command, e *engine.Engine) error {
	loaded := time.Now()
	params, err := sampleParams(c)
	if err != nil {
		return err
	}
	s, err := openSession(c, e)
	if err != nil {
		return err
	}
	defer s.Close()
	p, err := preparePrompt(c, e, s)
	if err != nil {
		return err
	}
	if p.goesOn && !c.IsSet("seed") {
		params.Seed = s.seed
	}
	s.seed = params.Seed
	asJSON := c.Bool("json")
	out := bufio.NewWriter(stdout)
	var first time.Time
	r := engine.Request{Prompt: p.left, MaxTokens: c.Int("n"), Sample: params, Stop: c.StringSlice("stop"), IgnoreEOS: c.Bool("ignore-eos"),
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
	err = tooLong(err)
	if res != nil {
		p.answered(s, res.Text)
	}
	report := sessionReport{s.path, len(p.whole) - len(p.left), len(s.Tokens())}
	// Where the session cannot be kept, the answer is given all the same.
	var lost error
	if err == nil || errors.Is(err, context.Canceled) { // what was computed until an interruption is kept too
		lost = s.keep()
	}
	if err != nil && !(errors.Is(err, context.Canceled) && res != nil) {
		return errors.Join(err, lost)
	}
	err = errors.Join(err, lost)
	if !asJSON && e.HasVocab() {
		fmt.Fprintln(out)
		if err2 := out.Flush(); err2 != nil {
			return errors.Join(err, err2)
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
		o := generated{PromptTokens: p.whole, Tokens: res.Tokens, Text: res.Text, FinishReason: res.Finish, Timings: t, Receipt: e.Receipt()}
		if r.Logits != nil {
			o.LogitsDigest = hex.EncodeToString(digest.Sum(nil))
		}
		if s.path != "" && lost == nil {
			o.Session = &report
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

// question is what is to be answered.
type question struct {
	whole, left []int32          // all of it, and what is not in the session yet
	goesOn      bool             // there is no prompt: the last answer goes on
	turn        []engine.Message // what the conversation gains with an answer
}

// preparePrompt makes the token ids of the prompt: from --tokens, from the text as it is, through the chat template after what was said before, or none: the session goes on where
// its last answer ended. The session forgets what the prompt does not begin with.
func preparePrompt(c *cli.Command, e *engine.Engine, s *keptSession) (p question, err error) {
	if !c.IsSet("tokens") && !c.IsSet("prompt") {
		p.goesOn, p.left = true, s.Pending()
		if len(p.left) == 0 {
			return p, jnscli.Usagef("%s holds no answer that could go on; give a prompt with -p TEXT", s.path)
		}
		if ended, err := s.Ended(); err != nil {
			return p, err
		} else if ended && !c.Bool("ignore-eos") {
			return p, jnscli.Usagef("the last answer in %s has come to its end; give a prompt with -p TEXT, or go on past the end with --ignore-eos", s.path)
		}
		p.whole = append(append(p.whole, s.Tokens()...), p.left...)
		return p, nil
	}
	if p.whole, p.turn, err = promptTokens(c, e, s); err != nil {
		return p, err
	}
	if len(p.whole) == 0 {
		return p, nil // Generate says so
	}
	p.left, err = s.Reuse(p.whole)
	return p, err
}

// answered adds an answer to the conversation.
func (p *question) answered(s *keptSession, text string) {
	switch last := len(s.messages) - 1; {
	case p.goesOn && last >= 0 && s.messages[last].Role == "assistant":
		s.messages[last].Content += text
	case p.turn != nil:
		s.add(append(p.turn, engine.Message{Role: "assistant", Content: text})...)
	default:
		s.messages = nil // a text without roles
	}
}

// promptTokens gives the ids, and the turn that they are of a conversation, if any.
func promptTokens(c *cli.Command, e *engine.Engine, s *keptSession) (tokens []int32, turn []engine.Message, err error) {
	if len(s.messages) > 0 && (c.IsSet("tokens") || c.Bool("raw")) { // its messages would be lost
		return nil, nil, jnscli.Usagef("%s holds a conversation, which --raw and --tokens do not go on with; leave them out, or keep this text in another file with --session", s.path)
	}
	if c.IsSet("tokens") {
		if c.IsSet("prompt") {
			return nil, nil, jnscli.Usagef("--tokens and --prompt exclude each other")
		}
		tokens, err = ids(c.IntSlice("tokens"))
		return tokens, nil, err
	}
	text := c.String("prompt")
	if text == "-" {
		if text, err = readText(os.Stdin, "the prompt on standard input"); err != nil {
			return nil, nil, err
		}
	}
	if c.Bool("raw") || (!c.IsSet("system") && !e.HasTemplate()) {
		tokens, err = e.Tokenize(text, true, true)
		return tokens, nil, err
	}
	if text == "" {
		return nil, nil, jnscli.Usagef("the prompt is empty")
	}
	if err := s.begin(c); err != nil {
		return nil, nil, err
	}
	turn = []engine.Message{{Role: "user", Content: text}}
	tokens, err = e.ChatTokens(slices.Concat(s.messages, turn), engine.ChatOptions{Generate: true})
	return tokens, turn, err
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
