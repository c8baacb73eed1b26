package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/internal/progress"
	"jns/compiler"
)

func restoreCommand() *cli.Command {
	return &cli.Command{
		Name: "restore", Usage: "give the GGUF back that a container was made from", ArgsUsage: "MODEL.jns",
		Description: "Byte for byte: a file appears only after its SHA-256 was found to be that of the source. Its name is that of the container,\n" +
			"with part numbers for a split model; a file that is there already stays. Prints SHA-256 and path of each file.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`DIR` to write into, or the file for a model of one file (default: the container's directory)"},
			&cli.BoolFlag{Name: "force", Usage: "write over files of those names"},
			threadsFlag(), jsonFlag(),
		},
		Action: restore,
	}
}

func restore(ctx context.Context, c *cli.Command) error {
	if err := jnscli.Args(c, 1, 1, "jnsc restore takes one container: jnsc restore MODEL.jns [-o DIR]"); err != nil {
		return err
	}
	n, err := threads(c)
	if err != nil {
		return err
	}
	if err := noStream(c.String("output")); err != nil {
		return err
	}
	opt := compiler.RestoreOptions{Container: c.Args().First(), Output: c.String("output"), Overwrite: c.Bool("force"), Workers: n}
	bars := progress.New()
	opt.Progress = func(p compiler.Progress) { bars.Show(p.Phase, p.Done, p.Total) }
	done, err := compiler.Restore(ctx, opt)
	bars.Close(err)
	if errors.Is(err, compiler.ErrExists) {
		return jnscli.Usagef("%v; give another place with -o, or --force to write over it", err)
	}
	if err != nil {
		return err
	}
	type file struct {
		Path   string `json:"path"`
		Bytes  uint64 `json:"bytes"`
		SHA256 string `json:"sha256"`
	}
	var files []file
	for _, d := range done {
		files = append(files, file{d.Path, d.Bytes, hexOf(d.SHA256)})
	}
	if c.Bool("json") {
		return jnscli.JSON(stdout, map[string]any{"files": files})
	}
	for _, f := range files {
		if _, err := fmt.Fprintf(stdout, "%s  %s\n", f.SHA256, f.Path); err != nil {
			return err
		}
	}
	return nil
}
