package format

import (
	"slices"
)

// Draft is everything that a container will say, before its bytes are written. The digests of slots, of sections and of the file are filled in by
// Seal; Source digests and tensor digests by the caller, at the latest before Seal.
type Draft struct {
	Target, TunedFor string

	Model    Model
	Compiler Compiler
	Source   []Shard

	SourceFiles []SourceFile
	Tokenizer   []byte // empty: no section
	Template    []byte // empty: no section
	Program     *Program

	Tensors []Tensor
	// Slots in the order of their classes. Length, Class, Layer and Expert are the caller's; Lay fills in Offset, Seal Digest.
	Slots []Slot
	// Order lists the slots of experts, by their numbers, as they shall lie in the file. Nil: in table order.
	Order []uint32
}

// Laid is a draft with every offset decided.
type Laid struct {
	Draft    *Draft
	Sections []Section
	Length   uint64 // of the file

	source, program []byte
	tocLength       uint64
}

// Section gives the section of a kind.
func (l *Laid) Section(k SectionKind) (Section, bool) { return findSection(l.Sections, k) }

// Lay decides where everything lies and sets the offsets of d.Slots. After it nothing of the draft may change but digests. A packer writes each
// slot's bytes at its offset, in any order and in parallel, into a file of Length zero bytes; Seal writes the rest.
func Lay(d *Draft) (*Laid, error) {
	l := &Laid{Draft: d}
	var err error
	if l.source, err = EncodeSource(d.SourceFiles); err != nil {
		return nil, err
	}
	if l.program, err = EncodeProgram(d.Program); err != nil {
		return nil, err
	}
	names := uint64(0)
	for i := range d.Tensors {
		names += uint64(len(d.Tensors[i].Name))
	}
	lengths := [SectionChunks + 1]uint64{
		SectionSource: uint64(len(l.source)), SectionTokenizer: uint64(len(d.Tokenizer)), SectionTemplate: uint64(len(d.Template)),
		SectionProgram: uint64(len(l.program)), SectionNames: names, SectionTensors: uint64(len(d.Tensors)) * TensorRecord,
		SectionSlots: uint64(len(d.Slots)) * SlotRecord, SectionProvenance: provenanceSize,
	}
	for i, s := range d.Slots {
		if s.Class < ClassPinned || s.Class > ClassAside || s.Length == 0 || s.Length > MaxFile || i > 0 && s.Class < d.Slots[i-1].Class {
			return nil, fault("slots", -1, ErrCorrupt, "slot %d of class %s, %d bytes: slots must be in the order of their classes and not empty", i, s.Class, s.Length)
		}
		k := s.Class.Section()
		lengths[k] = alignUp(lengths[k], SlotAlign) + s.Length
	}
	if err := checkOrder(d); err != nil {
		return nil, err
	}
	if d.Order != nil { // which one is the last makes a difference
		lengths[SectionExperts] = 0
		for _, i := range d.Order {
			lengths[SectionExperts] = alignUp(lengths[SectionExperts], SlotAlign) + d.Slots[i].Length
		}
	}
	// The table of contents lies in front of the sections whose offsets it holds, and its length depends on them by a few bytes: try until it fits.
	for first := uint64(SectionAlign); ; first += SectionAlign {
		l.place(lengths[:], first)
		toc, err := EncodeTOC(l.toc())
		if err != nil {
			return nil, err
		}
		if l.tocLength = uint64(len(toc)); alignUp(HeaderSize+l.tocLength, SectionAlign) <= first {
			break
		}
	}
	if err := checkSections(l.Sections, HeaderSize+l.tocLength, l.Length); err != nil {
		return nil, err
	}
	// What a reader will refuse must not be written.
	nb, tb := EncodeTensors(d.Tensors)
	slots, err := DecodeSlots(EncodeSlots(d.Slots), l.Sections)
	if err != nil {
		return nil, err
	}
	if _, err := DecodeTensors(nb, tb, slots); err != nil {
		return nil, err
	}
	return l, nil
}

// place gives every section and every slot its offset, the first section at first.
func (l *Laid) place(lengths []uint64, first uint64) {
	l.Sections = l.Sections[:0]
	end := first
	for k := SectionSource; k < SectionChunks; k++ {
		if lengths[k] == 0 {
			continue
		}
		s := Section{Kind: k, Offset: alignUp(end, SectionAlign), Length: lengths[k]}
		l.Sections = append(l.Sections, s)
		end = s.End()
		at := s.Offset
		put := func(d *Slot) {
			d.Offset = alignUp(at, SlotAlign)
			at = d.Offset + d.Length
		}
		if k == SectionExperts && l.Draft.Order != nil {
			for _, i := range l.Draft.Order {
				put(&l.Draft.Slots[i])
			}
			continue
		}
		for i := range l.Draft.Slots {
			if d := &l.Draft.Slots[i]; d.Class.Section() == k {
				put(d)
			}
		}
	}
	chunks := Section{Kind: SectionChunks, Offset: alignUp(end, SectionAlign)}
	chunks.Length = chunkCount(chunks.Offset) * 32
	l.Sections = append(l.Sections, chunks)
	l.Length = chunks.End()
}

// checkOrder proves that a draft's order has every expert once.
func checkOrder(d *Draft) error {
	if d.Order == nil {
		return nil
	}
	seen := make([]bool, len(d.Slots))
	for _, i := range d.Order {
		if uint64(i) >= uint64(len(d.Slots)) || d.Slots[i].Class != ClassExpert || seen[i] {
			return fault("slots", -1, ErrCorrupt, "the order of experts has slot %d twice, or it is no expert's", i)
		}
		seen[i] = true
	}
	for i, s := range d.Slots {
		if s.Class == ClassExpert && !seen[i] {
			return fault("slots", -1, ErrCorrupt, "the order of experts lacks slot %d", i)
		}
	}
	return nil
}

func (l *Laid) toc() *TOC {
	return &TOC{Model: l.Draft.Model, Compiler: l.Draft.Compiler, Source: l.Draft.Source, Sections: l.Sections}
}

// layouts gives the tile layouts that the tensors use, ascending.
func layouts(ts []Tensor) []uint16 {
	var ls []uint16
	for i := range ts {
		if l := ts[i].Layout; l != 0 {
			ls = append(ls, l)
		}
	}
	slices.Sort(ls)
	return slices.Compact(ls)
}

// chunkCount is the number of chunks of ChunkSize in n bytes.
func chunkCount(n uint64) uint64 { return (n + ChunkSize - 1) / ChunkSize }

func findSection(ss []Section, k SectionKind) (Section, bool) {
	for _, s := range ss {
		if s.Kind == k {
			return s, true
		}
	}
	return Section{}, false
}
