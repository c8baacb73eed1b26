package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/format"
)

func diffCommand() *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "say in what two containers differ", ArgsUsage: "A.jns B.jns",
		Description: "From the top down: facts, sections, tensors, slots, program, by what the containers record of themselves. Where all of that is equal, the files\n" +
			"are compared byte by byte, and the first difference is named. Exit code 0: no difference, 1: there are some, 3: a file cannot be read.",
		Flags: []cli.Flag{jsonFlag()}, Action: diff,
	}
}

// errUncompared means that a file could not be read; 1 would mean that it differs.
var errUncompared = errors.New("nothing was compared")

func diff(ctx context.Context, c *cli.Command) error {
	if err := jnscli.Args(c, 2, 2, "jnsc diff takes two containers: jnsc diff A.jns B.jns"); err != nil {
		return err
	}
	a, b := c.Args().Get(0), c.Args().Get(1)
	found, err := differences(ctx, a, b)
	var unread *fs.PathError
	if errors.As(err, &unread) {
		return fmt.Errorf("%w: %w", errUncompared, err)
	}
	if err != nil {
		return err
	}
	if err := printDiff(c.Bool("json"), found); err != nil {
		return err
	}
	switch {
	case len(found) == 0:
		return nil
	case found[0].Level == levelByte:
		return fmt.Errorf("%s and %s record the same and differ in their bytes: at least one is damaged, and jnsc verify says which", a, b)
	}
	return fmt.Errorf("%s and %s differ in %d places", a, b, len(found))
}

// levelByte is the level of the first byte in which containers differ that record the same of themselves.
const levelByte = "byte"

func differences(ctx context.Context, a, b string) ([]format.Difference, error) {
	f, x, err := open(a)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	g, y, err := open(b)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	found := format.Diff(x, y)
	if len(found) > 0 {
		return found, nil
	}
	n, m := x.Header.Length, y.Header.Length
	d, err := firstDifference(ctx, named{a, f}, named{b, g}, int64(min(n, m)))
	switch {
	case err != nil:
		return nil, err
	case d != nil:
		return []format.Difference{{Level: levelByte, Name: fmt.Sprintf("%d, %s", d.at, place(x, uint64(d.at))), Old: fmt.Sprintf("%#02x", d.a), New: fmt.Sprintf("%#02x", d.b)}}, nil
	case n != m:
		return []format.Difference{{Level: "header", Name: "length", Old: fmt.Sprint(n), New: fmt.Sprint(m)}}, nil
	}
	return nil, nil
}

func printDiff(doc bool, found []format.Difference) error {
	if doc {
		type difference struct {
			Level string `json:"level"`
			Name  string `json:"name"`
			Old   string `json:"old,omitempty"`
			New   string `json:"new,omitempty"`
		}
		out := []difference{}
		for _, d := range found {
			out = append(out, difference(d))
		}
		return jnscli.JSON(stdout, map[string]any{"equal": len(found) == 0, "differences": out})
	}
	for _, d := range found {
		if _, err := fmt.Fprintln(stdout, d); err != nil {
			return err
		}
	}
	return nil
}
