package format

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/blake3"
)

// VerifyOptions: the zero value is useful.
type VerifyOptions struct {
	Workers  int                // 0: GOMAXPROCS
	Progress func(bytes uint64) // bytes of weights read so far; called from several goroutines
}

// Verify reads a whole container of size bytes and checks everything that this package can: what Open checks, the source section, every chunk, every
// slot, every section, and that padding is zero. There is no byte in the file that can change without being noticed. The error names the section and the
// offset of the first bad chunk, slot or byte. Programs are proved by package check, contents of tensors by comparing with the source.
func Verify(ctx context.Context, r io.ReaderAt, size int64, o VerifyOptions) (*Container, error) {
	h, toc, err := openHead(r, size)
	if err != nil {
		return nil, err
	}
	first := toc.Sections[0].Offset
	if err := paddingZero(r, HeaderSize+h.TOCLength, first, "toc"); err != nil {
		return nil, err
	}
	// The chunk list first: a bad chunk is the most precise thing that can be said about a damaged file.
	chunks := toc.Sections[len(toc.Sections)-1]
	list, err := readRange(r, chunks.Offset, chunks.Length)
	if err != nil {
		return nil, err
	}
	if blake3.Sum256(list) != chunks.Digest {
		return nil, fault("chunks", int64(chunks.Offset), ErrDigest, "the list of chunk digests is damaged")
	}
	c, openErr := Open(r, size)
	var slots Slots = SlotList(nil)
	if openErr == nil {
		slots = c.Slots
	}
	s := newScan(r, toc.Sections, slots)
	s.progress = o.Progress
	if err := s.weightsPass(ctx, o.Workers); err != nil {
		return nil, err
	}
	if err := s.chunksPass(ctx, o.Workers); err != nil {
		return nil, err
	}
	if bad := s.firstBadChunk(list); bad >= 0 {
		return nil, s.locate(uint64(bad), toc.Sections, c, openErr)
	}
	if openErr != nil {
		return nil, openErr
	}
	if err := c.verifySections(s); err != nil {
		return nil, err
	}
	return c, nil
}

// firstBadChunk gives the number of the first chunk that is not what the list says, -1 if there is none.
func (s *scan) firstBadChunk(list []byte) int {
	for i := range s.chunkDigest {
		if [32]byte(list[32*i:]) != s.chunkDigest[i] {
			return i
		}
	}
	return -1
}

// locate says what in a bad chunk is bad: a chunk may hold several sections and many slots, which have digests of their own.
func (s *scan) locate(chunk uint64, sections []Section, c *Container, openErr error) error {
	lo, hi := s.chunkRange(chunk)
	if c == nil && errors.Is(openErr, ErrDigest) {
		return openErr
	}
	where, at, what := sectionAt(sections, lo), lo, "something"
	if c != nil {
		where, at, what = c.locate(s, lo, hi)
	}
	return fault(where, int64(at), ErrDigest, "%s in chunk %d (bytes %d to %d) is damaged", what, chunk, lo, hi)
}

// locate finds the first section, slot or byte of padding between lo and hi that is not what it should be.
func (c *Container) locate(s *scan, lo, hi uint64) (section string, at uint64, what string) {
	for i, sec := range c.TOC.Sections {
		if sec.Kind == SectionChunks || sec.Offset >= hi || c.TOC.Sections[i+1].Offset <= lo {
			continue
		}
		if sec.Kind.Weights() {
			for j := range c.Slots.Len() {
				slot := c.Slots.At(j)
				if slot.Offset < hi && slot.Offset+slot.Length > lo && slot.Class.Section() == sec.Kind && slot.Digest != s.slotDigest[j] {
					return sec.Kind.String(), max(lo, slot.Offset), fmt.Sprintf("slot %d", j)
				}
			}
			for _, p := range s.padding {
				if p >= sec.Offset && p < c.TOC.Sections[i+1].Offset {
					return sec.Kind.String(), p, "padding"
				}
			}
			continue
		}
		if _, err := c.Bytes(sec.Kind); err != nil {
			return sec.Kind.String(), sec.Offset, "the section"
		}
		var e *Error
		if err := paddingZero(c.r, sec.End(), c.TOC.Sections[i+1].Offset, sec.Kind.String()); errors.As(err, &e) {
			return e.Section, uint64(e.Offset), "padding"
		}
	}
	return sectionAt(c.TOC.Sections, lo), lo, "something"
}

// verifySections compares slot and section digests and looks for bytes in padding. On a file whose chunks are right this finds mistakes of a writer.
func (c *Container) verifySections(s *scan) error {
	for i := range c.Slots.Len() {
		if slot := c.Slots.At(i); slot.Digest != s.slotDigest[i] {
			return fault(slot.Class.Section().String(), int64(slot.Offset), ErrDigest, "slot %d does not have the BLAKE3 that its record says", i)
		}
	}
	if len(s.padding) > 0 {
		return fault(sectionAt(c.TOC.Sections, s.padding[0]), int64(s.padding[0]), ErrCorrupt, "a byte of padding is not zero")
	}
	for i, sec := range c.TOC.Sections {
		switch {
		case sec.Kind.Weights():
			if sec.Digest != slotListDigest(c.Slots, sec.Kind) {
				return fault(sec.Kind.String(), int64(sec.Offset), ErrDigest, "section does not have the digest of its slots")
			}
		case sec.Kind != SectionChunks:
			if _, err := c.Bytes(sec.Kind); err != nil {
				return err
			}
			if err := paddingZero(c.r, sec.End(), c.TOC.Sections[i+1].Offset, sec.Kind.String()); err != nil {
				return err
			}
		}
	}
	if _, err := c.SourceFiles(); err != nil {
		return err
	}
	return c.verifyUnclaimed()
}

// paddingZero checks (JNS-2) that the bytes from lo to hi (less than SectionAlign of them, or those after the table of contents) are zero.
func paddingZero(r io.ReaderAt, lo, hi uint64, section string) error {
	b, err := readRange(r, lo, hi-lo)
	if err != nil {
		return err
	}
	if i := firstNonZero(b); i >= 0 {
		return fault(section, int64(lo)+int64(i), ErrCorrupt, "a byte of padding is not zero")
	}
	return nil
}
