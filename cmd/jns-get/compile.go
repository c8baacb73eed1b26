package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/internal/progress"
	"jns/cmd/jns-get/internal/fetch"
	"jns/compiler"
	"jns/format"
	"jns/manifests"
)

func compileCommand() *cli.Command {
	return &cli.Command{
		Name: "compile", Usage: "fetch a model's GGUF and compile it here", ArgsUsage: "NAME",
		Description: "For machines for which no container is published, or where none can be fetched. The source is compared with the manifest, and so is the\n" +
			"container if one was published for the same target by the same revision of the compiler.",
		Flags: append(append(manifestFlags(), sourceFlags()...),
			&cli.StringFlag{Name: "source", Usage: "a GGUF `FILE` that is here already (any part of a split model)"},
			&cli.StringFlag{Name: "profile", Usage: "the routing trace `FILE` by which the published container's experts lie, if the manifest's options name one"}),
		Action: compile,
	}
}

func compile(ctx context.Context, c *cli.Command) error {
	if err := jnscli.Args(c, 0, 1, "jns-get compile takes one name, or --manifest FILE|ADDRESS"); err != nil {
		return err
	}
	if c.Args().Len() == 0 && c.String("manifest") == "" {
		return jnscli.Usagef("jns-get compile takes one name, or --manifest FILE|ADDRESS")
	}
	f, err := compilable(ctx, c)
	if err != nil {
		return err
	}
	target := c.String("target")
	if target == "" {
		target = f.Target
	}
	if target == "native" {
		target = compiler.Native()[0]
	}
	recipe, err := f.recipe(c, target)
	if err != nil {
		return err
	}
	out := c.String("output")
	dir := "."
	if st, err := os.Stat(out); out != "" && err == nil && st.IsDir() {
		dir, out = out, ""
	}
	source, err := f.fetchSource(ctx, c, dir)
	if err != nil {
		return err
	}
	if out == "" { // here, not beside the source
		out = filepath.Join(dir, f.Name+"."+target+".jns")
		if target == f.Target {
			out = filepath.Join(dir, f.Container.File)
		}
	}
	bars := progress.New()
	rep, err := compiler.Compile(ctx, compiler.Options{
		Source: source, Output: out, Target: target, Profile: c.String("profile"), KeepUnknown: recipe.KeepUnknown,
		Progress: func(p compiler.Progress) { bars.Show(p.Phase, p.Done, p.Total) },
	})
	bars.Close(err)
	if err != nil {
		return err
	}
	verdict := "no container was published for target " + rep.Explanation.Target
	same := f.Target == rep.Explanation.Target
	if same {
		if verdict, err = f.compare(rep); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return jnscli.JSON(stdout, map[string]any{"output": rep.Output, "bytes": rep.Bytes, "root_digest": manifests.Digest(rep.Root), "published": same, "verdict": verdict})
	}
	fmt.Fprintln(os.Stderr, verdict)
	_, err = fmt.Fprintf(stdout, "%x  %s\n", rep.Root, rep.Output)
	return err
}

// recipe says how the published container was made, before anything is fetched: with a profile that is not at hand it cannot be made here. What was not published for the target can
// be made without.
func (f *found) recipe(c *cli.Command, target string) (compiler.Recipe, error) {
	r, err := compiler.ParseRecipe(f.Compiler.Options)
	profile := c.String("profile")
	if err != nil || profile == "" && target != f.Target {
		return r, err
	}
	sum, err := r.ProfileSum(profile)
	if err == nil && sum != r.Profile {
		err = fmt.Errorf("%s: %w: its SHA-256 is %s, the published container was made with %s", profile, errDiffers, sum, r.Profile)
	}
	return r, err
}

// compilable finds a manifest of the model: of the target asked for if there is one, else of any, since they have the same source.
func compilable(ctx context.Context, c *cli.Command) (*found, error) {
	f, err := findManifest(ctx, c, c.Args().First())
	if err == nil || c.String("manifest") != "" {
		return f, err
	}
	all, e := manifests.All()
	if e != nil {
		return nil, e
	}
	for _, p := range all {
		if p.Name == c.Args().First() && !c.Bool("require-signature") {
			return &found{Manifest: p.Manifest, local: true, beside: func(string) string { return "" }}, nil
		}
	}
	return nil, err
}

// fetchSource puts the source's files into a directory, or compares those at hand, and gives the path of the first.
func (f *found) fetchSource(ctx context.Context, c *cli.Command, dir string) (string, error) {
	given := c.String("source")
	first := ""
	for i := range f.Source.Files {
		s := &f.Source.Files[i]
		path := filepath.Join(dir, s.File)
		if given != "" {
			path = filepath.Join(filepath.Dir(given), s.File)
			if len(f.Source.Files) == 1 {
				path = given
			}
		}
		if first == "" {
			first = path
		}
		o, end, err := fetchOptions(c, f.local)
		if err != nil {
			return "", err
		}
		spec := f.sourceSpec(c, s, path)
		if given != "" {
			_, err = fetch.Verify(ctx, spec, o)
		} else {
			_, err = fetch.Get(ctx, spec, o)
		}
		end(err)
		if err != nil && given == "" && len(spec.Sources) == 0 && errors.Is(err, fetch.ErrSource) {
			from := strings.TrimSpace(f.Source.Repository + " " + f.Source.Revision)
			return "", fmt.Errorf("source %s: %w: the manifest names no address; its file comes from: %s; name it with --source FILE, or an address with --mirror", s.File, fetch.ErrSource,
				jnscli.Printable(cmp.Or(from, "(not said)")))
		}
		if err != nil {
			return "", fmt.Errorf("source %s: %w", s.File, err)
		}
	}
	return first, nil
}

// compare holds what was compiled against what was published.
func (f *found) compare(rep *compiler.Report) (string, error) {
	if rep.Root == [32]byte(f.Container.Root) {
		sum, _, err := fileSHA256(rep.Output)
		if err != nil {
			return "", err
		}
		if sum != f.Container.SHA256 {
			return "", fmt.Errorf("%s: %w: the root digest is the published one, the file's SHA-256 is not", rep.Output, errDiffers)
		}
		return "the container is the published one, byte for byte", nil
	}
	if f.Compiler.Revision != compiler.OutputRevision {
		return fmt.Sprintf("the published container is by compiler revision %d, this is revision %d: not compared", f.Compiler.Revision, compiler.OutputRevision), nil
	}
	return "", fmt.Errorf("%s: %w: root digest %x, published is %s; jnsc repro says where", rep.Output, errDiffers, rep.Root, f.Container.Root)
}

func fileSHA256(path string) (d manifests.Digest, size int64, err error) {
	f, _, err := format.OpenFile(path)
	if err != nil {
		return d, 0, err
	}
	defer f.Close()
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return d, 0, err
	}
	return manifests.Digest(h.Sum(nil)), size, nil
}
