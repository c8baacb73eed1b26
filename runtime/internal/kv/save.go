package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unsafe"
)

// A cache as bytes, little-endian, for a program's states in their order:
//
//	each state          as below
//	marks   u32         at most 4, ascending, below the cache's number of positions n or at it
//	each mark           position u64, then those states of which the cache forgets: windows and recurrent ones
//
//	keys and values     low u32: the first page that is there; then the pages from low to the one of the last position, each as it lies in memory
//	recurrent state     its numbers, float32; nothing at position 0
//
// Positions of a page beyond the last are zero, so that equal caches have equal bytes and nothing of another session is in them.

// ErrSaved is wrapped by errors about bytes that are no saved cache of these states.
var ErrSaved = errors.New("not a saved state of this program")

// Save writes the cache.
func (c *Cache) Save(w io.Writer) error {
	e := encoder{w: w}
	for state := range c.pages {
		e.state(&c.store.shapes[state], c.pages[state], c.low[state], c.n)
	}
	marks := c.holdMarks()
	defer c.letMarks(marks)
	e.u32(uint32(len(marks)))
	for i := range marks {
		m := &marks[i]
		e.u64(uint64(m.n))
		for state, l := range m.pages {
			if s := &c.store.shapes[state]; s.passing() {
				e.state(s, l, m.low[state], m.n)
			}
		}
	}
	return e.err
}

type encoder struct {
	w    io.Writer
	err  error
	page []byte
}

func (e *encoder) bytes(b []byte) {
	if e.err == nil {
		_, e.err = e.w.Write(b)
	}
}

func (e *encoder) u32(v uint32) { e.bytes(binary.LittleEndian.AppendUint32(nil, v)) }
func (e *encoder) u64(v uint64) { e.bytes(binary.LittleEndian.AppendUint64(nil, v)) }

// state writes a state's pages after n positions.
func (e *encoder) state(s *Shape, pages []*Page, low, n int) {
	last := (n + Chunk - 1) / Chunk
	if s.Recurrent > 0 {
		low, last = 0, min(n, 1)
	} else {
		e.u32(uint32(low))
	}
	for i := low; i < last; i++ {
		e.page = append(e.page[:0], pages[i].bytes()...)
		if used := n - i*Chunk; s.Recurrent == 0 && used < Chunk {
			s.clearFrom(e.page, used)
		}
		e.bytes(e.page)
	}
}

// bytes is the page's memory. Numbers lie in it as the machine has them, and every machine that this runs on is little-endian.
func (p *Page) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(p.mem))), 2*len(p.mem))
}

// clearFrom zeroes the positions from pos on of a page of keys and values.
func (s *Shape) clearFrom(page []byte, pos int) {
	// Keys are [elements][Chunk], values [Chunk][elements]; in eight bits the scales of both follow in the same order.
	columns := func(b []byte, rows, size int) []byte {
		for r := range rows {
			clear(b[(r*Chunk+pos)*size : (r+1)*Chunk*size])
		}
		return b[rows*Chunk*size:]
	}
	rows := func(b []byte, width, size int) []byte {
		clear(b[pos*width*size : Chunk*width*size])
		return b[Chunk*width*size:]
	}
	blocks := func(n int) int { return (n + block - 1) / block }
	for range s.KVHeads {
		if !s.Eight {
			page = rows(columns(page, s.KeyDim, 2), s.ValDim, 2)
			continue
		}
		page = columns(columns(page, s.KeyDim, 1), blocks(s.KeyDim), 2)
		page = rows(rows(page, s.ValDim, 1), blocks(s.ValDim), 2)
	}
}

// Load reads a cache of n positions, at most limit, that Save has written. Nothing in r is trusted but n.
func (s *Store) Load(r io.Reader, n, limit int) (_ *Cache, err error) {
	if n < 0 || n > limit {
		return nil, fmt.Errorf("%w: %d positions, limit %d (raise it with --ctx)", ErrFull, n, limit)
	}
	c := s.NewCache(limit)
	c.n = n
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	d := decoder{r: r, store: s}
	for state := range s.shapes {
		if c.pages[state], c.low[state], err = d.state(state, n); err != nil {
			return nil, err
		}
	}
	marks, err := d.u32()
	if err != nil {
		return nil, err
	}
	if marks > maxMarks {
		return nil, fmt.Errorf("%w: %d marks, %d at most", ErrSaved, marks, maxMarks)
	}
	before := 0
	for range marks {
		if before, err = d.mark(c, before); err != nil {
			return nil, err
		}
	}
	return c, nil
}

type decoder struct {
	r      io.Reader
	store  *Store
	buf    [8]byte
	copied []byte
}

func (d *decoder) u32() (uint32, error) {
	_, err := io.ReadFull(d.r, d.buf[:4])
	return binary.LittleEndian.Uint32(d.buf[:]), cut(err)
}

func (d *decoder) u64() (uint64, error) {
	_, err := io.ReadFull(d.r, d.buf[:8])
	return binary.LittleEndian.Uint64(d.buf[:]), cut(err)
}

// cut makes the end of the data what it is here.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends too early", ErrSaved)
	}
	return err
}

// state reads a state's pages after n positions.
func (d *decoder) state(state, n int) (pages []*Page, low int, err error) {
	s := &d.store.shapes[state]
	count := (n + Chunk - 1) / Chunk
	if s.Recurrent > 0 {
		count = min(n, 1)
	} else {
		v, err := d.u32()
		if err != nil {
			return nil, 0, err
		}
		first := 0 // what the next query sees
		if s.Window > 0 {
			first = max(n-s.Window+1, 0)
		}
		if low = int(v); uint64(v) > uint64(count) || low*Chunk > first {
			return nil, 0, fmt.Errorf("%w: state %d begins with page %d", ErrSaved, state, v)
		}
	}
	pages = make([]*Page, low, count)
	for i := low; i < count && err == nil; i++ {
		var p *Page
		if p, err = d.store.get(state); err != nil {
			break
		}
		pages = append(pages, p)
		err = d.page(s, p, n-i*Chunk)
	}
	if err != nil {
		for _, p := range pages {
			d.store.put(state, p)
		}
		return nil, 0, fmt.Errorf("state %d: %w", state, err)
	}
	return pages, low, nil
}

// page reads a page of which so many positions are used.
func (d *decoder) page(s *Shape, p *Page, used int) error {
	if _, err := io.ReadFull(d.r, p.bytes()); err != nil {
		return cut(err)
	}
	if s.Recurrent > 0 || used >= Chunk {
		return nil
	}
	d.copied = append(d.copied[:0], p.bytes()...)
	s.clearFrom(d.copied, used)
	if !bytes.Equal(d.copied, p.bytes()) {
		return fmt.Errorf("%w: numbers beyond the last position", ErrSaved)
	}
	return nil
}

// mark reads a mark behind position before.
func (d *decoder) mark(c *Cache, before int) (n int, err error) {
	at, err := d.u64()
	if err != nil {
		return 0, err
	}
	if at <= uint64(before) || at > uint64(c.n) {
		return 0, fmt.Errorf("%w: a mark at position %d of %d", ErrSaved, at, c.n)
	}
	s := c.store
	m := mark{n: int(at), pages: make([][]*Page, len(c.pages)), low: make([]int, len(c.pages))}
	for state := range c.pages {
		if !s.shapes[state].passing() {
			continue
		}
		if m.pages[state], m.low[state], err = d.state(state, m.n); err != nil {
			c.letMarks([]mark{m})
			return 0, err
		}
	}
	c.takeMarks([]mark{m})
	return m.n, nil
}
