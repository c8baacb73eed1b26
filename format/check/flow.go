package check

import (
	"slices"

	"jns/format"
)

// span is where a buffer lies, per instance.
type span struct {
	region   format.Region
	from, to uint64
}

func (a span) meets(b span) bool { return a.region == b.region && a.from < b.to && b.from < a.to }

// flow says what the buffers hold between two operations.
type flow struct {
	span []span
	// live are the buffers that hold what was written through them, for all rows or for the selected ones. No two of them overlap, and they are in the order of their places: a program may write
	// each of thousands of buffers a thousand times.
	live     []uint32
	holds    []bool
	narrowed []bool // written after rows were selected: holds selected rows only
}

func (f *flow) init(n int) {
	f.span, f.holds, f.narrowed = make([]span, n), make([]bool, n), make([]bool, n)
}

// read proves that a buffer holds what was written through it, in the rows that are now worked on.
func (f *flow) read(b uint32, selected bool) error {
	if !f.holds[b] {
		return corrupt("buffer %d is read, but its bytes were not written through it, or have been overwritten since", b)
	}
	if f.narrowed[b] != selected {
		return corrupt("buffer %d is read, but holds other rows than those worked on", b)
	}
	return nil
}

// write makes a buffer hold new contents; every buffer that shares bytes with it loses its own.
func (f *flow) write(b uint32, selected bool) {
	f.live = slices.Insert(f.live, f.spoil(b), b)
	f.holds[b], f.narrowed[b] = true, selected
}

// spoil makes every buffer that shares bytes with b, and b, hold nothing, and gives the place of b among those that are live.
func (f *flow) spoil(b uint32) int {
	s := f.span[b]
	from, _ := slices.BinarySearchFunc(f.live, s, func(c uint32, s span) int {
		if x := f.span[c]; x.region < s.region || x.region == s.region && x.to <= s.from {
			return -1
		}
		return 1
	})
	to := from
	for ; to < len(f.live) && f.span[f.live[to]].meets(s); to++ {
		f.holds[f.live[to]] = false
	}
	f.live = slices.Delete(f.live, from, to)
	return from
}

// operands collects the buffers of one operation by role. In a write, with gives the buffers that may be the same as the one written, since each
// element is read before it is written.
type operands struct {
	reads  []uint32
	writes []write
}

type write struct {
	buffer  uint32
	with    []uint32
	scratch bool // holds nothing afterwards
}

func (o *operands) read(bs ...uint32) {
	for _, b := range bs {
		if b != format.None {
			o.reads = append(o.reads, b)
		}
	}
}

func (o *operands) write(b uint32, with ...uint32) {
	if b != format.None {
		o.writes = append(o.writes, write{buffer: b, with: with})
	}
}

func (o *operands) scratch(bs ...uint32) {
	for _, b := range bs {
		o.writes = append(o.writes, write{buffer: b, scratch: true})
	}
}

// apply proves an operation's reads and overlaps (JNS-43) and then moves the flow past it. Every operand has been proved to be a buffer. in tells which rows are
// read, out which are written.
func (f *flow) apply(o *operands, in, out bool) error {
	for _, r := range o.reads {
		if err := f.read(r, in); err != nil {
			return err
		}
	}
	for i, w := range o.writes {
		for _, r := range o.reads {
			if f.span[w.buffer].meets(f.span[r]) && !(w.buffer == r && w.allows(r)) {
				return corrupt("output buffer %d overlaps input buffer %d", w.buffer, r)
			}
		}
		for _, v := range o.writes[:i] {
			if f.span[w.buffer].meets(f.span[v.buffer]) {
				return corrupt("output buffers %d and %d overlap", v.buffer, w.buffer)
			}
		}
	}
	for _, w := range o.writes {
		if w.scratch {
			f.spoil(w.buffer)
		} else {
			f.write(w.buffer, out)
		}
	}
	return nil
}

func (w write) allows(b uint32) bool {
	for _, x := range w.with {
		if x == b {
			return true
		}
	}
	return false
}
