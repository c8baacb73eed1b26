// Package kv holds what a session remembers: the keys and values of every position, in pages, and the states of recurrent layers.
//
// Its nouns: a Shape (what one page of one state looks like), a Page (KVChunk consecutive absolute positions of one state), a Cache (all pages of one session), a mark (what windows
// and recurrent states were at an earlier position, so that a cache can go back there: mark.go). save.go writes a cache and reads it back.
// Pages come as positions come; a sliding window gives whole pages back; pages are reference-counted, so that a fork shares what both have seen.
// It must not know operations or arithmetic: it gives out memory. Page layout, per KV head: keys transposed [KeyDim][Chunk], then values [Chunk][ValDim], IEEE half; or both in eight bits, each
// followed by the scales of its blocks (kernels.Vec says how).
package kv

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Chunk is the number of positions in a page; attention's results depend on it (kernels.KVChunk).
const Chunk = 64

// ErrFull is returned when a session would pass its limit of positions.
var ErrFull = errors.New("context is full")

// ErrMemory is returned when pages would take more memory than there is.
var ErrMemory = errors.New("keys and values do not fit the memory")

// ErrGone is returned for positions that a sliding window has dropped, or that a recurrent state has gone past.
var ErrGone = errors.New("positions are no longer in the window")

// Shape describes the pages of one state.
type Shape struct {
	KVHeads, KeyDim, ValDim int
	Window                  int  // 0: everything is kept
	Recurrent               int  // float32 numbers of a state that every position changes; 0: keys and values
	Eight                   bool // keys and values in eight bits
}

// passing says that the state forgets: positions leave a window, a recurrent state has only its present.
func (s Shape) passing() bool { return s.Window > 0 || s.Recurrent > 0 }

// HeadBytes is the distance between two heads in a page.
func (s Shape) HeadBytes() int { return s.bytes(s.KeyDim) + s.bytes(s.ValDim) }

// block is the number of elements that share a scale, a half, in pages of eight bits.
const block = 32

// bytes is what a head's rows of n elements take.
func (s Shape) bytes(n int) int {
	if s.Eight {
		return Chunk * (n + 2*((n+block-1)/block))
	}
	return 2 * Chunk * n
}

// PageBytes is the size of a page.
func (s Shape) PageBytes() int {
	if s.Recurrent > 0 {
		return 4 * s.Recurrent
	}
	return s.KVHeads * s.HeadBytes()
}

// Page is the memory of Chunk positions of one state, or all of a recurrent one.
type Page struct {
	mem  []uint16
	refs atomic.Int32
}

// Key is the start of a head's keys.
func (p *Page) Key(s *Shape, head int) unsafe.Pointer {
	return unsafe.Pointer(&p.mem[head*s.HeadBytes()/2])
}

// Value is the start of a head's values.
func (p *Page) Value(s *Shape, head int) unsafe.Pointer {
	return unsafe.Pointer(&p.mem[(head*s.HeadBytes()+s.bytes(s.KeyDim))/2])
}

// Numbers are those of a recurrent state.
func (p *Page) Numbers(s *Shape) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(&p.mem[0])), s.Recurrent)
}

// Store hands out and takes back pages; shared by all sessions of a model.
type Store struct {
	shapes []Shape
	mu     sync.Mutex
	free   [][]*Page // per shape
	bytes  uint64    // of all pages made
	limit  uint64    // of bytes; 0: none

	memory func(n int) ([]byte, error) // nil: the heap
	slab   []byte                      // what is left of what it gave last
	marked []*Cache                    // that have marks, the one marked longest ago first

	passing bool // a state forgets
	every   int  // positions between marks
}

// NewStore makes a store for states of these shapes.
func NewStore(shapes []Shape) *Store {
	return &Store{shapes: shapes, free: make([][]*Page, len(shapes)), passing: slices.ContainsFunc(shapes, Shape.passing), every: MarkEvery}
}

// SetBatch says how many positions are computed at a time, before there are caches: batches end at marks, so marks lie at least as far apart.
func (s *Store) SetBatch(positions int) { s.every = MarkDistance(positions) }

// SetLimit bounds the memory of all pages, in bytes; 0: no bound. How much a position takes is a matter of the program, which may be anybody's, and memory that
// is not there ends the process, not the request.
func (s *Store) SetLimit(bytes uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = bytes
}

// Shape is the shape of a state.
func (s *Store) Shape(state int) *Shape { return &s.shapes[state] }

// Limit is the bound of SetLimit.
func (s *Store) Limit() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limit
}

func (s *Store) get(state int) (*Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := uint64(s.shapes[state].PageBytes())
	for {
		if l := s.free[state]; len(l) > 0 {
			p := l[len(l)-1]
			s.free[state] = l[:len(l)-1]
			p.refs.Store(1)
			return p, nil
		}
		if s.limit == 0 || size <= s.limit && s.bytes <= s.limit-size {
			break
		}
		if !s.spare() {
			return nil, fmt.Errorf("%w: they take %d MiB, %d MiB are available for them; use a smaller --ctx or fewer sessions", ErrMemory, (s.bytes+size)>>20, s.limit>>20)
		}
	}
	p, err := s.make(int(size))
	if err != nil {
		return nil, err
	}
	s.bytes += size
	p.refs.Store(1)
	return p, nil
}

// slabBytes is what is asked of memory at once; where there is more already, whole large pages of the system: every token reads all keys and values from end to end, and 4 KiB at a
// time a large part of the wait is for the tables that say where a page is.
const (
	slabBytes  = 1 << 20
	largePage  = 2 << 20
	largeSlabs = 16 // most large pages asked for at once
)

// slabSize is what to ask for after so many bytes.
func slabSize(bytes uint64) int {
	if bytes < largePage {
		return slabBytes
	}
	return largePage * int(min(max(bytes/(4*largePage), 1), largeSlabs))
}

// make gives a new page of n bytes.
func (s *Store) make(n int) (*Page, error) {
	if s.memory == nil {
		const align = 64 / 2
		raw := make([]uint16, n/2+align)
		skip := int(-uintptr(unsafe.Pointer(&raw[0]))&63) / 2
		return &Page{mem: raw[skip : skip+n/2 : skip+n/2]}, nil
	}
	if len(s.slab) < n {
		b, err := s.memory(max(n, slabSize(s.bytes)))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMemory, err)
		}
		s.slab = b
	}
	p := &Page{mem: unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(s.slab))), n/2)}
	s.slab = s.slab[min((n+63)&^63, len(s.slab)):]
	return p, nil
}

// SetMemory says where pages come from: memory gives zeroed bytes at a border of 64 and keeps them as long as the store is used.
func (s *Store) SetMemory(memory func(n int) ([]byte, error)) { s.memory = memory }

// spare gives up something that nobody needs at once: a free page of any state, or the oldest mark. It says whether there was anything; s.mu is held.
func (s *Store) spare() bool {
	for state, l := range s.free {
		if n := len(l); n > 0 {
			l[n-1] = nil
			s.free[state] = l[:n-1]
			s.bytes -= uint64(s.shapes[state].PageBytes())
			return true
		}
	}
	if len(s.marked) == 0 {
		return false
	}
	s.marked[0].drop(0)
	return true
}

func (s *Store) put(state int, p *Page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(state, p)
}

// release is put while s.mu is held.
func (s *Store) release(state int, p *Page) {
	if p != nil && p.refs.Add(-1) == 0 {
		s.free[state] = append(s.free[state], p)
	}
}

// Cache is the memory of one session. It is not safe for use by two goroutines at once, but pages may be filled by many workers between Extend and the next call.
type Cache struct {
	store *Store
	pages [][]*Page // per state, index = position / Chunk; nil where dropped
	low   []int     // per state: first page that is still there
	n     int       // positions stored
	limit int
	marks []mark // in order of position; store.mu is held where they are used
}

// NewCache makes an empty cache of at most limit positions.
func (s *Store) NewCache(limit int) *Cache {
	return &Cache{store: s, pages: make([][]*Page, len(s.shapes)), low: make([]int, len(s.shapes)), limit: limit}
}

// Len is the number of positions stored.
func (c *Cache) Len() int { return c.n }

// Limit is the largest number of positions.
func (c *Cache) Limit() int { return c.limit }

// Extend makes room for n more positions and returns the first of them. After an error the cache holds what it held before.
func (c *Cache) Extend(n int) (int, error) {
	if n < 0 || c.n+n > c.limit {
		return 0, fmt.Errorf("%w: %d positions stored, %d more asked for, limit %d (raise it with --ctx)", ErrFull, c.n, n, c.limit)
	}
	first := c.n
	need := (c.n + n + Chunk - 1) / Chunk
	for state := range c.pages {
		if c.store.shapes[state].Recurrent > 0 {
			if err := c.change(state, n); err != nil {
				c.shrink((c.n + Chunk - 1) / Chunk)
				return 0, err
			}
			continue
		}
		for len(c.pages[state]) < need {
			p, err := c.store.get(state)
			if err != nil {
				c.shrink((c.n + Chunk - 1) / Chunk)
				return 0, err
			}
			c.pages[state] = append(c.pages[state], p)
		}
		if c.n%Chunk != 0 && n > 0 {
			if err := c.own(state, c.n/Chunk); err != nil {
				c.shrink((c.n + Chunk - 1) / Chunk)
				return 0, err
			}
		}
	}
	c.n += n
	return first, nil
}

// change makes a recurrent state this cache's own, and zero at the start, before n more positions change it.
func (c *Cache) change(state, n int) error {
	switch {
	case n == 0:
		return nil
	case len(c.pages[state]) > 0:
		return c.own(state, 0)
	}
	p, err := c.store.get(state)
	if err != nil {
		return err
	}
	clear(p.mem)
	c.pages[state] = append(c.pages[state], p)
	return nil
}

// own replaces a page that others share by a copy, before it is written to.
func (c *Cache) own(state, page int) error {
	p := c.pages[state][page]
	if p == nil || p.refs.Load() == 1 {
		return nil
	}
	q, err := c.store.get(state)
	if err != nil {
		if p.refs.Load() == 1 { // what shared it was a mark, given up meanwhile
			return nil
		}
		return err
	}
	copy(q.mem, p.mem)
	c.store.put(state, p)
	c.pages[state][page] = q
	return nil
}

// shrink gives back all pages from number keep on.
func (c *Cache) shrink(keep int) {
	for state := range c.pages {
		for i := keep; i < len(c.pages[state]); i++ {
			c.store.put(state, c.pages[state][i])
		}
		c.pages[state] = c.pages[state][:min(keep, len(c.pages[state]))]
		c.low[state] = min(c.low[state], len(c.pages[state]))
	}
}

// Page gives the page of a state that holds position pos.
func (c *Cache) Page(state, page int) *Page { return c.pages[state][page] }

// Slide gives back the pages that no query at or after position Len() can see any more. Call it between batches.
func (c *Cache) Slide() {
	for state := range c.pages {
		w := c.store.shapes[state].Window
		if w == 0 {
			continue
		}
		// The next query, at position n, sees positions > n - w.
		firstSeen := c.n - w + 1
		for c.low[state] < len(c.pages[state]) && (c.low[state]+1)*Chunk <= firstSeen {
			i := c.low[state]
			c.store.put(state, c.pages[state][i])
			c.pages[state][i] = nil
			c.low[state]++
		}
	}
}

// cuts says whether all that a query at position n would see is there, so that the positions from n on can simply be forgotten.
func (c *Cache) cuts(n int) bool {
	for state := range c.pages {
		s := &c.store.shapes[state]
		if s.Recurrent > 0 && n > 0 && n < c.n || s.Window > 0 && n > 0 && c.low[state]*Chunk > max(n-s.Window+1, 0) {
			return false
		}
	}
	return true
}

// Reach is the largest number of positions, at most n, that the cache can be truncated to.
func (c *Cache) Reach(n int) int {
	n = min(n, c.n)
	if n <= 0 || c.cuts(n) {
		return max(n, 0)
	}
	return c.lastMark(n)
}

// Truncate forgets all positions from n on. Where a window has dropped positions that a query at n would see, or a recurrent state has gone past n, it goes back to a mark
// at n; without one it fails with ErrGone and changes nothing.
func (c *Cache) Truncate(n int) error {
	if n < 0 || n > c.n {
		return fmt.Errorf("kv: cannot truncate %d positions to %d", c.n, n)
	}
	if !c.cuts(n) && !c.back(n) {
		return fmt.Errorf("%w: position %d", ErrGone, n)
	}
	c.shrink((n + Chunk - 1) / Chunk)
	c.n = n
	c.unmark(n)
	return nil
}

// Fork makes a second cache that has seen the same positions; pages are shared until one of the two writes.
func (c *Cache) Fork() *Cache {
	f := &Cache{store: c.store, pages: make([][]*Page, len(c.pages)), low: append([]int(nil), c.low...), n: c.n, limit: c.limit}
	for state, l := range c.pages {
		f.pages[state] = hold(l)
	}
	f.takeMarks(c.holdMarks())
	return f
}

// Close gives all pages back.
func (c *Cache) Close() {
	for state, l := range c.pages {
		for _, p := range l {
			c.store.put(state, p)
		}
		c.pages[state] = nil
		c.low[state] = 0
	}
	c.n = 0
	c.unmark(0)
}

// Bytes is the memory of the pages held, shared ones included, those that only marks hold not.
func (c *Cache) Bytes() int {
	b := 0
	for state, l := range c.pages {
		for _, p := range l {
			if p != nil {
				b += c.store.shapes[state].PageBytes()
			}
		}
	}
	return b
}
