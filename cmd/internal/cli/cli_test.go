package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v3"
)

func TestExitCodeIsThatOfTheFirstMatchingClass(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	c := Classes{{ExitVerify, []error{a}}, {ExitCorrupt, []error{a, b}}}
	require.Equal(t, ExitOK, c.Code(nil))
	require.Equal(t, ExitVerify, c.Code(fmt.Errorf("x: %w", a)))
	require.Equal(t, ExitCorrupt, c.Code(fmt.Errorf("x: %w", b)))
	require.Equal(t, ExitFailed, c.Code(errors.New("other")))
	require.Equal(t, ExitUsage, c.Code(Usagef("no")))
}

func TestUnknownFlagIsAUsageErrorAndFlagsMayFollowArguments(t *testing.T) {
	got := ""
	cmd := func() *cli.Command {
		return &cli.Command{Name: "x", Flags: []cli.Flag{&cli.StringFlag{Name: "prompt", Aliases: []string{"p"}}},
			Action: func(_ context.Context, c *cli.Command) error {
				got = c.Args().First() + "/" + c.String("prompt")
				return nil
			}}
	}
	require.Equal(t, ExitUsage, Run(cmd(), nil, []string{"x", "--nope"}))
	require.Equal(t, ExitOK, Run(cmd(), nil, []string{"x", "model", "-p", "hello"}))
	require.Equal(t, "model/hello", got)
}

// TestAFileThatIsNotThereIsSaidInWords, with the place where it was looked for.
func TestAFileThatIsNotThereIsSaidInWords(t *testing.T) {
	dir, err := os.Getwd()
	require.NoError(t, err)
	_, err = os.Open("nothing.jns")
	require.Equal(t, "reading: nothing.jns: there is no such file or directory in "+dir+"; check the name", inWords(fmt.Errorf("reading: %w", err)))
	path := filepath.Join(t.TempDir(), "a", "b")
	_, err = os.Stat(path)
	require.Equal(t, path+": there is no such file or directory; check the name", inWords(err))
	require.Equal(t, "x", inWords(errors.New("x")))
}

func TestSizes(t *testing.T) {
	require.Equal(t, "1023 B", Size(1023))
	require.Equal(t, "1.5 KiB", Size(1536))
	require.Equal(t, "2.0 TiB", Size(2<<40))
}

func TestTextOfFilesDoesNotCommandTheTerminal(t *testing.T) {
	require.Equal(t, "a\ufffd[2Jb\ufffdc\n\té\ufffd\ufffd", Printable("a\x1b[2Jb\u009bc\n\té\x7f\r"))
}

func TestFlagsThatNameNothingAreRefused(t *testing.T) {
	t.Setenv("JNS_TEST_KEY", "")
	cmd := func() *cli.Command {
		return &cli.Command{Name: "x", Flags: []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"}}, &cli.StringFlag{Name: "key", Sources: cli.EnvVars("JNS_TEST_KEY")}, &cli.StringFlag{Name: "prompt"}},
			Action: func(context.Context, *cli.Command) error { return nil }}
	}
	for _, args := range [][]string{{"--output", ""}, {"-o", ""}, {"--output="}} {
		require.Equal(t, ExitUsage, Run(cmd(), nil, append([]string{"x"}, args...)), "%q", args)
	}
	require.Equal(t, ExitOK, Run(cmd(), nil, []string{"x", "--prompt", "", "-o", "y"}))
	require.Equal(t, ExitOK, Run(cmd(), nil, []string{"x"}), "a variable that is empty is none")
}

// TestHelpMayStandBehindAnArgument: it is then that one wants to know.
func TestHelpMayStandBehindAnArgument(t *testing.T) {
	cmd := func(out *strings.Builder) *cli.Command {
		return &cli.Command{Name: "x", Writer: out, Action: func(context.Context, *cli.Command) error { return errors.New("ran") },
			Commands: []*cli.Command{{Name: "do", Usage: "does it", Flags: []cli.Flag{&cli.BoolFlag{Name: "fast"}}, Action: func(context.Context, *cli.Command) error { return errors.New("ran") }}}}
	}
	for _, args := range [][]string{{"x", "do", "file", "--help"}, {"x", "do", "file", "-h"}, {"x", "do", "--help"}, {"x", "help", "do"}} {
		var out strings.Builder
		require.Equal(t, ExitOK, Run(cmd(&out), nil, args), "%q", args)
		require.Contains(t, out.String(), "--fast", "%q", args)
	}
	var out strings.Builder
	require.Equal(t, ExitOK, Run(cmd(&out), nil, []string{"x", "file", "--help"}))
	require.Contains(t, out.String(), "does it")
}

// TestHelpThatCannotBeWrittenIsAFailure, as on a full disk.
func TestHelpThatCannotBeWrittenIsAFailure(t *testing.T) {
	for _, args := range [][]string{{"x", "--help"}, {"x", "do", "--help"}, {"x", "do", "file", "--help"}, {"x", "--version"}} {
		c := &cli.Command{Name: "x", Writer: full{}, Action: func(context.Context, *cli.Command) error { return nil },
			Commands: []*cli.Command{{Name: "do", Action: func(context.Context, *cli.Command) error { return nil }}}}
		require.Equal(t, ExitFailed, Run(c, nil, args), "%q", args)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

// TestAValueThatCannotBeReadIsToldPlainly: what the flag takes, not which function of Go refused.
func TestAValueThatCannotBeReadIsToldPlainly(t *testing.T) {
	flags := func() []cli.Flag {
		return []cli.Flag{&cli.Uint64Flag{Name: "seed"}, &cli.IntFlag{Name: "n"}, &cli.Float64Flag{Name: "temp"}, &cli.DurationFlag{Name: "wait"}, &cli.IntSliceFlag{Name: "tokens"},
			&cli.StringFlag{Name: "io", Validator: func(string) error { return Usagef("--io is one of a, b") }}}
	}
	for _, c := range []struct{ flag, value, want string }{
		{"--seed", "-1", `--seed takes a whole number from 0 on, not "-1"`},
		{"--seed", "99999999999999999999", `--seed "99999999999999999999" is too large or too small`},
		{"-n", "x", `-n takes a whole number, not "x"`},
		{"--temp", "warm", `--temp takes a number, not "warm"`},
		{"--wait", "5", `--wait takes a time with its unit, such as 30s or 5m, not "5"`},
		{"--tokens", "1,a", `--tokens takes a whole number, not "1,a"`},
		{"--io", "c", `--io is one of a, b`},
	} {
		var err error
		cmd := &cli.Command{Name: "x", Flags: flags(), Action: func(context.Context, *cli.Command) error { return nil }}
		quiet(cmd)
		err = cmd.Run(context.Background(), []string{"x", c.flag, c.value})
		require.ErrorIs(t, err, ErrUsage, c.flag)
		require.Contains(t, err.Error(), c.want)
		require.NotContains(t, err.Error(), "strconv")
	}
}

func TestATextKeepsItsCommas(t *testing.T) {
	var got []string
	cmd := &cli.Command{Name: "x", Flags: []cli.Flag{&TextsFlag{Name: "stop"}}, Action: func(_ context.Context, c *cli.Command) error { got = c.StringSlice("stop"); return nil }}
	require.Equal(t, ExitOK, Run(cmd, nil, []string{"x", "--stop", "a, b", "--stop", ""}))
	require.Equal(t, []string{"a, b", ""}, got)
}
