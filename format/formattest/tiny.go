// Package formattest makes tiny valid containers in memory and damages them in ways that digests do not show. It serves the tests of this package,
// of the verifier and of the runtime.
//
// Its nouns: Draft gives the facts of a two-layer model of a few kilobytes; Memory is a file in memory; Mutant is a container whose program or tables
// were changed and whose digests were computed anew. It must know no layout and no kernel: tensors are vectors and matrices of float32.
package formattest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"jns/format"

	"github.com/zeebo/blake3"
)

// Memory is a file in memory. It is a format.Mapped.
type Memory []byte

// ReadAt reads as io.ReaderAt says.
func (m Memory) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(m)) {
		return 0, io.EOF
	}
	n := copy(p, m[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt writes inside the file; it does not grow.
func (m Memory) WriteAt(p []byte, off int64) (int, error) {
	if off < 0 || off+int64(len(p)) > int64(len(m)) {
		return 0, io.ErrShortWrite
	}
	return copy(m[off:], p), nil
}

// Bytes gives a range in place.
func (m Memory) Bytes(off, n int64) []byte {
	if off < 0 || n < 0 || off > int64(len(m)) || n > int64(len(m))-off {
		return nil
	}
	return m[off : off+n : off+n]
}

// Shape of the tiny model.
const (
	Vocab   = 64
	Embed   = 32
	Hidden  = 64
	Heads   = 2
	HeadDim = 16
	Layers  = 2
	Experts = 4
	Top     = 2

	// PortableF32 is the layout number that the matrices claim: float32 rows as they are. It is the number of the tile package's portable F32 layout.
	PortableF32 = 0x1000
)

// Tiny builds the container of a small model with dense attention and, if moe, expert feed-forward. Weights come from a fixed sequence.
func Tiny(moe bool) (Memory, *format.Laid) {
	d := Draft(moe)
	m, l, err := Build(d)
	if err != nil {
		panic(fmt.Sprintf("formattest: %v", err)) // our own mistake: the draft is fixed
	}
	return m, l
}

// Build lays, fills (from a fixed sequence) and seals a draft in memory.
func Build(d *format.Draft) (Memory, *format.Laid, error) {
	l, err := format.Lay(d)
	if err != nil {
		return nil, nil, err
	}
	m := make(Memory, l.Length)
	for i := range d.Tensors {
		fill(m, d, i)
	}
	_, err = format.Seal(context.Background(), m, l, format.SealOptions{Workers: 1})
	return m, l, err
}

// fill writes a tensor's float32 elements and its digest.
func fill(m Memory, d *format.Draft, i int) {
	t := &d.Tensors[i]
	x := uint32(i)*2654435761 + 12345
	var source []byte
	for p := range t.Slots {
		at := d.Slots[t.FirstSlot+p].Offset + t.SlotOffset
		b := m[at : at+t.PartBytes(p)]
		for j := 0; j+4 <= len(b); j += 4 {
			x = x*1664525 + 1013904223
			v := (float32(x>>8)/float32(1<<24) - 0.5) / 4
			if t.Rows == 1 {
				v++ // norm weights around 1
			}
			binary.LittleEndian.PutUint32(b[j:], math.Float32bits(v))
		}
		source = append(source, b...)
	}
	t.Digest = blake3.Sum256(source)
}

// Reseal computes the digests of small sections, chunks, provenance, table of contents and header anew after bytes of small sections were changed in
// place, so that only the change itself can be noticed. Digests of slots and of weight sections stay as they were.
func Reseal(m Memory) error { return ResealWith(m, func() {}) }

// ResealWith is Reseal with a change after the chain of provenance was written and before its digest is taken.
func ResealWith(m Memory, change func()) error {
	h, err := format.DecodeHeader(m)
	if err != nil {
		return err
	}
	toc, err := format.DecodeTOC(m[h.TOCOffset : h.TOCOffset+h.TOCLength])
	if err != nil {
		return err
	}
	for i, s := range toc.Sections {
		if !s.Kind.Weights() && s.Kind != format.SectionProvenance && s.Kind != format.SectionChunks {
			toc.Sections[i].Digest = blake3.Sum256(m[s.Offset:s.End()])
		}
	}
	for i, s := range toc.Sections {
		if s.Kind == format.SectionProvenance {
			b, err := format.EncodeProvenance(toc, h.Target)
			if err != nil {
				return err
			}
			copy(m[s.Offset:], b)
			change()
			toc.Sections[i].Digest = blake3.Sum256(m[s.Offset:s.End()])
		}
	}
	list := &toc.Sections[len(toc.Sections)-1]
	rechunk(m, toc.Sections[0], *list)
	list.Digest = blake3.Sum256(m[list.Offset:list.End()])
	b, err := format.EncodeTOC(toc)
	if err != nil {
		return err
	}
	copy(m[h.TOCOffset:], b)
	h.TOCLength, h.TOCDigest = uint64(len(b)), sha256.Sum256(b)
	head, err := format.EncodeHeader(h)
	if err != nil {
		return err
	}
	copy(m, head)
	return nil
}
