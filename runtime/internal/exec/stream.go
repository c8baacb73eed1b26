package exec

import (
	"errors"
	"fmt"
	"unsafe"

	"jns/format"
	"jns/runtime/internal/sched"
)

// ErrRow is wrapped by what a worker panics with when a row of a table cannot be read.
var ErrRow = errors.New("a row could not be read")

// Stream gives the bytes of slots that do not stay in memory. A turn is one use of slots by one operation; it is cut into blocks that fit. One worker at a time calls Turn,
// Next, Ahead and Soon, between barriers; At and Wait are for all workers, for slots of the block.
type Stream interface {
	// Streamed reports whether a slot does not stay in memory.
	Streamed(slot uint32) bool
	// Present reports whether a slot is in memory or on its way there.
	Present(slot uint32) bool
	// Turn says which slots the operation wants, no slot twice, and for how many of the batch's rows (counts; nil: all) each.
	Turn(slots []uint32, counts []int32, rows int)
	// Next gives the turn's next block in the order in which its slots will be there; the block before is done with. Reads of what follows go on meanwhile. more: others follow.
	Next() (block []uint32, more bool)
	// Wait returns when a slot's bytes are there. It panics with an error if they cannot be had.
	Wait(slot uint32)
	// At is where a slot's first byte lies.
	At(slot uint32) unsafe.Pointer
	// Ahead says which slots will surely be wanted next.
	Ahead(slots []uint32)
	// Soon says, before a turn, which slots may be wanted after it, the likeliest of each layer first. Slots of a class (below 64) are about equally likely to be.
	Soon(slots []uint32, class []uint8)
	// Keep lets reads begin that waited for others to end. It never waits.
	Keep()
	// Pass says that a pass over rows begins.
	Pass(rows int) error
}

// at is the first byte of part i. In a block of a turn it is valid until the block is done with.
func (w *weight) at(i int) unsafe.Pointer {
	p := &w.parts[i]
	if p.base != nil {
		return p.base
	}
	return unsafe.Add(w.stream.At(p.slot), w.SlotOffset)
}

// streamed reports whether a part does not stay in memory.
func (w *weight) streamed(i int) bool { return w.parts[i].base == nil }

// ready waits for part i.
func (w *weight) ready(i int) {
	if p := &w.parts[i]; p.base == nil {
		w.stream.Wait(p.slot)
	}
}

// readTile reads the tile row with matrix row r into a worker's memory: for tables that are never resident.
func (w *weight) readTile(k *worker, i, tileRow int) []byte {
	if len(k.tile) < w.stride {
		k.tile = aligned(w.stride)
	}
	b := k.tile[:w.stride]
	off := int64(w.parts[i].offset) + int64(tileRow)*int64(w.stride)
	if _, err := w.reader.ReadAt(b, off); err != nil {
		panic(fmt.Errorf("%w: tensor %s: %d bytes at offset %d: %w", ErrRow, w.Name, len(b), off, err))
	}
	return b
}

// loop is a run of steps that is gone through once per block of a turn.
type loop struct {
	first int // the step that asks for the next block
	start bool
}

// beginLoop adds the step that asks for the next block: start is called for the first block of a turn (and calls Turn), block for every one. All between barriers, by one worker.
func (m *Model) beginLoop(selected bool, start func(), block func(slots []uint32)) *loop {
	l := &loop{first: len(m.steps)}
	var last int
	m.step(selected, func(w *worker, _ *sched.Counter) {
		w.turn++
		if w.id != 0 {
			return
		}
		if last == 0 {
			for last = l.first + 1; m.steps[last].back == 0; last++ {
			}
		}
		if !m.inLoop {
			start()
		}
		slots, more := m.stream.Next()
		m.inLoop = more
		m.more[w.turn&1] = more // the other one may still be read by a worker that has not left the barrier behind
		for i := l.first + 1; i <= last; i++ {
			m.next[i].Reset()
		}
		block(slots)
	})
	return l
}

// endLoop marks the last step added as the last of the loop.
func (m *Model) endLoop(l *loop) { m.steps[len(m.steps)-1].back = len(m.steps) - l.first }

// streamPieces is pieces where some of the matrices do not stay in memory: the loop over the blocks of their slots.
func (m *Model) streamPieces(selected bool, n int, partOf func(i int) (*weight, int), run func(w *worker, i int)) {
	var slots []uint32
	of := map[uint32][]int32{}
	var resident []int32
	for i := range n {
		w, part := partOf(i)
		if !w.streamed(part) {
			resident = append(resident, int32(i))
			continue
		}
		s := w.parts[part].slot
		if of[s] == nil {
			slots = append(slots, s)
		}
		of[s] = append(of[s], int32(i))
	}
	from := len(m.dense)
	m.dense = append(m.dense, slots...)
	list := make([]int32, 0, n)
	first := false
	l := m.beginLoop(selected, func() {
		first = true
		m.stream.Turn(slots, nil, m.count(selected))
	}, func(block []uint32) {
		list = list[:0]
		if first {
			list = append(list, resident...)
		}
		first = false
		for _, s := range block {
			list = append(list, of[s]...)
		}
		if !m.inLoop {
			m.ahead(from + len(slots))
		}
	})
	m.step(selected, func(w *worker, next *sched.Counter) {
		for {
			i, ok := m.pool.Take(w.id, next, len(list))
			if !ok {
				return
			}
			p := int(list[i])
			q, part := partOf(p)
			q.ready(part)
			run(w, p)
		}
	})
	m.endLoop(l)
}

// ahead tells the stream which dense slots follow.
func (m *Model) ahead(from int) {
	const most = 4
	m.soon = m.soon[:0]
	for i := range min(most, len(m.dense)) {
		m.soon = append(m.soon, m.dense[(from+i)%len(m.dense)])
	}
	m.stream.Ahead(m.soon)
}

// expertBlocks begins the loop over the blocks of a turn of experts; nil if all of them are resident.
func (m *Model) expertBlocks(e *experts, g *guess) (*loop, error) {
	w := e.up
	streamed := 0
	for _, q := range []*weight{e.gate, e.up, e.down} {
		if q == nil {
			continue
		}
		for i := range q.parts {
			if q.streamed(i) {
				streamed++
			}
		}
	}
	if streamed == 0 {
		return nil, nil
	}
	for _, q := range []*weight{e.gate, e.up, e.down} {
		if q != nil && (len(q.parts) != int(w.Count) || q.FirstSlot != w.FirstSlot || q.reader == nil) {
			return nil, fmt.Errorf("%w: tensors %s and %s do not share slots, so that they cannot be streamed", format.ErrUnsupported, w.Name, q.Name)
		}
	}
	p := &m.picks
	if n := int(w.Count); cap(p.all) < n {
		p.all, p.slots, p.count = make([]int32, 0, n), make([]uint32, 0, n), make([]int32, 0, n)
	}
	if n := m.rows * e.top; cap(p.block) < n {
		p.block = make([]int32, 0, n)
	}
	resident := false
	return m.beginLoop(e.selected, func() {
		p.all, p.slots, p.count = p.all[:0], p.slots[:0], p.count[:0]
		resident = true
		for _, x := range p.used {
			if !w.streamed(int(x)) {
				p.all = append(p.all, x)
				continue
			}
			p.slots = append(p.slots, w.parts[x].slot)
			p.count = append(p.count, p.start[x+1]-p.start[x])
		}
		if g != nil {
			m.tellGuesses(g, e.selected)
		}
		m.stream.Turn(p.slots, p.count, m.count(e.selected))
	}, func(block []uint32) {
		p.used, p.block = p.used[:0], p.block[:0]
		if resident {
			p.used = append(p.used, p.all...)
		}
		resident = false
		for _, s := range block {
			p.used = append(p.used, int32(s-w.FirstSlot))
		}
		for _, x := range p.used {
			for i := p.start[x]; i < p.start[x+1]; i++ {
				p.block = append(p.block, i)
			}
		}
		m.partExperts(e)
	}), nil
}
