package restore

import (
	"context"
	"fmt"
	"io"

	"jns/compiler/internal/gguf"
	"jns/format"
)

// Source opens the source of a container as far as the container holds it as plain bytes: headers, gaps, and the tensors that
// were set aside. All other tensors read as zeros. It is enough to compile everything but weights once more. Reading fails
// when ctx ends.
func Source(ctx context.Context, c *format.Container) (*gguf.Set, error) {
	files, err := c.SourceFiles()
	if err != nil {
		return nil, err
	}
	readers := make([]io.ReaderAt, len(files))
	sizes := make([]int64, len(files))
	for i, f := range files {
		readers[i], sizes[i] = &sourceReader{prefix{f.Header, int64(f.Length)}, ctx, c, f.Gaps, nil}, int64(f.Length)
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
	ctx   context.Context
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
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
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
		if err := r.readAside(b[:n], uint64(off), &a); err != nil {
			return 0, err
		}
	}
	return n, err
}

// readAside reads that part of a tensor which falls into b, which lies at off.
func (r *sourceReader) readAside(b []byte, off uint64, a *aside) error {
	at := a.offset
	for p := range a.t.Slots {
		size := a.t.PartBytes(p)
		from, to := max(at, off), min(at+size, off+uint64(len(b)))
		if from < to {
			in := r.c.Slots.At(int(a.t.FirstSlot+p)).Offset + a.t.SlotOffset + from - at
			if k, err := r.c.ReadAt(b[from-off:to-off], int64(in)); uint64(k) < to-from {
				return fmt.Errorf("reading %d bytes at %d: %w", to-from, in, err)
			}
		}
		at += size
	}
	return nil
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
