package kv

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// shapesOfAll have every kind of state, widths that are no multiple of a block included.
func shapesOfAll(eight bool) []Shape {
	return []Shape{{KVHeads: 2, KeyDim: 40, ValDim: 8, Eight: eight}, {KVHeads: 1, KeyDim: 8, ValDim: 34, Window: 70, Eight: eight}, {Recurrent: 6}}
}

// grow fills n more positions with numbers that follow from the positions, through the pages as operations do, and the recurrent state with what it was and the position.
func grow(t require.TestingT, s *Store, c *Cache, n int) {
	first, err := c.Extend(n)
	require.NoError(t, err)
	for pos := first; pos < first+n; pos++ {
		for state := range s.shapes {
			shape := &s.shapes[state]
			if shape.Recurrent > 0 {
				x := c.Page(state, 0).Numbers(shape)
				for i := range x {
					x[i] = x[i]/2 + float32(pos+i)
				}
				continue
			}
			write(shape, c.Page(state, pos/Chunk).bytes(), pos%Chunk, byte(pos))
		}
	}
	c.Slide()
}

// write sets all bytes of a position, by the definition of the layout.
func write(s *Shape, page []byte, pos int, v byte) {
	blocks := func(n int) int { return (n + block - 1) / block }
	set := func(at, size int) {
		for i := range size {
			page[at+i] = v
		}
	}
	for h := range s.KVHeads {
		at := h * s.HeadBytes()
		if !s.Eight {
			for i := range s.KeyDim {
				set(at+(i*Chunk+pos)*2, 2)
			}
			at += s.KeyDim * Chunk * 2
			set(at+pos*s.ValDim*2, s.ValDim*2)
			continue
		}
		for i := range s.KeyDim {
			set(at+i*Chunk+pos, 1)
		}
		at += s.KeyDim * Chunk
		for i := range blocks(s.KeyDim) {
			set(at+(i*Chunk+pos)*2, 2)
		}
		at += blocks(s.KeyDim) * Chunk * 2
		set(at+pos*s.ValDim, s.ValDim)
		at += s.ValDim * Chunk
		set(at+pos*blocks(s.ValDim)*2, blocks(s.ValDim)*2)
	}
}

// saved gives a cache's bytes.
func saved(t require.TestingT, c *Cache) []byte {
	var b bytes.Buffer
	require.NoError(t, c.Save(&b))
	return b.Bytes()
}

// unmarked gives the bytes of a cache as if it had no marks.
func unmarked(t require.TestingT, c *Cache) []byte {
	f := c.Fork()
	defer f.Close()
	f.store.mu.Lock()
	for len(f.marks) > 0 {
		f.drop(0)
	}
	f.store.mu.Unlock()
	return saved(t, f)
}

// TestACacheIsWhatItsPositionsMadeIt: whatever is grown, marked, forked, cut back, saved and loaded, a cache of n positions has the bytes of one that only grew to n, whichever
// pages were somebody else's before.
func TestACacheIsWhatItsPositionsMadeIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewStore(shapesOfAll(rapid.Bool().Draw(t, "eight")))
		const limit = 2000
		caches := []*Cache{s.NewCache(limit)}
		check := func(c *Cache) {
			fresh := NewStore(s.shapes)
			want := fresh.NewCache(limit)
			for want.n < c.n { // dropping pages as the cache has
				grow(t, fresh, want, min(c.n-want.n, 100))
			}
			for state := range want.pages { // a window may keep more than it must
				for want.low[state] > c.low[state] {
					return
				}
			}
			require.Equal(t, unmarked(t, want), unmarked(t, c))
		}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			c := caches[rapid.IntRange(0, len(caches)-1).Draw(t, "cache")]
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1:
				if c.n < limit-300 {
					grow(t, s, c, rapid.IntRange(1, 200).Draw(t, "n"))
				}
			case 2:
				c.Mark()
			case 3:
				want := rapid.IntRange(0, c.n).Draw(t, "cut")
				n := c.Reach(want)
				require.LessOrEqual(t, n, want)
				require.NoError(t, c.Truncate(n))
				require.Equal(t, n, c.Len())
				check(c)
			case 4:
				if len(caches) < 4 {
					caches = append(caches, c.Fork())
				}
			case 5:
				b := saved(t, c)
				r := bytes.NewReader(b)
				l, err := s.Load(r, c.n, limit)
				require.NoError(t, err)
				require.Zero(t, r.Len())
				require.Equal(t, b, saved(t, l))
				l.Close()
			}
			require.LessOrEqual(t, len(c.marks), maxMarks)
		}
		for _, c := range caches {
			check(c)
			c.Close()
		}
		require.Empty(t, s.marked)
		for state, l := range s.free {
			seen := map[*Page]bool{}
			for _, p := range l {
				require.False(t, seen[p], "a page given back twice")
				require.Zero(t, p.refs.Load())
				seen[p] = true
			}
			s.bytes -= uint64(len(l) * s.shapes[state].PageBytes())
		}
		require.Zero(t, s.bytes, "every page was given back")
	})
}

// TestMarksMakeWayForPositions: where memory is scarce, marks go first.
func TestMarksMakeWayForPositions(t *testing.T) {
	shapes := []Shape{{Recurrent: 1000}, {KVHeads: 1, KeyDim: 8, ValDim: 8}}
	s := NewStore(shapes)
	s.SetLimit(uint64(3*shapes[0].PageBytes() + 2*shapes[1].PageBytes()))
	c := s.NewCache(10000)
	for range 4 {
		grow(t, s, c, 10)
		c.Mark()
	}
	require.Equal(t, 20, c.Reach(25), "the first mark went when the third was copied")
	d := s.NewCache(10000)
	grow(t, s, d, 10)
	grow(t, s, d, 54)
	require.Equal(t, 0, c.Reach(29), "another cache's first page took the second")
	require.Equal(t, 30, c.Reach(39))
	grow(t, s, d, 1)
	require.Equal(t, 0, c.Reach(39), "its page of keys took the memory of the third")
	require.Equal(t, 40, c.Reach(50))
	_, err := d.Extend(Chunk)
	require.ErrorIs(t, err, ErrMemory)
}

func TestBytesOfAnotherShapeAreRefused(t *testing.T) {
	s := NewStore(shapesOfAll(false))
	c := s.NewCache(1000)
	grow(t, s, c, 150)
	c.Mark()
	grow(t, s, c, 50)
	b := saved(t, c)
	load := func(b []byte, n int) error {
		l, err := s.Load(bytes.NewReader(b), n, 1000)
		if err == nil {
			l.Close()
		}
		return err
	}
	require.NoError(t, load(b, 200))
	require.ErrorIs(t, load(b, 2000), ErrFull)
	for _, n := range []int{0, 3, len(b) / 2, len(b) - 1} {
		require.ErrorIs(t, load(b[:n], 200), ErrSaved)
	}
	change := func(at int, v uint32) []byte {
		x := bytes.Clone(b)
		binary.LittleEndian.PutUint32(x[at:], v)
		return x
	}
	require.ErrorIs(t, load(change(0, 1), 200), ErrSaved, "pages are missing that nothing may drop")
	windowed := 4 + 4*s.shapes[0].PageBytes()
	require.ErrorIs(t, load(change(windowed, 3), 200), ErrSaved, "the window sees page 2")
	require.ErrorIs(t, load(change(windowed, 1<<31), 200), ErrSaved)
	tail := 4 + 4*s.shapes[0].PageBytes() - 4
	require.ErrorIs(t, load(change(tail, 1), 200), ErrSaved, "numbers beyond the end")
	marks := windowed + 4 + 2*s.shapes[1].PageBytes() + s.shapes[2].PageBytes()
	require.Equal(t, uint32(1), binary.LittleEndian.Uint32(b[marks:]))
	require.ErrorIs(t, load(change(marks, 5), 200), ErrSaved)
	for _, at := range []uint32{0, 201, 1 << 30} {
		require.ErrorIs(t, load(change(marks+4, at), 200), ErrSaved, "mark at %d", at)
	}
}

// FuzzLoad: any bytes give an error or a cache that is written as those bytes again.
//
// What is fuzzed is how the bytes begin and end, and how many zeros are between the two: a fuzzer's time to minimise an input grows with the square of its length.
func FuzzLoad(f *testing.F) {
	shapes := func(eight bool) []Shape {
		return []Shape{{KVHeads: 1, KeyDim: 2, ValDim: 1, Eight: eight}, {KVHeads: 1, KeyDim: 1, ValDim: 1, Window: 3, Eight: eight}, {Recurrent: 2}}
	}
	// add gives f the bytes with zeros for all but the ends.
	add := func(b []byte, n int, eight bool) {
		head, tail := min(len(b), 40), min(len(b), 60)
		if head+tail > len(b) {
			f.Add(b, len(b), uint16(0), n, eight)
			return
		}
		f.Add(slices.Concat(b[:head], b[len(b)-tail:]), head, uint16(len(b)-head-tail), n, eight)
	}
	for _, eight := range []bool{false, true} {
		for _, n := range []int{0, 1, 40, 70} {
			s := NewStore(shapes(eight))
			c := s.NewCache(1000)
			grow(f, s, c, n)
			add(saved(f, c), n, eight)
			if n > 1 {
				c.Mark()
				grow(f, s, c, 2)
				add(saved(f, c), c.Len(), eight)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, at int, zeros uint16, n int, eight bool) {
		at = min(max(at, 0), len(b))
		b = slices.Concat(b[:at], make([]byte, zeros), b[at:])
		s := NewStore(shapes(eight))
		s.SetLimit(1 << 20)
		r := bytes.NewReader(b)
		c, err := s.Load(r, n, 1000)
		if err == nil {
			require.Equal(t, b[:len(b)-r.Len()], saved(t, c))
			c.Close()
		}
		for state, l := range s.free {
			s.bytes -= uint64(len(l) * s.shapes[state].PageBytes())
		}
		require.Zero(t, s.bytes, "every page was given back")
	})
}
