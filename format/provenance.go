package format

import (
	"crypto/sha256"
	"encoding/binary"
)

// LinkKind says what a link of the provenance chain covers.
type LinkKind uint32

const (
	LinkSource   LinkKind = 1 // the source's files: SHA-256 of whole file and header each
	LinkCompiler LinkKind = 2 // who made the container, with which options, for which target
	LinkPacked   LinkKind = 3 // every tensor and slot: digests of names, tensors, slots and program
)

var linkNames = map[LinkKind]string{LinkSource: "source", LinkCompiler: "compiler", LinkPacked: "packed"}

func (k LinkKind) String() string { return linkNames[k] }

// Link is one record of the chain (JNS-50). The chain goes on in the file itself: the digest of the provenance section stands in the table of contents, that
// one's in the header, and the header's is the root digest.
type Link struct {
	Kind    LinkKind
	Prev    [32]byte // Digest of the link before, zero for the first
	Content [32]byte // SHA-256 of what the link covers
	Digest  [32]byte // SHA-256 of the kind as four bytes, Prev and Content
}

const (
	linkRecord     = 104 // kind u32, zero u32, prev, content, digest
	linkCount      = 3
	provenanceSize = linkCount * linkRecord
)

// provenance computes the chain from the facts; sections must have the digests of names, tensors, slots and program.
func provenance(t *TOC, target string) ([]Link, error) {
	source, err := encodeCBOR(t.Source)
	if err != nil {
		return nil, fault("provenance", -1, ErrCorrupt, "%v", err)
	}
	compiler, err := encodeCBOR(&t.Compiler)
	if err != nil {
		return nil, fault("provenance", -1, ErrCorrupt, "%v", err)
	}
	compiler = append(append(compiler, 0), target...)
	var packed []byte
	for _, s := range t.Sections {
		switch s.Kind {
		case SectionProgram, SectionNames, SectionTensors, SectionSlots:
			packed = append(packed, s.Digest[:]...)
		}
	}
	links := []Link{
		{Kind: LinkSource, Content: sha256.Sum256(source)},
		{Kind: LinkCompiler, Content: sha256.Sum256(compiler)},
		{Kind: LinkPacked, Content: sha256.Sum256(packed)},
	}
	for i := range links {
		if i > 0 {
			links[i].Prev = links[i-1].Digest
		}
		var b [68]byte
		binary.LittleEndian.PutUint32(b[:], uint32(links[i].Kind))
		copy(b[4:], links[i].Prev[:])
		copy(b[36:], links[i].Content[:])
		links[i].Digest = sha256.Sum256(b[:])
	}
	return links, nil
}

func encodeLinks(links []Link) []byte {
	b := make([]byte, 0, provenanceSize)
	for _, l := range links {
		b = binary.LittleEndian.AppendUint32(b, uint32(l.Kind))
		b = binary.LittleEndian.AppendUint32(b, 0)
		b = append(b, l.Prev[:]...)
		b = append(b, l.Content[:]...)
		b = append(b, l.Digest[:]...)
	}
	return b
}

// EncodeProvenance gives the bytes of the section provenance that follow from a table of contents whose other digests are right.
func EncodeProvenance(t *TOC, target string) ([]byte, error) {
	links, err := provenance(t, target)
	if err != nil {
		return nil, err
	}
	return encodeLinks(links), nil
}
