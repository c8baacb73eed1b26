package format

import "fmt"

// SectionKind says what a section holds. Sections lie in the file in the order of their kinds.
type SectionKind uint16

const (
	SectionSource     SectionKind = 1  // headers and gaps of the GGUF: what restore needs beside the tensors (source.go)
	SectionTokenizer  SectionKind = 2  // vocabulary tables (tokenizer.go)
	SectionTemplate   SectionKind = 3  // chat template, UTF-8 text
	SectionProgram    SectionKind = 4  // CBOR (program.go)
	SectionNames      SectionKind = 5  // tensor names back to back
	SectionTensors    SectionKind = 6  // tensor records (tensor.go)
	SectionSlots      SectionKind = 7  // slot records (slot.go)
	SectionProvenance SectionKind = 8  // chain of digests (provenance.go)
	SectionResident   SectionKind = 9  // slots of class pinned: vectors
	SectionLayers     SectionKind = 10 // slots of class layer: dense matrices
	SectionExperts    SectionKind = 11 // slots of class expert
	SectionRows       SectionKind = 12 // slots of class rows: tables read row by row
	SectionAside      SectionKind = 13 // slots of class aside: tensors that the program does not use
	SectionChunks     SectionKind = 14 // BLAKE3 of every chunk before it; always last
)

var sectionNames = [...]string{
	SectionSource: "source", SectionTokenizer: "tokenizer", SectionTemplate: "template", SectionProgram: "program",
	SectionNames: "names", SectionTensors: "tensors", SectionSlots: "slots", SectionProvenance: "provenance",
	SectionResident: "resident", SectionLayers: "layers", SectionExperts: "experts", SectionRows: "rows",
	SectionAside: "aside", SectionChunks: "chunks",
}

// String gives the section's name as messages and the dump spell it.
func (k SectionKind) String() string {
	if k == 0 || int(k) >= len(sectionNames) {
		return fmt.Sprintf("section %d", uint16(k))
	}
	return sectionNames[k]
}

// Weights reports whether the section consists of slots, so that its digest is that of the list of their digests.
func (k SectionKind) Weights() bool { return k >= SectionResident && k <= SectionAside }

// required sections are present in every container. One that holds only a vocabulary has no tensors and no slots.
func (k SectionKind) required() bool {
	switch k {
	case SectionSource, SectionProgram, SectionProvenance, SectionChunks:
		return true
	}
	return false
}

// maxLength bounds a section before anything of it is read into memory.
func (k SectionKind) maxLength() uint64 {
	switch k {
	case SectionSource:
		return MaxSource
	case SectionTokenizer:
		return MaxTokenizer
	case SectionTemplate:
		return MaxTemplate
	case SectionProgram:
		return MaxProgram
	case SectionNames:
		return MaxNames
	case SectionTensors:
		return MaxTensors * TensorRecord
	case SectionSlots:
		return MaxSlots * SlotRecord
	case SectionProvenance:
		return provenanceSize
	}
	return MaxFile
}

// Limits. Nothing larger is accepted or written, so that a reader can allocate what a length says after comparing it with these and with the file.
const (
	MaxFile      = 1 << 46
	MaxTOC       = 1 << 20
	MaxSource    = 1 << 30
	MaxTokenizer = 1 << 28
	MaxTemplate  = 1 << 22
	MaxProgram   = 1 << 26
	MaxNames     = 1 << 26
	MaxName      = 1 << 16
	MaxTensors   = 1 << 20
	MaxSlots     = 1 << 20
	MaxParts     = 1 << 22 // sum of Slots over all tensors
)

// Section is a range of the file. Offset is a multiple of SectionAlign; Length counts no padding and is not 0.
type Section struct {
	_ struct{} `cbor:",toarray"`

	Kind   SectionKind
	Offset uint64
	Length uint64
	Digest [32]byte // BLAKE3: of the bytes, or for sections of slots of the list of slot digests
}

// End is the offset of the first byte after the section.
func (s Section) End() uint64 { return s.Offset + s.Length }

// alignUp is up(n, to) of JNS-1; to is a power of two.
func alignUp(n, to uint64) uint64 { return (n + to - 1) &^ (to - 1) }

// checkSections proves order, alignment, no holes, no overlaps, nothing after the end.
func checkSections(ss []Section, tocEnd, fileLength uint64) error {
	seen := map[SectionKind]bool{}
	end, last := tocEnd, SectionKind(0)
	for _, s := range ss {
		switch {
		case s.Kind == 0 || int(s.Kind) >= len(sectionNames):
			// JNS-20
			return fault("toc", HeaderSize, ErrUnsupported, "section kind %d is unknown; use a newer program", uint16(s.Kind))
		case s.Kind <= last: // JNS-21
			return fault("toc", HeaderSize, ErrCorrupt, "section %s follows %s", s.Kind, last)
		case s.Offset != alignUp(end, SectionAlign): // JNS-22
			return fault(s.Kind.String(), int64(s.Offset), ErrCorrupt, "section must begin at %d, the first multiple of %d after what comes before", alignUp(end, SectionAlign), SectionAlign)
		case s.Length == 0 || s.Length > s.Kind.maxLength() || s.Offset > MaxFile: // JNS-23
			return fault(s.Kind.String(), int64(s.Offset), ErrCorrupt, "length %d is not within 1 to %d", s.Length, s.Kind.maxLength())
		}
		seen[s.Kind], last, end = true, s.Kind, s.End()
	}
	for k := SectionSource; k <= SectionChunks; k++ {
		if k.required() && !seen[k] {
			return fault("toc", HeaderSize, ErrCorrupt, "section %s is missing", k)
		}
	}
	if end != fileLength { // JNS-25
		return fault("toc", HeaderSize, ErrCorrupt, "sections end at %d, the file at %d", end, fileLength)
	}
	// JNS-38, before anybody reads the list: its length is bounded by nothing but the file's.
	if chunks := ss[len(ss)-1]; chunks.Length != 32*chunkCount(chunks.Offset) {
		return fault("chunks", int64(chunks.Offset), ErrCorrupt, "a list of %d bytes for %d chunks", chunks.Length, chunkCount(chunks.Offset))
	}
	return nil
}
