// Command jns-get puts a verified container on disk: by a name out of its published manifests, by a manifest, or by an address and a digest.
//
// Each verb is a file: it parses flags, finds the manifest, makes one call and prints. Results go to standard output, words to standard error. The command must not know
// how a container is run.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/internal/progress"
	"jns/cmd/jns-get/internal/fetch"
	"jns/compiler"
	"jns/format"
	"jns/manifests"
)

// errDiffers means that what was compiled here is not what was published.
var errDiffers = errors.New("differs from what was published")

// classes sort errors into exit codes. A wrong digest and a refused signature are failed verifications, whatever else they are.
var classes = jnscli.Classes{
	{Code: jnscli.ExitVerify, Sentinels: []error{manifests.ErrSignature, fetch.ErrDigest, errDiffers}},
	{Code: jnscli.ExitUsage, Sentinels: []error{manifests.ErrUnknown, compiler.ErrTarget, compiler.ErrProfile, compiler.ErrOutput, fetch.ErrNoDirectory}},
	{Code: jnscli.ExitCorrupt, Sentinels: []error{manifests.ErrManifest, format.ErrMagic, format.ErrNotRegular, jnscli.ErrTooLarge, format.ErrCorrupt, compiler.ErrNotGGUF, compiler.ErrCorrupt, compiler.ErrMissingPart, compiler.ErrTrace}},
	{Code: jnscli.ExitUnsupported, Sentinels: []error{format.ErrVersion, format.ErrUnsupported, compiler.ErrUnsupported, compiler.ErrTraceVersion, compiler.ErrNoProfile}},
}

// stdout takes results.
var stdout io.Writer = os.Stdout

func main() { jnscli.Main(root(), classes) }

func root() *cli.Command {
	return &cli.Command{
		Name:                  "jns-get",
		Usage:                 "fetch published models, verified",
		ArgsUsage:             "NAME | ADDRESS --sha256 HEX | --manifest FILE|ADDRESS",
		EnableShellCompletion: true,
		Description: "Prints the path of the file. It appears under its name only when it was proved; what an interrupted call fetched is used by the\n" +
			"next one. Addresses: https://…, http:// of this machine, file:PATH, hf:ORG/REPO/FILE@REVISION (the hub is HF_ENDPOINT, the token\n" +
			"HF_TOKEN), oci:HOST/REPOSITORY:TAG, with #FILE for one of several (JNS_OCI_USERNAME, JNS_OCI_PASSWORD).\n\n" +
			"Exit codes: 0 done, 1 failed, 2 usage, 3 the input is corrupt, 4 the input is fine but unsupported, 5 verification failed,\n" +
			"130 interrupted.",
		Flags:  append(append(manifestFlags(), sourceFlags()...), bareFlags()...),
		Action: getAction,
		Commands: []*cli.Command{
			listCommand(), infoCommand(), verifyCommand(), repairCommand(), compileCommand(), pushCommand(),
		},
	}
}

func jsonFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "print one JSON document"} }

// manifestFlags say which manifest, and who must have signed it.
func manifestFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "manifest", Usage: "a manifest that is not embedded: `FILE` or address"},
		&cli.StringFlag{Name: "target", Usage: "which target's container (default: the best published one for this machine)"},
		&cli.BoolFlag{Name: "require-signature", Usage: "refuse a manifest that no trusted key has signed"},
		&cli.StringFlag{Name: "trusted-keys", Usage: "`FILE` of public keys, one a line (default: trusted-keys in the configuration directory)"},
		jsonFlag(),
	}
}

// sourceFlags say where from and where to.
func sourceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FILE` to write, or a directory that exists"},
		&cli.StringSliceFlag{Name: "mirror", Usage: "another `ADDRESS` of the file; one that ends in / is a directory"},
		&cli.BoolFlag{Name: "offline", Usage: "ask nobody: use only what lies on this machine"},
		&cli.BoolFlag{Name: "force", Usage: "replace a file of the same name that is another one"},
		&cli.IntFlag{Name: "connections", Usage: "connections in all", Value: 8},
		&cli.IntFlag{Name: "retries", Usage: "failures of a source in a row before it is given up", Value: 8},
		&cli.DurationFlag{Name: "stall", Usage: "a source that sends nothing for so long has failed", Value: 30 * time.Second},
		&cli.DurationFlag{Name: "backoff", Usage: "wait after the first failure, doubled after each", Value: 500 * time.Millisecond},
	}
}

// bareFlags prove a file that has no manifest.
func bareFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "sha256", Usage: "SHA-256 of the whole file, 64 `HEX` digits"},
		&cli.StringFlag{Name: "root", Usage: "root digest of the container, 64 `HEX` digits"},
	}
}

// fetchOptions reads the flags. The returned function ends the progress bars; call it before printing.
func fetchOptions(c *cli.Command, local bool) (fetch.Options, func(error), error) {
	o := fetch.Options{
		Connections: c.Int("connections"), Retries: c.Int("retries"), Stall: c.Duration("stall"), Backoff: c.Duration("backoff"),
		Offline: c.Bool("offline"), LocalFiles: local, Getenv: os.Getenv,
	}
	if o.Connections < 0 || o.Connections > 64 || o.Retries < 0 || o.Retries > 1000 || o.Stall < 0 || o.Backoff < 0 {
		return o, nil, jnscli.Usagef("--connections takes 1 to 64, --retries 1 to 1000, --stall and --backoff no negative time")
	}
	bars := progress.New()
	var mu sync.Mutex
	o.Progress = func(done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		bars.Show("fetch", uint64(done), uint64(total))
	}
	if bars == nil { // words would tear the bars; without bars they are all there is
		o.Note = func(s string) { fmt.Fprintf(os.Stderr, "jns-get: %s\n", jnscli.Printable(s)) }
	}
	return o, bars.Close, nil
}

// digestFlag reads a flag of 64 hexadecimal digits.
func digestFlag(c *cli.Command, name string) (*[32]byte, error) {
	s := c.String(name)
	if s == "" {
		return nil, nil
	}
	d, err := manifests.ParseDigest(strings.ToLower(s))
	if err != nil {
		return nil, jnscli.Usagef("--%s takes a digest of 64 hexadecimal digits, this is none: %q", name, jnscli.Printable(s))
	}
	return (*[32]byte)(&d), nil
}

func noVerb(_ context.Context, c *cli.Command) error { return cli.ShowRootCommandHelp(c) }
