package restore

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sort"

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
		row := &set.Files[t.Shard].Tensors[t.Index]
		r.aside = append(r.aside, aside{row.Offset, row.Size, t})
	}
	for _, r := range readers {
		slices.SortFunc(r.(*sourceReader).aside, func(a, b aside) int { return cmp.Compare(a.offset, b.offset) })
	}
	return set, nil
}

// sourceReader reads a source file as far as it is known.
type sourceReader struct {
	prefix
	ctx   context.Context
	c     *format.Container
	gaps  []format.Gap // in the order of the file, as asides are: a file may have a million of each, and as many reads
	aside []aside
}

// aside is a tensor whose bytes lie plain in the container.
type aside struct {
	offset, size uint64 // in the source file
	t            format.Tensor
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
	from, to := uint64(off), uint64(off)+uint64(n)
	for i := behind(len(r.gaps), from, func(i int) uint64 { return r.gaps[i].Offset + r.gaps[i].Length }); i < len(r.gaps) && r.gaps[i].Offset < to; i++ {
		if g := &r.gaps[i]; g.Data != nil {
			overlay(b[:n], from, g.Data, g.Offset)
		}
	}
	for i := behind(len(r.aside), from, func(i int) uint64 { return r.aside[i].offset + r.aside[i].size }); i < len(r.aside) && r.aside[i].offset < to; i++ {
		if err := r.readAside(b[:n], from, &r.aside[i]); err != nil {
			return 0, err
		}
	}
	return n, err
}

// behind is the first of n ranges, ascending and without overlaps, that ends after an offset.
func behind(n int, off uint64, end func(i int) uint64) int {
	return sort.Search(n, func(i int) bool { return end(i) > off })
}

// readAside reads that part of a tensor which falls into b, which lies at off.
func (r *sourceReader) readAside(b []byte, off uint64, a *aside) error {
	end := min(a.offset+a.size, off+uint64(len(b)))
	first, part := uint64(0), a.t.PartBytes(0) // every part but the last has as many bytes as the first
	if off > a.offset {
		first = (off - a.offset) / part
	}
	for p := first; p < uint64(a.t.Slots); p++ {
		at := a.offset + p*part
		from, to := max(at, off), min(at+a.t.PartBytes(uint32(p)), end)
		if from >= to {
			return nil
		}
		in := r.c.Slots.At(int(a.t.FirstSlot)+int(p)).Offset + a.t.SlotOffset + from - at
		if k, err := r.c.ReadAt(b[from-off:to-off], int64(in)); uint64(k) < to-from {
			return fmt.Errorf("reading %d bytes at %d: %w", to-from, in, err)
		}
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
