package restore

import (
	"fmt"
	"io"

	"jns/compiler/internal/gguf"
	"jns/format"
)

// Source opens the source of a container as far as the container holds it as plain bytes: headers, gaps, and the tensors that
// were set aside. All other tensors read as zeros. It is enough to compile everything but weights once more.
func Source(c *format.Container) (*gguf.Set, error) {
	files, err := c.SourceFiles()
	if err != nil {
		return nil, err
	}
	readers := make([]io.ReaderAt, len(files))
	sizes := make([]int64, len(files))
	for i, f := range files {
		readers[i], sizes[i] = &sourceReader{prefix{f.Header, int64(f.Length)}, c, f.Gaps, nil}, int64(f.Length)
	}
	set, err := gguf.OpenReaders(readers, sizes)
	if err != nil {
		return nil, fmt.Errorf("source section: %w", err)
	}
	for i := range c.Tensors.Len() {
		t := c.Tensors.At(i)
		if t.Class != format.ClassAside {
			continue
		}
		if int(t.Shard) >= len(set.Files) || int(t.Index) >= len(set.Files[t.Shard].Tensors) {
			return nil, fmt.Errorf("%w: tensor %q is not in the source's header", format.ErrCorrupt, t.Name)
		}
		r := readers[t.Shard].(*sourceReader)
		r.aside = append(r.aside, aside{set.Files[t.Shard].Tensors[t.Index].Offset, t})
	}
	return set, nil
}

// sourceReader reads a source file as far as it is known.
type sourceReader struct {
	prefix
	c     *format.Container
	gaps  []format.Gap
	aside []aside
}

// aside is a tensor whose bytes lie plain in the container.
type aside struct {
	offset uint64 // in the source file
	t      format.Tensor
}

// ReadAt fills b with what is known and zeros elsewhere.
func (r *sourceReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := r.prefix.ReadAt(b, off)
	if n == 0 {
		return n, err
	}
	for _, g := range r.gaps {
		if g.Data != nil {
			overlay(b[:n], uint64(off), g.Data, g.Offset)
		}
	}
	for _, a := range r.aside {
		at := a.offset
		for p := range a.t.Slots {
			size := a.t.PartBytes(p)
			if at < uint64(off)+uint64(n) && uint64(off) < at+size {
				part := make([]byte, min(size, 64<<20))
				if _, err := r.c.ReadAt(part, int64(r.c.Slots.At(int(a.t.FirstSlot+p)).Offset+a.t.SlotOffset)); err != nil {
					return 0, err
				}
				overlay(b[:n], uint64(off), part, at)
			}
			at += size
		}
	}
	return n, err
}

// overlay copies that part of data, which lies at from, that falls into b, which lies at off.
func overlay(b []byte, off uint64, data []byte, from uint64) {
	switch {
	case from >= off+uint64(len(b)) || off >= from+uint64(len(data)):
	case from >= off:
		copy(b[from-off:], data)
	default:
		copy(b, data[off-from:])
	}
}
