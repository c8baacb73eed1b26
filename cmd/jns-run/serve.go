package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/runtime/engine"
	"jns/runtime/server"
)

func serveCommand() *cli.Command {
	return &cli.Command{
		Name: "serve", Usage: "answer HTTP requests in the manner of OpenAI's API", ArgsUsage: "MODEL.jns",
		Description: "Endpoints: /v1/chat/completions, /v1/completions, /v1/models, /tokenize, /detokenize, /health, /metrics, /receipt.\n" +
			"Flags about sampling say what holds where a request says nothing. Ctrl-C or SIGTERM lets running answers finish; a second one ends at once.\n" +
			"With --json the address is printed as one JSON line, and the log is JSON too.",
		Flags: append(append(engineFlags(), sampleFlags()...),
			&cli.StringFlag{Name: "host", Usage: "address to listen on", Value: "127.0.0.1"},
			&cli.IntFlag{Name: "port", Usage: "port to listen on; 0: any free one", Value: 8080},
			&cli.StringFlag{Name: "alias", Usage: "the model's id for clients (default: the file's name)"},
			&cli.StringFlag{Name: "api-key", Usage: "require this key as a bearer token", Sources: cli.EnvVars("JNS_API_KEY")},
			&cli.IntFlag{Name: "parallel", Usage: "requests answered at once, by turns", Value: 4},
			&cli.IntFlag{Name: "queue", Usage: "requests that may wait; more are refused with 429", Value: 64},
			&cli.DurationFlag{Name: "queue-timeout", Usage: "longest wait in the queue, then 503", Value: 60e9},
			&cli.DurationFlag{Name: "timeout", Usage: "longest time for one answer; 0: none"},
			&cli.DurationFlag{Name: "stall-timeout", Usage: "longest time for a client to send its request or take a piece of the answer", Value: 30e9},
			&cli.DurationFlag{Name: "grace", Usage: "how long a shutdown waits for running answers", Value: 30e9},
			&cli.IntFlag{Name: "max-body", Usage: "most bytes of a request", Value: 8 << 20},
			&cli.BoolFlag{Name: "quiet", Usage: "log failures of the server only"}),
		Action: with(serve),
	}
}

func serve(ctx context.Context, c *cli.Command, e *engine.Engine) error {
	if given("api-key") && c.String("api-key") == "" { // by a variable of a shell that is not set, say: nobody would be kept out
		return jnscli.Usagef("--api-key is empty; leave it out to serve without one")
	}
	if p := c.Int("port"); p < 0 || p > 65535 {
		return jnscli.Usagef("--port %d: 0 to 65535 can be used", p)
	}
	for _, name := range []string{"parallel", "max-body"} { // 0 in the server's options is the default
		if n := c.Int(name); n < 1 {
			return jnscli.Usagef("--%s %d: must be at least 1", name, n)
		}
	}
	for _, name := range []string{"queue-timeout", "stall-timeout", "grace"} {
		if d := c.Duration(name); d <= 0 {
			return jnscli.Usagef("--%s %v: must be more than nothing; 1ms hardly waits", name, d)
		}
	}
	params, err := sampleParams(c)
	if err != nil {
		return err
	}
	if !c.IsSet("repeat-last-n") {
		params.PenaltyWindow = -1 // penalties see the whole answer, as in OpenAI's API
	}
	queue := c.Int("queue")
	o := server.Options{Model: c.String("alias"), Sampling: &params, Seeded: c.IsSet("seed"), APIKey: c.String("api-key"), Parallel: c.Int("parallel"), Queue: &queue,
		Patience: c.Duration("queue-timeout"), Timeout: c.Duration("timeout"), Stall: c.Duration("stall-timeout"), Grace: c.Duration("grace"),
		MaxBody: int64(c.Int("max-body")), Log: logger(c)}
	if o.Model == "" {
		o.Model = strings.TrimSuffix(filepath.Base(c.Args().First()), ".jns")
	}
	if _, err := e.Template(); errors.Is(err, engine.ErrNoTemplate) {
		o.Log.Warn("the model has no chat template: /v1/chat/completions will refuse", "model", o.Model)
	} else if err != nil {
		o.Log.Warn("/v1/chat/completions will refuse", "model", o.Model, "error", err)
	}
	s, err := server.New(e, o)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(c.String("host"), strconv.Itoa(c.Int("port"))))
	if err != nil {
		s.Close()
		return fmt.Errorf("%w (choose another with --host and --port)", err)
	}
	if c.Bool("json") {
		if err := jnscli.JSONLine(stdout, map[string]any{"url": "http://" + l.Addr().String(), "model": o.Model}); err != nil {
			return errors.Join(err, l.Close())
		}
	} else {
		fmt.Fprintf(os.Stderr, "jns-run: serving %s on http://%s\n", o.Model, l.Addr())
	}
	return s.Serve(ctx, l)
}

// logger writes to standard error: words for people, JSON with --json.
func logger(c *cli.Command) *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if c.Bool("quiet") {
		o.Level = slog.LevelError
	}
	if c.Bool("json") {
		return slog.New(slog.NewJSONHandler(os.Stderr, o))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, o))
}
