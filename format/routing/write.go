package routing

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
)

// Writer writes a trace. Its errors come with Close. Not for several goroutines at once.
type Writer struct {
	w       io.Writer
	buffer  *bufio.Writer // before w and sum
	sum     hash.Hash
	b       []byte
	slots   int
	layer   []uint16
	size    int // bytes so far
	records int
	most    int   // records
	last    uint8 // kind of the last record
	soon    Turn  // likely to be wanted next, as far as it is known
	full    bool
	err     error
}

// NewWriter begins a trace of a container with that root digest, over its experts.
func NewWriter(w io.Writer, root [32]byte, slots []Slot) *Writer {
	t := &Writer{w: w, sum: sha256.New(), slots: len(slots), most: MaxRecords}
	t.buffer = bufio.NewWriterSize(io.MultiWriter(w, t.sum), 1<<16)
	var layers []Layer
	if layers, t.err = Layers(slots); t.err != nil {
		return t
	}
	t.layer = layerOf(len(slots), layers)
	t.b = append(append(t.b, head...), root[:]...)
	t.number(uint64(len(layers)))
	for _, l := range layers {
		t.number(uint64(l.Number))
		t.number(uint64(l.Slots))
		for _, s := range slots[l.First : l.First+l.Slots] {
			t.number(uint64(s.Length))
		}
		t.flush()
	}
	t.flush()
	return t
}

func (t *Writer) number(v uint64) { t.b = binary.AppendUvarint(t.b, v) }

func (t *Writer) flush() {
	if _, err := t.buffer.Write(t.b); err != nil && t.err == nil {
		t.err = err
	}
	t.size += len(t.b)
	t.b = t.b[:0]
}

// record writes what t.b has as a record of the kind, unless it does not fit: then nothing more is recorded.
func (t *Writer) record(kind uint8) {
	if t.records+2 > t.most || t.size+len(t.b)+1+sumSize > MaxFile { // the end still has to follow
		t.full, t.b = true, t.b[:0]
		return
	}
	t.records++
	t.last = kind
	t.flush()
}

func (t *Writer) fail(text string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf("recording the routing: "+text, args...)
	}
}

// stopped reports whether there is no use in going on.
func (t *Writer) stopped() bool { return t.full || t.err != nil }

// Pass records the beginning of a pass.
func (t *Writer) Pass(rows int) {
	t.settle()
	if t.stopped() {
		return
	}
	if rows < 1 || rows > MaxRows {
		t.fail("a pass over %d tokens", rows)
		return
	}
	t.number(recordPass)
	t.number(uint64(rows))
	t.record(recordPass)
}

// Turn records what a turn wants.
func (t *Writer) Turn(slots []uint32, count []int32) {
	t.settle()
	if len(slots) == 0 || t.stopped() {
		return
	}
	if t.last == 0 || len(count) != len(slots) {
		t.fail("a turn outside a pass, or %d slots with %d counts", len(slots), len(count))
		return
	}
	t.number(recordTurn)
	t.number(uint64(len(slots)))
	for i, s := range slots {
		if int(s) >= t.slots || t.layer[s] != t.layer[slots[0]] || count[i] < 1 || count[i] > MaxRows {
			t.fail("a turn wants slot %d of %d for %d tokens", s, t.slots, count[i])
			return
		}
		t.number(uint64(s))
		t.number(uint64(count[i]))
	}
	t.record(recordTurn)
}

// Soon records what is likely to be wanted next. What is said of one turn in several calls becomes one record.
func (t *Writer) Soon(slots []uint32, class []uint8) {
	if t.last != recordTurn || len(slots) != len(class) || len(t.soon.Soon)+len(slots) > MaxSoon {
		return
	}
	t.soon.Soon = append(t.soon.Soon, slots...)
	t.soon.Class = append(t.soon.Class, class...)
}

// settle writes the record of what is likely to be wanted next, before another one.
func (t *Writer) settle() {
	s := &t.soon
	if len(s.Soon) == 0 || t.stopped() {
		return
	}
	t.number(recordSoon)
	t.number(uint64(len(s.Soon)))
	for i, slot := range s.Soon {
		if int(slot) >= t.slots {
			t.fail("slot %d of %d seems likely", slot, t.slots)
			return
		}
		t.number(uint64(slot))
		t.number(uint64(s.Class[i]))
	}
	s.Soon, s.Class = s.Soon[:0], s.Class[:0]
	t.record(recordSoon)
}

// Full reports whether the run was longer than a trace can be: its end is not in it.
func (t *Writer) Full() bool { return t.full }

// Close ends the trace; the file is the caller's. Without it a trace is cut short.
func (t *Writer) Close() error {
	t.settle()
	if t.err != nil {
		return t.err
	}
	t.number(recordEnd)
	t.flush()
	if t.err == nil {
		t.err = t.buffer.Flush()
	}
	if t.err == nil {
		_, t.err = t.w.Write(t.sum.Sum(nil))
	}
	return t.err
}

// Write writes a whole trace. Sum is not looked at.
func (t *Trace) Write(w io.Writer) error {
	out := NewWriter(w, t.Root, t.Slots)
	for i := range t.Turns {
		u := &t.Turns[i]
		if u.Slots == nil {
			out.Pass(u.Rows)
			continue
		}
		out.Turn(u.Slots, u.Count)
		out.Soon(u.Soon, u.Class)
	}
	return out.Close()
}
