package cli

import (
	"context"
	"errors"
	"fmt"
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

func TestSizes(t *testing.T) {
	require.Equal(t, "1023 B", Size(1023))
	require.Equal(t, "1.5 KiB", Size(1536))
	require.Equal(t, "2.0 TiB", Size(2<<40))
}

func TestTextOfFilesDoesNotCommandTheTerminal(t *testing.T) {
	require.Equal(t, "a\ufffd[2Jb\ufffdc\n\té\ufffd\ufffd", Printable("a\x1b[2Jb\u009bc\n\té\x7f\r"))
}
