package format

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// DumpOptions: the zero value shows everything but the bytes of weights, texts and tables, with digests shortened.
type DumpOptions struct {
	FullDigests bool
	// Sections to show; nil: all.
	Sections map[SectionKind]bool
}

// Dump writes what is in a container as annotated text: offsets, bytes and meaning of the header, the table of contents, and every record and operation. Equal
// containers give equal text.
func Dump(w io.Writer, c *Container, o DumpOptions) error {
	d := &dumper{w: w, c: c, o: o}
	d.header()
	d.toc()
	for _, s := range c.TOC.Sections {
		if o.Sections == nil || o.Sections[s.Kind] {
			d.section(s)
		}
	}
	return d.err
}

// dumper writes lines until the first error.
type dumper struct {
	w   io.Writer
	c   *Container
	o   DumpOptions
	err error
}

func (d *dumper) line(format string, args ...any) {
	if d.err == nil {
		_, d.err = fmt.Fprintf(d.w, format+"\n", args...)
	}
}

// field writes one field of the header: offset, bytes, meaning. Long fields end in an ellipsis.
func (d *dumper) field(b []byte, from, to int, meaning string, args ...any) {
	shown := b[from:min(to, from+8)]
	dots := ""
	if to-from > 8 {
		dots = "…"
	}
	d.line("%08x  %-26s %s", from, fmt.Sprintf("% x%s", shown, dots), fmt.Sprintf(meaning, args...))
}

func (d *dumper) digest(x [32]byte) string {
	if d.o.FullDigests {
		return hex.EncodeToString(x[:])
	}
	return hex.EncodeToString(x[:6])
}

func (d *dumper) header() {
	h := d.c.Header
	again := *h
	b, err := EncodeHeader(&again)
	if err != nil {
		d.err = err
		return
	}
	d.line("== header, %d bytes", HeaderSize)
	d.field(b, hMagic, hMajor, "magic")
	d.field(b, hMajor, hHeaderSize, "version %d.%d", h.Major, h.Minor)
	d.field(b, hHeaderSize, hLength, "header size %d", HeaderSize)
	d.field(b, hLength, hTOCOffset, "file length %d", h.Length)
	d.field(b, hTOCOffset, hTOCLength, "table of contents at %d", h.TOCOffset)
	d.field(b, hTOCLength, hTOCDigest, "of %d bytes", h.TOCLength)
	d.field(b, hTOCDigest, hTarget, "with SHA-256 %s", d.digest(h.TOCDigest))
	d.field(b, hTarget, hTunedFor, "target %q", h.Target)
	d.field(b, hTunedFor, hNLayouts, "tuned for %q", h.TunedFor)
	d.field(b, hNLayouts, hLayouts, "%d layouts", len(h.Layouts))
	d.field(b, hLayouts, hReserved, "layouts %v", h.Layouts)
	d.field(b, hReserved, hDigest, "reserved, zero")
	d.field(b, hDigest, HeaderSize, "root digest %s", d.digest(h.Digest))
}

func (d *dumper) toc() {
	t := d.c.TOC
	d.line("\n== table of contents, %d bytes at %d", d.c.Header.TOCLength, d.c.Header.TOCOffset)
	d.line("model     %q, %d tokens, trained context %d, %d parameters", t.Model.Name, t.Model.Vocab, t.Model.Context, t.Model.Params)
	for _, f := range t.Model.Facts {
		d.line("  %s = %q", strings.Map(printable, f.Key), f.Value)
	}
	d.line("compiler  %q revision %d, options %q", t.Compiler.Name, t.Compiler.Revision, t.Compiler.Options)
	for i, s := range t.Source {
		d.line("source %d  %d bytes, SHA-256 %s, header %d bytes, SHA-256 %s", i, s.Length, d.digest(s.SHA256), s.HeaderLength, d.digest(s.HeaderSHA256))
	}
	d.line("sections  kind           offset       length  digest")
	for _, s := range t.Sections {
		d.line("  %2d %-10s %12d %12d  %s", s.Kind, s.Kind, s.Offset, s.Length, d.digest(s.Digest))
	}
}

func (d *dumper) section(s Section) {
	d.line("\n== %s, %d bytes at %d", s.Kind, s.Length, s.Offset)
	switch s.Kind {
	case SectionSource:
		d.source()
	case SectionTemplate:
		for _, l := range strings.Split(d.c.Template(), "\n") {
			d.line("| %s", strings.Map(printable, l))
		}
	case SectionProgram:
		d.program()
	case SectionTensors:
		d.tensors()
	case SectionSlots:
		d.slots()
	case SectionProvenance:
		d.provenance()
	case SectionTokenizer, SectionNames, SectionResident, SectionLayers, SectionExperts, SectionRows, SectionAside, SectionChunks:
		// The list of sections says all about these, or the tables do.
	}
}

// printable keeps control characters of a file from reaching a terminal (JNS-5).
func printable(r rune) rune {
	if r < 0x20 && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
		return '�'
	}
	return r
}

func (d *dumper) source() {
	fs, err := d.c.SourceFiles()
	if err != nil {
		d.err = err
		return
	}
	for i, f := range fs {
		d.line("file %d: %d bytes, header %d, %d gaps", i, f.Length, len(f.Header), len(f.Gaps))
		for _, g := range f.Gaps {
			what := "zero"
			if g.Data != nil {
				what = "kept"
			}
			d.line("  gap at %d, %d bytes, %s", g.Offset, g.Length, what)
		}
	}
}

func (d *dumper) tensors() {
	for i := range d.c.Tensors.Len() {
		t := d.c.Tensors.At(i)
		d.line("#%d %q  source %d.%d  type %d  layout %d (%s)", i, t.Name, t.Shard, t.Index, t.Type, t.Layout, ReasonText(t.Reason))
		d.line("    %d × %d × %d  %s slots %d…%d, %d rows each, at %d, tiles %d rows %d bytes  %s", t.Count, t.Rows, t.Cols,
			t.Class, t.FirstSlot, t.FirstSlot+t.Slots-1, t.RowsPerSlot, t.SlotOffset, t.TileRows, t.TileRowBytes, d.digest(t.Digest))
	}
}

func (d *dumper) slots() {
	for i := range d.c.Slots.Len() {
		s := d.c.Slots.At(i)
		d.line("%d  %s%s%s  %d bytes at %d  %s", i, s.Class, number(" layer ", s.Layer), number(" expert ", s.Expert), s.Length, s.Offset, d.digest(s.Digest))
	}
}

func number(label string, n uint32) string {
	if n == None {
		return ""
	}
	return fmt.Sprint(label, n)
}

func (d *dumper) provenance() {
	links, err := d.c.Provenance()
	if err != nil {
		d.err = err
		return
	}
	for _, l := range links {
		d.line("%-8s  content %s  previous %s  digest %s", l.Kind, d.digest(l.Content), d.digest(l.Prev), d.digest(l.Digest))
	}
}

func (d *dumper) program() {
	p := d.c.Program
	what := "logits"
	if p.Output != OutputLogits {
		what = fmt.Sprintf("hidden states (output %d)", p.Output)
	}
	d.line("vocabulary %d, context %d, width %d; arena per row %d, fixed %d, per worker %d; %s in %s", p.Vocab, p.Context, p.Embed, p.PerRow, p.Fixed,
		p.PerWorker, what, bufferText(p, p.Logits))
	for _, l := range ProgramText(p, d.c.Tensors) {
		d.line("%s", l)
	}
}
