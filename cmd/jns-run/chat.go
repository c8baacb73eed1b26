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
	"syscall"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/runtime/engine"
)

func chatCommand() *cli.Command {
	return &cli.Command{
		Name: "chat", Usage: "talk with a model", ArgsUsage: "MODEL.jns",
		Description: "Reads a line, answers, and so on. /reset forgets the conversation, /quit or Ctrl-D ends it, a line that begins with // is sent with one slash; Ctrl-C ends an answer, or the conversation while it waits for a line.",
		Flags: append(append(engineFlags(), sampleFlags()...),
			&cli.StringFlag{Name: "system", Usage: "system message"},
			&cli.IntFlag{Name: "n", Usage: "most tokens of an answer (-1: until the context is full)", Value: -1, Validator: lengths},
			&jnscli.TextsFlag{Name: "stop", Usage: "end an answer when this text comes"},
			sessionFlag()),
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
	s, err := openSession(c, e)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.begin(c); err != nil {
		return err
	}
	s.seed = params.Seed
	// Whatever ended it, be it a full context: what was said before is kept.
	return errors.Join(converse(ctx, c, e, s, params), s.keep())
}

// converse reads and answers until the conversation ends.
func converse(ctx context.Context, c *cli.Command, e *engine.Engine, s *keptSession, params engine.SampleParams) error {
	in := read(os.Stdin)
	ask := jnscli.Terminal(os.Stdin)
	// Ctrl-C cancels ctx, which ends other commands. Here it ends only what is being done; SIGTERM ends the conversation too.
	term, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM)
	defer stop()
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt)
	defer signal.Stop(interrupt)
	for {
		if ask {
			fmt.Fprint(os.Stderr, "> ")
		}
		line, err := in.next(term, interrupt)
		if errors.Is(err, context.Canceled) {
			<-ctx.Done() // the same signal cancels it
			return ctx.Err()
		}
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
			s.forget()
			if err := s.begin(c); err != nil {
				return err
			}
			continue
		}
		if strings.HasPrefix(line, "/") && !strings.HasPrefix(line, "//") {
			fmt.Fprintf(os.Stderr, "jns-run: %s is no command; there are /reset and /quit, and // begins a line with a slash\n", jnscli.Printable(strings.Fields(line)[0]))
			continue
		}
		if strings.HasPrefix(line, "//") {
			line = line[1:]
		}
		user := engine.Message{Role: "user", Content: line}
		tokens, err := e.ChatTokens(append(s.messages, user), engine.ChatOptions{Generate: true})
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
		turn, stop := until(term, interrupt)
		res, err := s.Generate(turn, r)
		stop()
		if res != nil { // else no token was chosen
			s.add(user, engine.Message{Role: "assistant", Content: res.Text})
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		if term.Err() != nil {
			<-ctx.Done()
			return ctx.Err()
		}
		if res == nil { // interrupted before the first token
			fmt.Fprintln(os.Stderr)
			continue
		}
		if c.Bool("json") {
			answer := map[string]any{"role": "assistant", "content": res.Text, "finish_reason": res.Finish}
			if s.path != "" {
				answer["tokens_reused"] = len(tokens) - len(r.Prompt)
			}
			if err := jnscli.JSONLine(stdout, answer); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintln(stdout); err != nil {
			return err
		}
	}
}

// lines reads a file line by line, so that waiting for a line can be interrupted.
type lines chan line

type line struct {
	text string
	err  error
}

func read(f io.Reader) lines {
	l := make(lines)
	go func() {
		in := bufio.NewReaderSize(f, 1<<16)
		for {
			text, err := in.ReadString('\n')
			l <- line{text, err} // waits until it is asked for; ends with the process
			if err != nil {
				close(l)
				return
			}
		}
	}()
	return l
}

// until gives a context that a signal cancels.
func until(ctx context.Context, interrupt <-chan os.Signal) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		select {
		case <-interrupt:
			stop()
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// next gives the next line, or context.Canceled if a signal or the end of the context came first.
func (l lines) next(ctx context.Context, interrupt <-chan os.Signal) (string, error) {
	select {
	case <-interrupt:
		return "", context.Canceled
	case v, ok := <-l:
		if !ok {
			return "", io.EOF
		}
		return v.text, v.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
