package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/internal/progress"
	"jns/compiler"
)

func compileCommand() *cli.Command {
	return &cli.Command{
		Name: "compile", Usage: "compile a GGUF model", ArgsUsage: "MODEL.gguf",
		Description: "Of a split model, name any part. Prints the root digest, which names the container, and its path. The file appears under its\n" +
			"name when it is complete and on disk; whatever happens before leaves nothing there. Equal source, options and version give\n" +
			"equal bytes on every machine.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "target", Usage: "what to lay the weights out for; see jnsc targets"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FILE` to write, or a directory for MODEL.TARGET.jns (default: beside the model)"},
			&cli.StringFlag{Name: "profile", Usage: "a routing trace `FILE` (jns-run --record-routing): experts that it used together lie together in the container"},
			&cli.BoolFlag{Name: "keep-unknown", Usage: "keep tensors that the architecture does not know instead of refusing them"},
			&cli.BoolFlag{Name: "force", Usage: "write over a file that is no container"},
			threadsFlag(), jsonFlag(),
		},
		Action: compile,
	}
}

// compiled is the JSON document. Paths, version and time are here and never in the container.
type compiled struct {
	Output     string   `json:"output"`
	Bytes      uint64   `json:"bytes"`
	RootDigest string   `json:"root_digest"`
	Source     []string `json:"source"`
	Tool       string   `json:"tool"`
	Revision   int      `json:"output_revision"`
	ElapsedMS  float64  `json:"elapsed_ms"`
	*compiler.Explanation
}

func compile(ctx context.Context, c *cli.Command) error {
	if err := jnscli.Args(c, 1, 1, "jnsc compile takes one model: jnsc compile MODEL.gguf [-o FILE]"); err != nil {
		return err
	}
	n, err := threads(c)
	if err != nil {
		return err
	}
	opt := compiler.Options{
		Source: c.Args().First(), Output: c.String("output"), Target: c.String("target"), Profile: c.String("profile"), KeepUnknown: c.Bool("keep-unknown"),
		Workers: n,
	}
	if isContainer(opt.Source) {
		return jnscli.Usagef("%s is a container already; jnsc restore gives its GGUF back", opt.Source)
	}
	if err := noStream(opt.Output); err != nil {
		return err
	}
	out, err := opt.OutputPath()
	if err != nil {
		return err
	}
	if err := mayWrite(out, c.Bool("force")); err != nil {
		return err
	}
	bars := progress.New()
	opt.Progress = func(p compiler.Progress) { bars.Show(p.Phase, p.Done, p.Total) }
	rep, err := compiler.Compile(ctx, opt)
	bars.Close(err)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return jnscli.JSON(stdout, compiled{
			Output: rep.Output, Bytes: rep.Bytes, RootDigest: hexOf(rep.Root), Source: rep.Source, Tool: c.Root().Version,
			Revision: compiler.OutputRevision, ElapsedMS: float64(rep.Elapsed.Microseconds()) / 1000, Explanation: rep.Explanation,
		})
	}
	fmt.Fprintf(os.Stderr, "%s for %s: %s, %s in %.2f s\n", jnscli.Printable(rep.Model.Name), rep.Explanation.Target, tally(rep.Tensors), jnscli.Size(rep.Bytes),
		rep.Elapsed.Round(10*time.Millisecond).Seconds())
	for _, note := range rep.Notes {
		fmt.Fprintf(os.Stderr, "note: %s\n", jnscli.Printable(note))
	}
	_, err = fmt.Fprintf(stdout, "%s  %s\n", hexOf(rep.Root), rep.Output)
	return err
}

// tally says how many tensors became what.
func tally(ts []compiler.TensorLine) string {
	tiled := 0
	for _, t := range ts {
		if t.Tiled {
			tiled++
		}
	}
	return fmt.Sprintf("%d tensors, %d of them tiled", len(ts), tiled)
}

// noStream refuses the name by which many commands mean standard output: what is written must be a file that gets its name when it is whole.
func noStream(output string) error {
	if output == "-" {
		return jnscli.Usagef("-o -: it cannot be written to standard output; name a file")
	}
	return nil
}

// mayWrite protects files that are no containers from a slip of the pen.
func mayWrite(path string, force bool) error {
	if force {
		return nil
	}
	if st, err := os.Stat(path); err != nil || st.Mode().IsRegular() && (st.Size() == 0 || isContainer(path)) {
		return nil
	}
	return jnscli.Usagef("%s exists and is no container; give another name, or --force to write over it", path)
}
