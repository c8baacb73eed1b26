package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/compiler"
	"jns/format"
)

func inspectCommand() *cli.Command {
	return &cli.Command{
		Name: "inspect", Usage: "show what a container holds", ArgsUsage: "MODEL.jns",
		Description: "Reads header, table of contents, tokenizer, template, program, the tables of names, tensors and slots, and the chain of provenance, and\n" +
			"checks their digests. Neither the weights nor the source section, the list of chunks or padding are read: jnsc verify checks them.\n" +
			"Which tensor became what is shown by jnsc explain.",
		Flags: []cli.Flag{jsonFlag()}, Action: inspect,
	}
}

// Documents of inspect. Digests are hexadecimal.
type (
	inspected struct {
		File       string       `json:"file"`
		Format     string       `json:"format"`
		Bytes      uint64       `json:"bytes"`
		RootDigest string       `json:"root_digest"`
		Target     string       `json:"target"`
		TunedFor   string       `json:"tuned_for,omitempty"`
		Layouts    []uint16     `json:"layouts"`
		Model      model        `json:"model"`
		Compiler   compilerID   `json:"compiler"`
		Source     []shard      `json:"source"`
		Sections   []section    `json:"sections"`
		Tensors    int          `json:"tensors"`
		Slots      int          `json:"slots"`
		Profile    string       `json:"profile,omitempty"` // SHA-256 of the routing trace by which experts lie
		Order      []layerOrder `json:"experts_order,omitempty"`
		Program    program      `json:"program"`
		Template   bool         `json:"chat_template"`
		Provenance []provenance `json:"provenance"`
	}
	model struct {
		Name    string            `json:"name"`
		Vocab   uint32            `json:"vocabulary"`
		Context uint32            `json:"context"`
		Params  uint64            `json:"parameters"`
		Facts   map[string]string `json:"facts"`
		facts   []format.Fact
	}
	compilerID struct {
		Name     string `json:"name"`
		Revision uint32 `json:"revision"`
		Options  string `json:"options"`
	}
	layerOrder = compiler.LayerOrder
	shard      struct {
		Bytes  uint64 `json:"bytes"`
		SHA256 string `json:"sha256"`
	}
	section struct {
		Name   string `json:"name"`
		Offset uint64 `json:"offset"`
		Bytes  uint64 `json:"bytes"`
		Digest string `json:"blake3"`
	}
	program struct {
		Operations  int    `json:"operations"`
		Buffers     int    `json:"buffers"`
		PerRow      uint64 `json:"arena_bytes_per_row"`
		Fixed       uint64 `json:"arena_bytes_fixed"`
		PerWorker   uint64 `json:"arena_bytes_per_worker"`
		KVPerPos    uint64 `json:"kv_bytes_per_position"`
		WindowBytes uint64 `json:"kv_bytes_of_windows"`
		StateBytes  uint64 `json:"bytes_of_recurrent_states"`
	}
	provenance struct {
		Link   string `json:"link"`
		Digest string `json:"sha256"`
	}
)

func inspect(_ context.Context, c *cli.Command) error {
	if err := jnscli.Args(c, 1, 1, "jnsc inspect takes one container: jnsc inspect MODEL.jns"); err != nil {
		return err
	}
	f, k, err := open(c.Args().First())
	if err != nil {
		return err
	}
	defer f.Close()
	d, err := describe(c.Args().First(), k)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return jnscli.JSON(stdout, d)
	}
	_, err = fmt.Fprint(stdout, jnscli.Printable(d.text()))
	return err
}

func describe(path string, k *format.Container) (*inspected, error) {
	links, err := k.Provenance()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	h, t, p := k.Header, k.TOC, k.Program
	d := &inspected{
		File: path, Format: fmt.Sprintf("%d.%d", h.Major, h.Minor), Bytes: h.Length, RootDigest: hexOf(k.Root()), Target: h.Target, TunedFor: h.TunedFor,
		Layouts:  append([]uint16{}, h.Layouts...),
		Model:    model{t.Model.Name, t.Model.Vocab, t.Model.Context, t.Model.Params, map[string]string{}, t.Model.Facts},
		Compiler: compilerID{t.Compiler.Name, t.Compiler.Revision, t.Compiler.Options},
		Tensors:  k.Tensors.Len(), Slots: k.Slots.Len(), Template: k.Template() != "",
		Program: program{Operations: len(p.Ops), Buffers: len(p.Buffers), PerRow: p.PerRow, Fixed: p.Fixed, PerWorker: p.PerWorker},
	}
	if r, err := compiler.ParseRecipe(t.Compiler.Options); err == nil {
		d.Profile, d.Order = r.Profile, compiler.ExpertOrder(k.Slots)
	}
	for _, f := range t.Model.Facts {
		d.Model.Facts[f.Key] = f.Value
	}
	for _, s := range t.Source {
		d.Source = append(d.Source, shard{s.Length, hexOf(s.SHA256)})
	}
	for _, s := range t.Sections {
		d.Sections = append(d.Sections, section{s.Kind.String(), s.Offset, s.Length, hexOf(s.Digest)})
	}
	for _, s := range p.States {
		if s.Kind == format.StateRecurrent {
			d.Program.StateBytes += 4 * uint64(s.KVHeads) * uint64(s.KeyDim) * uint64(s.ValDim)
			continue
		}
		n := 2 * uint64(s.KVHeads) * (uint64(s.KeyDim) + uint64(s.ValDim)) // IEEE half
		if s.Window == 0 {
			d.Program.KVPerPos += n
		} else {
			d.Program.WindowBytes += n * uint64(s.Window)
		}
	}
	for _, l := range links {
		d.Provenance = append(d.Provenance, provenance{l.Kind.String(), hexOf(l.Digest)})
	}
	return d, nil
}

// text is the document for people.
func (d *inspected) text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	// A value is a line: text of a file must not look like lines of its own, such as another root digest.
	row := func(k, f string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", oneLine(k), oneLine(fmt.Sprintf(f, args...)))
	}
	row("model", "%s", d.Model.Name)
	for _, f := range d.Model.facts {
		row(f.Key, "%s", f.Value)
	}
	row("size", "%d parameters, vocabulary %d, trained context %d", d.Model.Params, d.Model.Vocab, d.Model.Context)
	row("container", "format %s, %s (%d bytes)", d.Format, jnscli.Size(d.Bytes), d.Bytes)
	row("target", "%s", strings.TrimSpace(d.Target+" "+tuned(d.TunedFor)))
	row("compiler", "%s, output revision %d, %s", d.Compiler.Name, d.Compiler.Revision, d.Compiler.Options)
	for i, s := range d.Source {
		row(fmt.Sprintf("source %d", i+1), "sha256 %s (%d bytes)", s.SHA256, s.Bytes)
	}
	row("weights", "%d tensors in %d slots", d.Tensors, d.Slots)
	if d.Profile != "" {
		row("experts", "lie by the profile %s", d.Profile)
	}
	for _, l := range d.Order {
		row("", "%s", l)
	}
	p := d.Program
	row("program", "%d operations over %d buffers", p.Operations, p.Buffers)
	row("memory", "arena %s per token of a batch + %s + %s per thread; keys and values %s per position%s", jnscli.Size(p.PerRow), jnscli.Size(p.Fixed),
		jnscli.Size(p.PerWorker), jnscli.Size(p.KVPerPos), windows(p.WindowBytes)+recurrent(p.StateBytes))
	row("template", "%s", map[bool]string{true: "yes", false: "none: no chat"}[d.Template])
	for _, l := range d.Provenance {
		row("provenance", "%s %s", l.Digest, l.Link)
	}
	row("root", "%s", d.RootDigest)
	w.Flush()
	fmt.Fprintln(&b)
	w = tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "offset\tbytes\t  section\n")
	for _, s := range d.Sections {
		fmt.Fprintf(w, "%d\t%d\t  %s\n", s.Offset, s.Bytes, s.Name)
	}
	w.Flush()
	return b.String()
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '\ufffd'
		}
		return r
	}, s)
}

func recurrent(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" + %s of recurrent states per session", jnscli.Size(n))
}

func tuned(s string) string {
	if s == "" {
		return ""
	}
	return "(tuned for " + s + ")"
}

func windows(n uint64) string {
	if n == 0 {
		return ""
	}
	return ", at most " + jnscli.Size(n) + " for sliding windows"
}
