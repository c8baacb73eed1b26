// Command jnsc turns a GGUF model into a JNS container, and looks into, checks, compares and undoes containers.
//
// Each verb is a file: it parses flags, makes one call and prints. Results go to standard output, words to standard error. The command must not
// know how models run.
package main

import (
	"context"
	"io"
	"os"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/internal/output"
	"jns/compiler"
	"jns/format"
	"jns/manifests"
)

// classes sort errors into exit codes. The order matters: a file of another kind, or of a later version, was not verified at all; what verification
// found wrong is a failed verification, whatever it found.
var classes = jnscli.Classes{
	{Code: jnscli.ExitCorrupt, Sentinels: []error{format.ErrMagic, format.ErrNotRegular, jnscli.ErrTooLarge, errUncompared, compiler.ErrNotGGUF, compiler.ErrMissingPart, errNoSource, compiler.ErrTrace}},
	{Code: jnscli.ExitUnsupported, Sentinels: []error{format.ErrVersion, compiler.ErrTraceVersion, compiler.ErrNoProfile}},
	{Code: jnscli.ExitVerify, Sentinels: []error{compiler.ErrVerify, compiler.ErrMismatch, manifests.ErrSignature}},
	{Code: jnscli.ExitUsage, Sentinels: []error{compiler.ErrTarget, compiler.ErrMachine, compiler.ErrProfile, compiler.ErrOutput, output.ErrNoDirectory, manifests.ErrKey}},
	{Code: jnscli.ExitCorrupt, Sentinels: []error{compiler.ErrCorrupt, format.ErrCorrupt, manifests.ErrManifest}},
	{Code: jnscli.ExitUnsupported, Sentinels: []error{compiler.ErrUnsupported, format.ErrUnsupported}},
}

// stdout takes results.
var stdout io.Writer = os.Stdout

func main() { jnscli.Main(root(), classes) }

func root() *cli.Command {
	return &cli.Command{
		Name:                  "jnsc",
		Usage:                 "compile GGUF models into JNS containers",
		EnableShellCompletion: true,
		Description: "Exit codes: 0 done, 1 failed, 2 usage, 3 the input is corrupt, 4 the input is fine but needs something that this version\n" +
			"does not have, 5 verification failed, 130 interrupted.",
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Present() {
				return jnscli.Usagef("there is no verb %q (see jnsc --help)", c.Args().First())
			}
			return cli.ShowRootCommandHelp(c)
		},
		Commands: []*cli.Command{
			compileCommand(), inspectCommand(), explainCommand(), verifyCommand(), restoreCommand(), dumpCommand(), diffCommand(), targetsCommand(),
			keygenCommand(), publishCommand(), reproCommand(),
		},
	}
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print one JSON document"}
}

func threadsFlag() cli.Flag {
	return &cli.IntFlag{Name: "threads", Aliases: []string{"t"}, Usage: "threads (0: as many as the process may use); the result does not depend on it"}
}

// threads reads the flag.
func threads(c *cli.Command) (int, error) {
	n := c.Int("threads")
	if n < 0 || n > 4096 {
		return 0, jnscli.Usagef("--threads %d: give a number from 0 to 4096", n)
	}
	return n, nil
}
