package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/manifests"
)

func listCommand() *cli.Command {
	return &cli.Command{Name: "list", Usage: "list the published models", Flags: []cli.Flag{jsonFlag()}, Action: list}
}

// listed is a line of the list.
type listed struct {
	Name    string `json:"name"`
	Target  string `json:"target"`
	Bytes   int64  `json:"bytes"`
	Memory  uint64 `json:"memory,omitempty"`
	Licence string `json:"licence"`
	Signed  bool   `json:"signed"`
	Places  int    `json:"places"`
}

func list(_ context.Context, c *cli.Command) error {
	if err := jnscli.Args(c, 0, 0, "jns-get list takes no arguments"); err != nil {
		return err
	}
	all, err := manifests.All()
	if err != nil {
		return err
	}
	rows := []listed{}
	for _, m := range all {
		r := listed{Name: m.Name, Target: m.Target, Bytes: m.Container.Bytes, Licence: m.Source.Licence, Signed: len(m.Signature) > 0, Places: len(m.Container.At)}
		if m.Memory != nil {
			r.Memory = m.Memory.Required
		}
		rows = append(rows, r)
	}
	if c.Bool("json") {
		return jnscli.JSON(stdout, rows)
	}
	w := tabwriter.NewWriter(stdout, 0, 8, 2, ' ', 0)
	for _, r := range rows {
		how := "compile"
		if r.Places > 0 {
			how = "fetch"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.Name, r.Target, jnscli.Size(uint64(r.Bytes)), r.Licence, how)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "fetch: jns-get NAME fetches it; compile: no place is published, jns-get compile NAME makes the same container here")
	return nil
}

func infoCommand() *cli.Command {
	return &cli.Command{
		Name: "info", Usage: "say what a manifest says", ArgsUsage: "NAME", Action: info,
		Flags: append(manifestFlags(), sourceFlags()...),
	}
}

func info(ctx context.Context, c *cli.Command) error {
	if err := jnscli.Args(c, 0, 1, "jns-get info takes one name, or --manifest FILE|ADDRESS"); err != nil {
		return err
	}
	if c.Args().Len() == 0 && c.String("manifest") == "" {
		return jnscli.Usagef("jns-get info takes one name, or --manifest FILE|ADDRESS")
	}
	f, err := findManifest(ctx, c, c.Args().First())
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return jnscli.JSON(stdout, f.Manifest)
	}
	w := tabwriter.NewWriter(stdout, 0, 8, 2, ' ', 0)
	row := func(k, text string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", k, jnscli.Printable(fmt.Sprintf(text, args...)))
	}
	k := &f.Container
	row("name", "%s for %s", f.Name, f.Target)
	if f.Description != "" {
		row("about", "%s", f.Description)
	}
	row("container", "%s, %s", k.File, jnscli.Size(uint64(k.Bytes)))
	row("root digest", "%s", k.Root)
	row("SHA-256", "%s", k.SHA256)
	for _, s := range f.Source.Files {
		row("source", "%s, %s, SHA-256 %s", s.File, jnscli.Size(uint64(s.Bytes)), s.SHA256)
	}
	if from := strings.TrimSpace(f.Source.Repository + " " + f.Source.Revision); from != "" {
		row("from", "%s", from)
	}
	row("licence", "%s", f.Source.Licence)
	if f.Source.Attribution != "" {
		row("attribution", "%s", f.Source.Attribution)
	}
	row("compiler", "%s revision %d, %s; %s", f.Compiler.Name, f.Compiler.Revision, f.Compiler.Options, f.Compiler.Version)
	if m := f.Memory; m != nil {
		row("memory", "%s, without experts (%s)", jnscli.Size(m.Required), jnscli.Size(m.Experts))
	}
	for _, m := range f.Measured {
		row("measured", "%s: prefill %.0f/s, decode %.0f/s, peak %s", m.Machine, m.PrefillTPS, m.DecodeTPS, jnscli.Size(m.PeakRSS))
	}
	for _, a := range k.At {
		row("at", "%s", a)
	}
	if s := f.signed; s != nil {
		row("signed", "by %s %s", s.Key.ID(), s.Key.Name)
	} else {
		row("signed", "not by a trusted key")
	}
	return w.Flush()
}
