package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/runtime/engine"
)

func chatCommand() *cli.Command {
	return &cli.Command{
		Name: "chat", Usage: "talk with a model", ArgsUsage: "MODEL.jns",
		Description: "Reads a line, answers, and so on. /reset forgets the conversation, /quit or Ctrl-D ends it; Ctrl-C ends an answer.",
		Flags: append(append(engineFlags(), sampleFlags()...),
			&cli.StringFlag{Name: "system", Usage: "system message"},
			&cli.IntFlag{Name: "n", Usage: "most tokens of an answer (-1: until the context is full)", Value: -1},
			&cli.StringSliceFlag{Name: "stop", Usage: "end an answer when this text comes"}),
		Action: with(talk),
	}
}

// talk is the conversation loop. With --json each answer is one line {"role","content","finish_reason"}.
func talk(ctx context.Context, c *cli.Command, e *engine.Engine) error {
	if _, err := e.Template(); err != nil {
		return err
	}
	params, err := sampleParams(c)
	if err != nil {
		return err
	}
	var m []engine.Message
	reset := func() {
		m = m[:0]
		if c.IsSet("system") {
			m = append(m, engine.Message{Role: "system", Content: c.String("system")})
		}
	}
	reset()
	s := e.NewSession()
	defer s.Close()
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	ask := jnscli.Terminal(os.Stdin)
	for {
		if ask {
			fmt.Fprint(os.Stderr, "> ")
		}
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		switch line = strings.TrimRight(line, "\r\n"); line {
		case "":
			continue
		case "/quit":
			return nil
		case "/reset":
			reset()
			continue
		}
		m = append(m, engine.Message{Role: "user", Content: line})
		tokens, err := e.ChatTokens(m, engine.ChatOptions{Generate: true})
		if err != nil {
			return err
		}
		r := engine.Request{MaxTokens: c.Int("n"), Sample: params, Stop: c.StringSlice("stop"), Text: func(piece string) error {
			if c.Bool("json") {
				return nil
			}
			_, err := fmt.Fprint(stdout, piece)
			return err
		}}
		if r.Prompt, err = s.Reuse(tokens); err != nil {
			return err
		}
		turn, stop := signal.NotifyContext(ctx, os.Interrupt)
		res, err := s.Generate(turn, r)
		stop()
		if err != nil && (res == nil || !errors.Is(err, context.Canceled)) {
			return err
		}
		m = append(m, engine.Message{Role: "assistant", Content: res.Text})
		if c.Bool("json") {
			if err := jnscli.JSONLine(stdout, map[string]any{"role": "assistant", "content": res.Text, "finish_reason": res.Finish}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintln(stdout)
	}
}
