package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"unicode/utf8"

	"github.com/zeebo/blake3"
)

// Mapped is a reader that has the file's bytes at hand. Open uses them in place where it can, without copying.
type Mapped interface {
	io.ReaderAt
	// Bytes gives n bytes at off; they stay valid and unchanged as long as the container is used. Nil if the range is not inside the file.
	Bytes(off, n int64) []byte
}

// Container is an open container. It is safe for use by several goroutines.
type Container struct {
	Header  *Header
	TOC     *TOC
	Program *Program // decoded; prove it with package check before running it
	Tensors TensorTable
	Slots   SlotTable

	r         io.ReaderAt
	template  string // a copy: it is used long after Open, where nobody expects the file to fail
	tokenizer []byte
}

// Open reads the small parts of a container of size bytes and checks them: header, table of contents, program, template, tokenizer and tables
// with their digests and rules. The weights are neither read nor checked (see Verify). A file that is cut short or has a byte too many is ErrCorrupt; one
// that is something else is ErrMagic and the text says what.
func Open(r io.ReaderAt, size int64) (*Container, error) {
	h, toc, err := openHead(r, size)
	if err != nil {
		return nil, err
	}
	c := &Container{Header: h, TOC: toc, r: r}
	b, err := c.optional(SectionSlots)
	if err != nil {
		return nil, err
	}
	if c.Slots, err = DecodeSlots(b, toc.Sections); err != nil {
		return nil, c.placed(err)
	}
	if want := minorOf(c.Slots); h.Minor != want { // JNS-11
		return nil, fault("header", hMinor, ErrCorrupt, "version 1.%d, but with experts in this order a container has version 1.%d", h.Minor, want)
	}
	if err := c.openTensors(); err != nil {
		return nil, c.placed(err)
	}
	if b, err = c.Bytes(SectionProgram); err != nil {
		return nil, err
	}
	if c.Program, err = DecodeProgram(b); err != nil {
		return nil, c.placed(err)
	}
	if b, err = c.optional(SectionTemplate); err != nil {
		return nil, err
	}
	if c.template = string(b); !utf8.ValidString(c.template) {
		return nil, c.placed(fault("template", -1, ErrCorrupt, "text is not UTF-8"))
	}
	if c.tokenizer, err = c.optional(SectionTokenizer); err != nil {
		return nil, err
	}
	if err := c.checkProvenance(); err != nil {
		return nil, err
	}
	return c, nil
}

// openHead reads header and table of contents.
func openHead(r io.ReaderAt, size int64) (*Header, *TOC, error) {
	if size < 0 {
		size = 0
	}
	head := make([]byte, min(size, HeaderSize))
	if err := readFull(r, head, 0); err != nil {
		return nil, nil, err
	}
	h, err := DecodeHeader(head)
	if err != nil {
		return nil, nil, err
	}
	if h.Length != uint64(size) { // JNS-6
		if uint64(size) < h.Length {
			return nil, nil, fault("file", size, ErrCorrupt, "the file ends here, but its header says %d bytes: it was cut short, fetch it again", h.Length)
		}
		return nil, nil, fault("file", int64(h.Length), ErrCorrupt, "%d bytes follow the end of the container", uint64(size)-h.Length)
	}
	b, err := readRange(r, h.TOCOffset, h.TOCLength)
	if err != nil {
		return nil, nil, err
	}
	if sha256.Sum256(b) != h.TOCDigest {
		return nil, nil, fault("toc", HeaderSize, ErrDigest, "the table of contents does not have the SHA-256 that the header says")
	}
	toc, err := DecodeTOC(b)
	if err != nil {
		return nil, nil, err
	}
	return h, toc, checkSections(toc.Sections, HeaderSize+h.TOCLength, h.Length)
}

func (c *Container) openTensors() error {
	names, err := c.optional(SectionNames)
	if err != nil {
		return err
	}
	records, err := c.optional(SectionTensors)
	if err != nil {
		return err
	}
	if c.Tensors, err = DecodeTensors(names, records, c.Slots); err != nil {
		return err
	}
	var known [1 << 13]byte // JNS-13; one bit per layout, so that a large table is one pass
	for i := range c.Tensors.Len() {
		l := binary.LittleEndian.Uint16(c.Tensors.records[i*TensorRecord+tLayout:])
		known[l>>3] |= 1 << (l & 7)
	}
	known[0] &^= 1
	for _, l := range c.Header.Layouts {
		if known[l>>3]&(1<<(l&7)) == 0 {
			return fault("header", hLayouts, ErrCorrupt, "no tensor has layout %d", l)
		}
		known[l>>3] &^= 1 << (l & 7)
	}
	if !allZero(known[:]) {
		return fault("header", hLayouts, ErrCorrupt, "a tensor has a layout that the header does not list")
	}
	return nil
}

// checkProvenance computes the chain anew and compares (JNS-51).
func (c *Container) checkProvenance() error {
	b, err := c.Bytes(SectionProvenance)
	if err != nil {
		return err
	}
	links, err := provenance(c.TOC, c.Header.Target)
	if err != nil {
		return err
	}
	if !bytes.Equal(b, encodeLinks(links)) {
		s, _ := c.Section(SectionProvenance)
		return fault("provenance", int64(s.Offset), ErrCorrupt, "the chain does not follow from source, compiler and tables")
	}
	return nil
}

// Root is the root digest: it names the container and covers everything in it.
func (c *Container) Root() [32]byte { return c.Header.Digest }

// Section gives the section of a kind; false if the container has none.
func (c *Container) Section(k SectionKind) (Section, bool) { return findSection(c.TOC.Sections, k) }

// Tokenizer gives the tokenizer section; empty for models without a vocabulary. The tables are untrusted.
func (c *Container) Tokenizer() []byte { return c.tokenizer }

// Template gives the chat template; empty if the model has none.
func (c *Container) Template() string { return c.template }

// Provenance gives the chain of digests that leads to the root digest.
func (c *Container) Provenance() ([]Link, error) { return provenance(c.TOC, c.Header.Target) }

// SourceFiles reads and decodes the source section.
func (c *Container) SourceFiles() ([]SourceFile, error) {
	b, err := c.Bytes(SectionSource)
	if err != nil {
		return nil, err
	}
	fs, err := DecodeSource(b)
	if err != nil {
		return nil, c.placed(err)
	}
	if len(fs) != len(c.TOC.Source) { // JNS-27
		return nil, c.placed(fault("source", -1, ErrCorrupt, "%d files, the table of contents names %d", len(fs), len(c.TOC.Source)))
	}
	for i, f := range fs {
		if t := c.TOC.Source[i]; f.Length != t.Length || uint64(len(f.Header)) != t.HeaderLength || sha256.Sum256(f.Header) != t.HeaderSHA256 {
			return nil, c.placed(fault("source", -1, ErrCorrupt, "file %d is not the one that the table of contents names", i))
		}
	}
	return fs, nil
}

// Bytes gives the content of a section that is not made of slots, its digest checked.
func (c *Container) Bytes(k SectionKind) ([]byte, error) {
	s, ok := c.Section(k)
	if !ok || k.Weights() {
		return nil, fault(k.String(), -1, ErrCorrupt, "no such section to read whole")
	}
	b, err := readRange(c.r, s.Offset, s.Length)
	if err != nil {
		return nil, err
	}
	if blake3.Sum256(b) != s.Digest {
		return nil, fault(k.String(), int64(s.Offset), ErrDigest, "section does not have the BLAKE3 that the table of contents says")
	}
	return b, nil
}

// ReadAt reads from the file the container lies in.
func (c *Container) ReadAt(p []byte, off int64) (int, error) { return c.r.ReadAt(p, off) }

func (c *Container) optional(k SectionKind) ([]byte, error) {
	if _, ok := c.Section(k); !ok {
		return nil, nil
	}
	return c.Bytes(k)
}

// placed gives an error of a decoder, which knows no offsets, the offset of its section.
func (c *Container) placed(err error) error {
	if e, ok := err.(*Error); ok && e.Offset < 0 {
		for _, s := range c.TOC.Sections {
			if s.Kind.String() == e.Section {
				return &Error{Section: e.Section, Offset: int64(s.Offset), Err: e.Err}
			}
		}
	}
	return err
}

// readRange gives n bytes at off, which have been compared with the file's size before.
func readRange(r io.ReaderAt, off, n uint64) ([]byte, error) {
	if m, ok := r.(Mapped); ok {
		if b := m.Bytes(int64(off), int64(n)); uint64(len(b)) == n {
			return b, nil
		}
	}
	b := make([]byte, n)
	return b, readFull(r, b, off)
}
