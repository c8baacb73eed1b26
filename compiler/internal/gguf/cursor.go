package gguf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unsafe"
)

// maxHeader bounds key-values and tensor table together. Real headers stay below 64 MiB; the bound keeps a sparse file of
// terabytes from being walked for hours.
const maxHeader = 1 << 30

// chunk is how much is read or allocated ahead of proof that the bytes exist.
const chunk = 256 << 10

// cursor reads the header forwards through a buffer. Every read is checked against the bytes left before anything is
// allocated. After an error it stays failed.
type cursor struct {
	r    io.ReaderAt
	size int64 // of the file
	end  int64 // where the header must have ended: size or maxHeader
	pos  int64 // of the next byte to be returned
	buf  []byte
	at   int // index of pos in buf
}

func newCursor(r io.ReaderAt, size int64) *cursor {
	return &cursor{r: r, size: size, end: min(size, maxHeader), buf: make([]byte, 0, min(size, chunk))}
}

func (c *cursor) left() uint64 { return uint64(c.end - c.pos) }

// short is the error for a length n that the file has no room for.
func (c *cursor) short(what string, n uint64) error {
	if c.end < c.size {
		return fmt.Errorf("%w: %s (%d bytes) goes beyond the header limit of %d bytes", ErrUnsupported, what, n, int64(maxHeader))
	}
	return fmt.Errorf("%w: %s needs %d bytes, %d are left in the file; it may be an incomplete download", ErrCorrupt, what, n, c.left())
}

// next returns the following n bytes, n ≤ 8; they are valid until the next call.
func (c *cursor) next(n int, what string) ([]byte, error) {
	if uint64(n) > c.left() {
		return nil, c.short(what, uint64(n))
	}
	if c.at+n > len(c.buf) {
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
	p := c.buf[c.at : c.at+n]
	c.at += n
	c.pos += int64(n)
	return p, nil
}

// fill starts the buffer anew at pos.
func (c *cursor) fill() error {
	n := min(int64(cap(c.buf)), c.end-c.pos)
	c.buf, c.at = c.buf[:n], 0
	if err := readFull(c.r, c.buf, c.pos); err != nil {
		c.buf = c.buf[:0]
		return err
	}
	return nil
}

func (c *cursor) u8(what string) (uint8, error) {
	p, err := c.next(1, what)
	if err != nil {
		return 0, err
	}
	return p[0], nil
}

func (c *cursor) u16(what string) (uint16, error) {
	p, err := c.next(2, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint16(p), nil
}

func (c *cursor) u32(what string) (uint32, error) {
	p, err := c.next(4, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(p), nil
}

func (c *cursor) u64(what string) (uint64, error) {
	p, err := c.next(8, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(p), nil
}

// skip passes over n bytes without reading them.
func (c *cursor) skip(n uint64, what string) error {
	if n > c.left() {
		return c.short(what, n)
	}
	c.pos += int64(n)
	if n <= uint64(len(c.buf)-c.at) {
		c.at += int(n)
	} else {
		c.buf, c.at = c.buf[:0], 0
	}
	return nil
}

// str reads a string: a 64-bit length and its bytes.
func (c *cursor) str(what string, limit uint64) (string, error) {
	n, err := c.u64(what)
	if err != nil {
		return "", err
	}
	if n > c.left() {
		return "", c.short(what, n)
	}
	if n > limit {
		return "", fmt.Errorf("%w: %s of %d bytes, at most %d are allowed", ErrCorrupt, what, n, limit)
	}
	if n <= uint64(len(c.buf)-c.at) {
		s := string(c.buf[c.at : c.at+int(n)])
		return s, c.skip(n, what)
	}
	p, err := readRange(c.r, c.pos, n)
	if err != nil {
		return "", err
	}
	return unsafe.String(unsafe.SliceData(p), len(p)), c.skip(n, what)
}

// readRange reads n bytes at off. It grows as bytes arrive, so that a reader which is shorter than it claimed costs little.
func readRange(r io.ReaderAt, off int64, n uint64) ([]byte, error) {
	p := make([]byte, 0, min(n, 1<<20))
	for uint64(len(p)) < n {
		if len(p) == cap(p) {
			bigger := make([]byte, len(p), min(n, 4*uint64(cap(p))))
			copy(bigger, p)
			p = bigger
		}
		old := len(p)
		p = p[:cap(p)]
		if err := readFull(r, p[old:], off+int64(old)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// readFull fills p or fails. An end of file is corruption: the range was promised to lie inside.
func readFull(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: file ended at offset %d while being read; it is shorter than when it was opened", ErrCorrupt, off+int64(n))
	}
	return err
}
