package format

import (
	"context"
	"crypto/sha256"
	"io"

	"github.com/zeebo/blake3"
)

// File is what Seal writes to.
type File interface {
	io.ReaderAt
	io.WriterAt
}

// SealOptions: the zero value is useful.
type SealOptions struct {
	Workers  int                // 0: GOMAXPROCS
	Progress func(bytes uint64) // bytes of weights read so far; called from several goroutines
}

// Seal completes a container: f holds the slots' bytes where Lay put them, and zero bytes elsewhere. It reads the weights once, fills in the
// digests of the draft's slots, and writes the small sections, the chunk list, the table of contents and, last, the header. It returns the root digest. The
// caller syncs and renames the file.
func Seal(ctx context.Context, f File, l *Laid, o SealOptions) (root [32]byte, err error) {
	d := l.Draft
	s := newScan(f, l.Sections, SlotList(d.Slots))
	s.progress = o.Progress
	if err := s.weightsPass(ctx, o.Workers); err != nil {
		return root, err
	}
	if len(s.padding) > 0 {
		return root, fault(sectionAt(l.Sections, s.padding[0]), int64(s.padding[0]), ErrCorrupt, "the packer wrote into padding")
	}
	for i := range d.Slots {
		d.Slots[i].Digest = s.slotDigest[i]
	}
	if err := l.writeSmall(f); err != nil {
		return root, err
	}
	if err := s.chunksPass(ctx, o.Workers); err != nil {
		return root, err
	}
	if err := l.write(f, SectionChunks, s.chunkList()); err != nil {
		return root, err
	}
	return l.writeHead(f)
}

// writeSmall writes the sections that are not slots and sets the digests of all sections but the chunk list.
func (l *Laid) writeSmall(f io.WriterAt) error {
	d := l.Draft
	names, tensors := EncodeTensors(d.Tensors)
	contents := []struct {
		kind SectionKind
		b    []byte
	}{
		{SectionSource, l.source}, {SectionTokenizer, d.Tokenizer}, {SectionTemplate, d.Template}, {SectionProgram, l.program},
		{SectionNames, names}, {SectionTensors, tensors}, {SectionSlots, EncodeSlots(d.Slots)},
	}
	for _, c := range contents {
		if len(c.b) == 0 {
			continue
		}
		if err := l.write(f, c.kind, c.b); err != nil {
			return err
		}
	}
	for i, s := range l.Sections {
		if s.Kind.Weights() {
			l.Sections[i].Digest = slotListDigest(SlotList(d.Slots), s.Kind)
		}
	}
	links, err := provenance(l.toc(), d.Target)
	if err != nil {
		return err
	}
	return l.write(f, SectionProvenance, encodeLinks(links))
}

func (l *Laid) write(f io.WriterAt, k SectionKind, b []byte) error {
	for i := range l.Sections {
		s := &l.Sections[i]
		if s.Kind != k {
			continue
		}
		if uint64(len(b)) != s.Length {
			return fault(k.String(), int64(s.Offset), ErrCorrupt, "the draft changed after Lay: section takes %d bytes, %d were planned", len(b), s.Length)
		}
		s.Digest = blake3.Sum256(b)
		_, err := f.WriteAt(b, int64(s.Offset))
		return err
	}
	return fault(k.String(), -1, ErrCorrupt, "the draft changed after Lay: no such section was planned")
}

func (l *Laid) writeHead(f io.WriterAt) (root [32]byte, err error) {
	toc, err := EncodeTOC(l.toc())
	if err != nil {
		return root, err
	}
	if uint64(len(toc)) != l.tocLength {
		return root, fault("toc", HeaderSize, ErrCorrupt, "the draft changed after Lay: %d bytes, %d were planned", len(toc), l.tocLength)
	}
	h := &Header{
		Major: VersionMajor, Minor: minorOf(SlotList(l.Draft.Slots)), Length: l.Length,
		TOCOffset: HeaderSize, TOCLength: l.tocLength, TOCDigest: sha256.Sum256(toc),
		Target: l.Draft.Target, TunedFor: l.Draft.TunedFor, Layouts: layouts(l.Draft.Tensors),
	}
	head, err := EncodeHeader(h)
	if err != nil {
		return root, err
	}
	if _, err := f.WriteAt(toc, HeaderSize); err != nil {
		return root, err
	}
	_, err = f.WriteAt(head, 0)
	return h.Digest, err
}

// slotListDigest is the digest of a weight section (JNS-24): BLAKE3 of its slots' digests in table order.
func slotListDigest(slots Slots, k SectionKind) [32]byte {
	h := blake3.New()
	for i := range slots.Len() {
		if s := slots.At(i); s.Class.Section() == k {
			h.Write(s.Digest[:])
		}
	}
	return [32]byte(h.Sum(nil))
}

// sectionAt names what lies at an offset.
func sectionAt(ss []Section, off uint64) string {
	switch {
	case off < HeaderSize:
		return "header"
	case len(ss) == 0 || off < ss[0].Offset:
		return "toc"
	}
	name := ""
	for _, s := range ss {
		if s.Offset <= off {
			name = s.Kind.String()
		}
	}
	return name
}
