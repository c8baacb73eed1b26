package fetch

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/zeebo/blake3"

	"jns/format"
)

// rule says what the bytes of every chunk must be.
type rule struct {
	size  int64
	list  [][32]byte // BLAKE3 of every whole chunk; or of its part between from and to
	exact bool       // list covers whole chunks

	// Of a container: what lies before and behind the range that its list covers.
	from, to int64
	head     []byte // header and table of contents; zeros follow up to from
	tail     []byte // the chunk list itself, from to on

	anchored bool   // list or head were vouched for by the caller: chunks that pass are proved
	proof    string // in words
}

func (r *rule) chunks() int { return int((r.size + format.ChunkSize - 1) / format.ChunkSize) }

// span is the range of chunk i.
func (r *rule) span(i int) (lo, hi int64) {
	lo = int64(i) * format.ChunkSize
	return lo, min(lo+format.ChunkSize, r.size)
}

// check gives the BLAKE3 of a chunk's bytes and whether they are right as far as the rule knows.
func (r *rule) check(i int, b []byte) (sum [32]byte, good bool) {
	sum = blake3.Sum256(b)
	switch {
	case r.list == nil:
		return sum, true
	case r.exact:
		return sum, sum == r.list[i]
	}
	lo, hi := r.span(i)
	a, z := min(max(lo, r.from), hi), max(min(hi, r.to), lo)
	z = max(a, z)
	if a == lo && z == hi {
		return sum, sum == r.list[i]
	}
	for at := lo; at < a; at++ { // at most two chunks of a file reach here
		want := byte(0)
		if at < int64(len(r.head)) {
			want = r.head[at]
		}
		if b[at-lo] != want {
			return sum, false
		}
	}
	if z < hi && !bytes.Equal(b[z-lo:], r.tail[z-r.to:hi-r.to]) {
		return sum, false
	}
	return sum, i >= len(r.list) || blake3.Sum256(b[a-lo:z-lo]) == r.list[i]
}

// blind is the rule of a file of which nothing but the size is known.
func blind(size int64) *rule { return &rule{size: size, proof: "size"} }

// listed is the rule of a published list.
func listed(size int64, list [][32]byte) (*rule, error) {
	r := &rule{size: size, list: list, exact: true, anchored: true, proof: "BLAKE3 of every chunk"}
	if size <= 0 || size > format.MaxFile || r.chunks() != len(list) {
		return nil, fmt.Errorf("%w: %d digests of chunks do not belong to %d bytes", ErrRefused, len(list), size)
	}
	return r, nil
}

// maxTail bounds the chunk list of a container: it is enough for 2 TiB.
const maxTail = 64 << 20

// carried makes the rule of a container from the list it carries. read gives ranges of a file of size bytes. root, if given, must be its root digest, and then everything
// follows from it. Errors wrap format's sentinels or ErrDigest.
func carried(size int64, root *[32]byte, read func(from, to int64) ([]byte, error)) (*rule, error) {
	if size < format.HeaderSize {
		return nil, fmt.Errorf("%w: %d bytes are too few for a container", format.ErrMagic, size)
	}
	head, err := read(0, format.HeaderSize)
	if err != nil {
		return nil, err
	}
	h, err := format.DecodeHeader(head)
	if err != nil {
		return nil, err
	}
	if root != nil && h.Digest != *root {
		return nil, fmt.Errorf("%w: root digest %x, wanted %x: this is another container", ErrDigest, h.Digest, *root)
	}
	if h.Length != uint64(size) {
		return nil, fmt.Errorf("%w: the header says %d bytes, the file has %d", format.ErrCorrupt, h.Length, size)
	}
	toc, err := read(format.HeaderSize, format.HeaderSize+int64(h.TOCLength))
	if err != nil {
		return nil, err
	}
	if sha256.Sum256(toc) != h.TOCDigest {
		return nil, fmt.Errorf("%w: the table of contents", format.ErrDigest)
	}
	t, err := format.DecodeTOC(toc)
	if err != nil {
		return nil, err
	}
	r := &rule{size: size, head: append(head, toc...), anchored: root != nil, proof: "root digest and BLAKE3 of every chunk"}
	if len(t.Sections) < 2 {
		return nil, fmt.Errorf("%w: no sections", format.ErrCorrupt)
	}
	first, last := t.Sections[0], t.Sections[len(t.Sections)-1]
	n := (last.Offset + format.ChunkSize - 1) / format.ChunkSize
	if last.Kind != format.SectionChunks || first.Offset > 2*format.ChunkSize || first.Offset < uint64(len(r.head)) || last.Offset < first.Offset ||
		last.Offset > uint64(size) || last.Length != 32*n || last.Offset+last.Length != uint64(size) || last.Length > maxTail {
		return nil, fmt.Errorf("%w: the sections do not fit the file", format.ErrCorrupt)
	}
	r.from, r.to = int64(first.Offset), int64(last.Offset)
	if r.tail, err = read(r.to, size); err != nil {
		return nil, err
	}
	if blake3.Sum256(r.tail) != last.Digest {
		return nil, fmt.Errorf("%w: the list of chunk digests", format.ErrDigest)
	}
	r.list = make([][32]byte, n)
	for i := range r.list {
		r.list[i] = [32]byte(r.tail[32*i:])
	}
	return r, nil
}
