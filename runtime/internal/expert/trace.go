package expert

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A routing trace is a file: the line "jns-routing 2\n", then numbers as unsigned LEB128. First the number of slots, and for each its layer, its expert and its length in bytes;
// then records until the end of the file: 0 rows – a pass over that many tokens begins; n+1 slot count … – a turn wants n slots, each for so many of the rows; 1 n slot class … – at
// the end of the turn before, these were likely to be wanted next, the likeliest first. Files of version 1 have no records of the last kind.

const (
	traceHead = "jns-routing 2\n"
	traceOld  = "jns-routing 1\n"
)

// Limits of a trace.
const (
	maxTraceSlots = 1 << 22
	maxTraceRows  = 1 << 20
	maxTraceSoon  = 1 << 22
)

// ErrTrace is wrapped by errors about traces that cannot be used.
var ErrTrace = errors.New("not a routing trace, or a damaged one")

// Slot is what a trace or a cache knows of a slot.
type Slot struct {
	Layer  int32
	Expert int32
	Length int64 // bytes
}

// TraceWriter writes a trace.
type TraceWriter struct {
	w   *bufio.Writer
	b   []byte
	err error
}

// NewTraceWriter begins a trace.
func NewTraceWriter(w io.Writer, slots []Slot) *TraceWriter {
	t := &TraceWriter{w: bufio.NewWriterSize(w, 1<<16)}
	t.b = append(t.b, traceHead...)
	t.number(uint64(len(slots)))
	for _, s := range slots {
		t.number(uint64(s.Layer))
		t.number(uint64(s.Expert))
		t.number(uint64(s.Length))
		t.flush()
	}
	t.flush()
	return t
}

func (t *TraceWriter) number(v uint64) { t.b = binary.AppendUvarint(t.b, v) }

func (t *TraceWriter) flush() {
	if _, err := t.w.Write(t.b); err != nil && t.err == nil {
		t.err = err
	}
	t.b = t.b[:0]
}

// Pass records the beginning of a pass.
func (t *TraceWriter) Pass(rows int) {
	t.number(0)
	t.number(uint64(rows))
	t.flush()
}

// Turn records what a turn wants.
func (t *TraceWriter) Turn(slots []uint32, count []int32) {
	if len(slots) == 0 {
		return
	}
	t.number(uint64(len(slots)) + 1)
	for i, s := range slots {
		t.number(uint64(s))
		t.number(uint64(count[i]))
	}
	t.flush()
}

// Soon records what is likely to be wanted next.
func (t *TraceWriter) Soon(slots []uint32, class []uint8) {
	if len(slots) == 0 {
		return
	}
	t.number(1)
	t.number(uint64(len(slots)))
	for i, s := range slots {
		t.number(uint64(s))
		t.number(uint64(class[i]))
	}
	t.flush()
}

// Close writes what is left; the file is the caller's.
func (t *TraceWriter) Close() error { return errors.Join(t.err, t.w.Flush()) }

// Turn of a trace. A turn without slots begins a pass.
type Turn struct {
	Rows  int // of the pass that begins
	Slots []uint32
	Count []int32
	Soon  []uint32 // likely to be wanted next, as it seemed at the turn's end
	Class []uint8  // of each
}

// Trace is a trace in memory.
type Trace struct {
	Slots []Slot
	Turns []Turn
}

// ReadTrace reads a trace. Errors wrap ErrTrace.
func ReadTrace(r io.Reader) (*Trace, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	head := make([]byte, len(traceHead))
	if _, err := io.ReadFull(b, head); err != nil || string(head) != traceHead && string(head) != traceOld {
		return nil, fmt.Errorf("%w: it does not begin with %q", ErrTrace, traceHead)
	}
	var bad error
	number := func(most uint64, what string) uint64 {
		v, err := binary.ReadUvarint(b)
		if bad == nil && (err != nil || v > most) {
			bad = fmt.Errorf("%w: %s", ErrTrace, what)
		}
		return v
	}
	t := &Trace{}
	n := number(maxTraceSlots, "number of slots")
	for i := uint64(0); i < n && bad == nil; i++ {
		t.Slots = append(t.Slots, Slot{Layer: int32(number(1<<20, "layer")), Expert: int32(number(1<<22, "expert")), Length: int64(number(1<<46, "length"))})
	}
	for bad == nil {
		k, err := binary.ReadUvarint(b)
		if err == io.EOF {
			return t, nil
		}
		if err != nil || k > n+1 {
			return nil, fmt.Errorf("%w: record %d", ErrTrace, len(t.Turns))
		}
		if k == 0 {
			t.Turns = append(t.Turns, Turn{Rows: int(number(maxTraceRows, "rows"))})
			continue
		}
		if k == 1 {
			last := len(t.Turns) - 1
			m := number(maxTraceSoon, "number of slots")
			if bad == nil && (last < 0 || t.Turns[last].Slots == nil || string(head) == traceOld) {
				bad = fmt.Errorf("%w: record %d", ErrTrace, len(t.Turns))
			}
			for ; m > 0 && bad == nil; m-- {
				s, class := uint32(number(n-1, "slot")), uint8(number(aheadClasses-1, "class"))
				if u := &t.Turns[last]; bad == nil {
					u.Soon, u.Class = append(u.Soon, s), append(u.Class, class)
				}
			}
			continue
		}
		var u Turn
		seen := map[uint32]bool{}
		for range k - 1 {
			s := uint32(number(n-1, "slot"))
			if bad != nil || seen[s] {
				return nil, fmt.Errorf("%w: record %d", ErrTrace, len(t.Turns))
			}
			seen[s] = true
			u.Slots = append(u.Slots, s)
			u.Count = append(u.Count, int32(number(maxTraceRows, "count")))
		}
		t.Turns = append(t.Turns, u)
	}
	return nil, bad
}
