package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/internal/output"
	"jns/cmd/internal/progress"
	"jns/compiler"
	"jns/format"
	"jns/manifests"
)

func reproCommand() *cli.Command {
	return &cli.Command{
		Name: "repro", Usage: "rebuild what a manifest claims and compare every link of the chain", ArgsUsage: "MANIFEST.json",
		Description: "From the source on: every file's length and SHA-256, its header, the compiler, the chain of provenance, every section, the table of contents,\n" +
			"the root digest, every MiB and the whole file. The first link that differs is named; exit code 5.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "source", Usage: "GGUF `FILE`, or the directory that holds it (default: the manifest's)"},
			&cli.StringFlag{Name: "profile", Usage: "the routing trace `FILE` by which the published container's experts lie, if the manifest's options name one"},
			&cli.StringFlag{Name: "container", Usage: "a published container `FILE` to compare too"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "keep the rebuilt container as `FILE`, or in a directory under the published name"},
			&cli.BoolFlag{Name: "force", Usage: "write over a file that is no container"},
			threadsFlag(), jsonFlag(),
		},
		Action: repro,
	}
}

// reproLink is one comparison.
type reproLink struct {
	Link      string `json:"link"`
	Published string `json:"published"`
	Rebuilt   string `json:"rebuilt"`
	Same      bool   `json:"same"`
}

// chainOf collects comparisons in the order in which each depends on the ones before.
type chainOf struct{ links []reproLink }

func (r *chainOf) add(link string, published, rebuilt any) {
	p, q := fmt.Sprint(published), fmt.Sprint(rebuilt)
	r.links = append(r.links, reproLink{link, p, q, p == q})
}

// broken is the first link that differs.
func (r *chainOf) broken() *reproLink {
	for i := range r.links {
		if !r.links[i].Same {
			return &r.links[i]
		}
	}
	return nil
}

func repro(ctx context.Context, c *cli.Command) error {
	if err := jnscli.Args(c, 1, 1, "jnsc repro takes one manifest: jnsc repro MANIFEST.json [--source DIR]"); err != nil {
		return err
	}
	workers, err := threads(c)
	if err != nil {
		return err
	}
	path := c.Args().First()
	f, _, err := format.OpenFile(path)
	if err != nil {
		return err
	}
	text, err := manifests.Read(f)
	f.Close()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	m, err := manifests.Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r := &chainOf{}
	if err := r.rebuild(ctx, c, m, workers); err != nil {
		return err
	}
	return r.report(c, m)
}

// rebuild compares link by link, and stops where going on would mean nothing: a source that is not the published one is not compiled.
func (r *chainOf) rebuild(ctx context.Context, c *cli.Command, m *manifests.Manifest, workers int) error {
	recipe, err := compiler.ParseRecipe(m.Compiler.Options)
	if err != nil {
		recipe = compiler.Recipe{} // the link of the options will say so
	}
	sum, err := recipe.ProfileSum(c.String("profile"))
	if err != nil {
		return err
	}
	source, err := r.source(c, m)
	if err != nil || r.broken() != nil {
		return err
	}
	r.add("compiler name", m.Compiler.Name, "jnsc")
	r.add("compiler revision", m.Compiler.Revision, compiler.OutputRevision)
	if recipe.Profile != "" {
		r.add("profile", recipe.Profile, sum)
	}
	if r.broken() != nil {
		return nil
	}
	out := c.String("output")
	if out == "" {
		dir, remove, err := output.TempDir("jns-repro-")
		if err != nil {
			return err
		}
		defer remove()
		out = filepath.Join(dir, m.Container.File)
	} else {
		if st, err := os.Stat(out); err == nil && st.IsDir() {
			out = filepath.Join(out, m.Container.File)
		}
		if err := errors.Join(noStream(out), mayWrite(out, c.Bool("force"))); err != nil {
			return err
		}
	}
	bars := progress.New()
	rep, err := compiler.Compile(ctx, compiler.Options{
		Source: source, Output: out, Target: m.Target, Profile: c.String("profile"), KeepUnknown: recipe.KeepUnknown, Workers: workers,
		Progress: func(p compiler.Progress) { bars.Show(p.Phase, p.Done, p.Total) },
	})
	bars.Close(err)
	if err != nil {
		return fmt.Errorf("compiling %s: %w", source, err)
	}
	if err := r.container(m, rep.Output, ""); err != nil {
		return err
	}
	p := c.String("container")
	if p == "" || r.broken() != nil {
		return nil
	}
	if err := r.published(ctx, p, rep.Output); err != nil || r.broken() != nil {
		return err
	}
	return r.container(m, p, "published file: ")
}

// published compares a published file with the rebuilt one, which was found to be what the manifest says, and names the place of the first byte that differs.
func (r *chainOf) published(ctx context.Context, path, rebuilt string) error {
	f, have, err := format.OpenFile(path)
	if err != nil {
		return err
	}
	defer f.Close()
	g, k, err := open(rebuilt)
	if err != nil {
		return err
	}
	defer g.Close()
	want := int64(k.Header.Length)
	d, err := firstDifference(ctx, named{path, f}, named{rebuilt, g}, min(have, want))
	if err != nil {
		return err
	}
	if d != nil {
		r.add(fmt.Sprintf("published file: %s, byte %d", region(k, uint64(d.at)), d.at), fmt.Sprintf("%#02x", d.a), fmt.Sprintf("%#02x", d.b))
		return nil
	}
	r.add("published file: bytes", have, want)
	return nil
}

// source finds and compares the source's files and gives the path of the first.
func (r *chainOf) source(c *cli.Command, m *manifests.Manifest) (first string, err error) {
	places := c.StringSlice("source")
	if len(places) == 0 {
		places = []string{filepath.Dir(c.Args().First())}
	}
	for i := range m.Source.Files {
		s := &m.Source.Files[i]
		path := ""
		for _, p := range places {
			st, err := os.Stat(p)
			if err != nil {
				return "", err
			}
			if st.IsDir() {
				p = filepath.Join(p, s.File)
			} else if len(m.Source.Files) > 1 && filepath.Base(p) != s.File {
				continue
			}
			if _, err := os.Stat(p); err == nil {
				path = p
				break
			}
		}
		if path == "" {
			return "", fmt.Errorf("%w: %s; name the file or its directory with --source", errNoSource, s.File)
		}
		if first == "" {
			first = path
		}
		d, err := digestFile(path)
		if err != nil {
			return "", err
		}
		what := "source " + s.File
		r.add(what+": bytes", s.Bytes, d.bytes)
		if len(s.Chunks) > 0 { // the most precise first
			r.chunks(what+": ", s.Chunks, d.chunks)
		}
		r.add(what+": SHA-256", s.SHA256, d.sha256)
	}
	return first, nil
}

// chunks adds one link for a list, or one for the first chunk that differs.
func (r *chainOf) chunks(what string, published, rebuilt []manifests.Digest) {
	for i := range min(len(published), len(rebuilt)) {
		if published[i] != rebuilt[i] {
			r.add(fmt.Sprintf("%schunk %d (from byte %d)", what, i, i<<20), published[i], rebuilt[i])
			return
		}
	}
	r.add(what+"chunks", len(published), len(rebuilt))
}

// container compares a container with what the manifest says of it.
func (r *chainOf) container(m *manifests.Manifest, path, what string) error {
	k, c, f, err := containerFacts(path, m.Container.File)
	if err != nil {
		return err
	}
	defer f.Close()
	want := &m.Container
	for i, s := range m.Source.Files {
		if s.HeaderSHA256 != nil && i < len(c.TOC.Source) {
			r.add(what+"source "+s.File+": header", *s.HeaderSHA256, manifests.Digest(c.TOC.Source[i].HeaderSHA256))
		}
	}
	r.add(what+"target", m.Target, c.Header.Target)
	r.add(what+"options", m.Compiler.Options, c.TOC.Compiler.Options)
	for i := range max(len(want.Chain), len(k.Chain)) {
		a, b := at(want.Chain, i), at(k.Chain, i)
		r.add(what+"link "+either(a.Link, b.Link), fmt.Sprint(a.Link, " ", a.SHA256), fmt.Sprint(b.Link, " ", b.SHA256))
	}
	for i := range max(len(want.Sections), len(k.Sections)) {
		a, b := at(want.Sections, i), at(k.Sections, i)
		r.add(what+"section "+either(a.Section, b.Section), fmt.Sprint(a.Section, " ", a.BLAKE3), fmt.Sprint(b.Section, " ", b.BLAKE3))
	}
	r.add(what+"table of contents", want.TOC, k.TOC)
	r.add(what+"root digest", want.Root, k.Root)
	r.add(what+"bytes", want.Bytes, k.Bytes)
	r.chunks(what, want.Chunks, k.Chunks)
	r.add(what+"SHA-256", want.SHA256, k.SHA256)
	return nil
}

func at[T any](list []T, i int) (v T) {
	if i < len(list) {
		v = list[i]
	}
	return v
}

func either(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func (r *chainOf) report(c *cli.Command, m *manifests.Manifest) error {
	bad := r.broken()
	var err error
	if bad != nil {
		err = fmt.Errorf("%w: %s for %s differs at link %q: published %s, here %s", compiler.ErrVerify, m.Name, m.Target, bad.Link, bad.Published, bad.Rebuilt)
	}
	if c.Bool("json") {
		doc := map[string]any{"name": m.Name, "target": m.Target, "same": bad == nil, "links": r.links}
		if bad != nil {
			doc["differs_at"] = bad.Link
		}
		if e := jnscli.JSON(stdout, doc); e != nil {
			return e
		}
		return err
	}
	w := tabwriter.NewWriter(os.Stderr, 0, 8, 2, ' ', 0)
	for _, l := range r.links {
		mark := "same"
		if !l.Same {
			mark = "DIFFERS"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", mark, jnscli.Printable(l.Link), jnscli.Printable(l.Rebuilt))
	}
	if e := w.Flush(); e != nil {
		return e
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s  %s %s: rebuilt, all %d links are the published ones\n", m.Container.Root, m.Name, m.Target, len(r.links))
	return err
}
