package restore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"jns/compiler/internal/gguf"
	"jns/compiler/internal/pack"
	"jns/format"
	"jns/kernels/tile"
)

// ErrMismatch means that what was put together does not have the digest of the source. The container is damaged.
var ErrMismatch = errors.New("restored file differs from the source")

// stripBytes is how much of a tensor is handled at once.
const stripBytes = 1 << 20

// Output is a file under construction.
type Output interface {
	io.ReaderAt
	io.WriterAt
}

// Options say how to restore.
type Options struct {
	Workers  int
	Progress func(bytes uint64) // bytes written since the last call; called from several goroutines
}

// Tensor puts one tensor of a container together and hands its source bytes to write in pieces, in order. typ is its type in
// the source, which differs from the container's for widened vectors.
func Tensor(c *format.Container, i int, typ gguf.Type, write func(b []byte, off uint64) error) error {
	t := c.Tensors.At(i)
	r := &reader{c: c, t: &t, typ: typ, write: write}
	for p := range t.Slots {
		if err := r.part(p); err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
	}
	return nil
}

// File writes file number shard of the source to out and checks its digest.
func File(ctx context.Context, c *format.Container, shard int, out Output, opt Options) error {
	files, err := c.SourceFiles()
	if err != nil {
		return err
	}
	if shard < 0 || shard >= len(files) || shard >= len(c.TOC.Source) {
		return fmt.Errorf("no file %d in a source of %d", shard, len(files))
	}
	f := files[shard]
	header, err := gguf.Parse(prefix{f.Header, int64(f.Length)}, int64(f.Length))
	if err != nil {
		return fmt.Errorf("header in the source section: %w", err)
	}
	if err := covered(&f, header); err != nil {
		return err
	}
	if _, err := out.WriteAt(f.Header, 0); err != nil {
		return err
	}
	for _, g := range f.Gaps {
		if err := writeGap(out, g); err != nil {
			return err
		}
	}
	if err := tensors(ctx, c, shard, header, out, opt); err != nil {
		return err
	}
	sum, err := hash(ctx, out, f.Length)
	if err != nil {
		return err
	}
	if sum != c.TOC.Source[shard].SHA256 {
		return fmt.Errorf("%w: file %d has SHA-256 %x, the source had %x; run jnsc verify", ErrMismatch, shard, sum, c.TOC.Source[shard].SHA256)
	}
	return nil
}

// covered proves that header, gaps and tensors are the whole file, before anybody waits for a file of a length that nothing stands behind.
func covered(f *format.SourceFile, header *gguf.File) error {
	n := uint64(len(f.Header))
	for _, g := range f.Gaps {
		n += g.Length
	}
	for i := range header.Tensors {
		n += header.Tensors[i].Size
	}
	if n != f.Length {
		return fmt.Errorf("%w: header, gaps and tensors of the source section are %d bytes, the file had %d", format.ErrCorrupt, n, f.Length)
	}
	return nil
}

// prefix reads a file of which only the header is at hand; the rest reads as zeros.
type prefix struct {
	head []byte
	size int64
}

func (p prefix) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 || off >= p.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(b)), p.size-off))
	clear(b[:n])
	if off < int64(len(p.head)) {
		copy(b[:n], p.head[off:])
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func writeGap(out io.WriterAt, g format.Gap) error {
	if g.Data != nil {
		_, err := out.WriteAt(g.Data, int64(g.Offset))
		return err
	}
	zeros := make([]byte, min(g.Length, stripBytes))
	for at := uint64(0); at < g.Length; at += uint64(len(zeros)) {
		if _, err := out.WriteAt(zeros[:min(uint64(len(zeros)), g.Length-at)], int64(g.Offset+at)); err != nil {
			return err
		}
	}
	return nil
}

// tensors writes all tensors of a file in parallel.
func tensors(ctx context.Context, c *format.Container, shard int, header *gguf.File, out io.WriterAt, opt Options) error {
	var mine []int
	for i := range c.Tensors.Len() {
		t := c.Tensors.At(i)
		if int(t.Shard) != shard {
			continue
		}
		if uint64(t.Index) >= uint64(len(header.Tensors)) {
			return fmt.Errorf("%w: tensor %q is row %d of a table of %d", format.ErrCorrupt, t.Name, t.Index, len(header.Tensors))
		}
		mine = append(mine, i)
	}
	if len(mine) != len(header.Tensors) {
		return fmt.Errorf("%w: %d tensors of file %d, its header lists %d", format.ErrCorrupt, len(mine), shard, len(header.Tensors))
	}
	workers := opt.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var (
		next atomic.Int64
		wg   sync.WaitGroup
		once sync.Once
		fail error
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range workers {
		wg.Go(func() {
			for {
				k := int(next.Add(1)) - 1
				if k >= len(mine) {
					return
				}
				if err := tensor(ctx, c, mine[k], header, out, opt); err != nil {
					once.Do(func() { fail = err })
					cancel()
					return
				}
			}
		})
	}
	wg.Wait()
	return fail
}

func tensor(ctx context.Context, c *format.Container, i int, header *gguf.File, out io.WriterAt, opt Options) error {
	t := c.Tensors.At(i)
	row := &header.Tensors[t.Index]
	done := uint64(0)
	err := Tensor(c, i, row.Type, func(b []byte, off uint64) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if off+uint64(len(b)) > row.Size {
			return fmt.Errorf("%w: more bytes than the source's %d", format.ErrCorrupt, row.Size)
		}
		if _, err := out.WriteAt(b, int64(row.Offset+off)); err != nil {
			return err
		}
		done += uint64(len(b))
		if opt.Progress != nil {
			opt.Progress(uint64(len(b)))
		}
		return nil
	})
	if err == nil && done != row.Size {
		err = fmt.Errorf("%w: tensor %q gives %d of %d bytes", format.ErrCorrupt, t.Name, done, row.Size)
	}
	return err
}

// hash is the SHA-256 of a file.
func hash(ctx context.Context, r io.ReaderAt, size uint64) (sum [32]byte, err error) {
	h := sha256.New()
	b := make([]byte, stripBytes)
	for at := uint64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		n := min(uint64(len(b)), size-at)
		if k, err := r.ReadAt(b[:n], int64(at)); uint64(k) < n {
			return sum, fmt.Errorf("reading back: %w", err)
		}
		h.Write(b[:n])
		at += n
	}
	return [32]byte(h.Sum(nil)), nil
}

// reader gives a tensor's source bytes from its slots.
type reader struct {
	c        *format.Container
	t        *format.Tensor
	typ      gguf.Type
	off      uint64 // source bytes given so far
	src, dst []byte
	write    func(b []byte, off uint64) error
}

// part gives the bytes of one slot.
func (r *reader) part(p uint32) error {
	t := r.t
	l, err := layoutOf(t)
	if err != nil {
		return err
	}
	rows := t.PartRows(p)
	at := r.c.Slots.At(int(t.FirstSlot+p)).Offset + t.SlotOffset
	if l == nil {
		return r.plain(at, t.PartBytes(p))
	}
	rowBytes := uint64(l.Codec.RowBytes(int(t.Cols)))
	tileRows := uint64(l.Rows)
	step := max(1, stripBytes/t.TileRowBytes)
	for row := uint64(0); row < rows; row += step * tileRows {
		n := min(step*tileRows, rows-row)
		tiles := (n + tileRows - 1) / tileRows
		r.src = grown(r.src, tiles*t.TileRowBytes)
		r.dst = grown(r.dst, tiles*tileRows*rowBytes)
		if err := r.read(at); err != nil {
			return err
		}
		at += uint64(len(r.src))
		for k := range tiles {
			l.Unpack(r.dst[k*tileRows*rowBytes:(k+1)*tileRows*rowBytes], r.src[k*t.TileRowBytes:(k+1)*t.TileRowBytes], int(t.Cols))
		}
		// Rows that fill up the last tile are zero (JNS-33): nothing of a container stands where nobody looks.
		if slices.ContainsFunc(r.dst[n*rowBytes:], func(b byte) bool { return b != 0 }) {
			return fmt.Errorf("%w: the rows that fill up the tile at offset %d of the file are not zero", format.ErrCorrupt, at-t.TileRowBytes)
		}
		if err := r.give(r.dst[:n*rowBytes]); err != nil {
			return err
		}
	}
	return nil
}

// plain gives bytes that lie as in the source, or as widened floats.
func (r *reader) plain(at, n uint64) error {
	for n > 0 {
		r.src = grown(r.src, min(n, stripBytes))
		if err := r.read(at); err != nil {
			return err
		}
		b := r.src
		at, n = at+uint64(len(b)), n-uint64(len(b))
		if r.t.Class == format.ClassPinned {
			var err error
			if b, err = pack.Narrow(r.typ, b); err != nil {
				return fmt.Errorf("%w: %v", format.ErrCorrupt, err)
			}
		}
		if err := r.give(b); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) read(at uint64) error {
	if n, err := r.c.ReadAt(r.src, int64(at)); n < len(r.src) {
		return fmt.Errorf("reading %d bytes at %d: %w", len(r.src), at, err)
	}
	return nil
}

func (r *reader) give(b []byte) error {
	if err := r.write(b, r.off); err != nil {
		return err
	}
	r.off += uint64(len(b))
	return nil
}

// layoutOf finds a tensor's layout, nil for plain bytes, and checks that the table's numbers are the layout's.
func layoutOf(t *format.Tensor) (*tile.Layout, error) {
	if t.Layout == 0 {
		return nil, nil
	}
	l, ok := tile.ByID(tile.ID(t.Layout))
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: layout %d", format.ErrUnsupported, t.Layout)
	case uint32(l.Type) != t.Type || uint32(l.Rows) != t.TileRows || t.Cols%uint64(l.Codec.Elems) != 0 || t.Cols > 1<<31 ||
		uint64(l.RowBytes(int(t.Cols))) != t.TileRowBytes || t.TileRowBytes > 64<<20:
		return nil, fmt.Errorf("%w: the table's sizes are not those of layout %s", format.ErrCorrupt, l.Name)
	}
	return l, nil
}

// grown is a buffer of n bytes, p's memory if that is enough.
func grown(p []byte, n uint64) []byte {
	if uint64(cap(p)) < n {
		return make([]byte, n)
	}
	return p[:n]
}
