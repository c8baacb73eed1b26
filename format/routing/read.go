package routing

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Read reads a trace. Errors wrap ErrTrace or ErrVersion, or are the reader's; they name the place and say what to do.
func Read(r io.Reader) (*Trace, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if err := checkHead(b); err != nil {
		return nil, err
	}
	if len(b) > MaxFile {
		return nil, fmt.Errorf("%w: it has more than %d bytes; %s", ErrTrace, MaxFile, anew)
	}
	p := &parser{b: b, at: len(head)}
	t := p.trace()
	switch at := p.at; {
	case errors.Is(p.err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: it ends at byte %d, in %s: it was cut short, or the run that wrote it did not end well; %s", ErrTrace, len(b), p.where(), anew)
	case p.err != nil:
		return nil, fmt.Errorf("%w: %s at byte %d: %w; %s", ErrTrace, p.where(), at, p.err, anew)
	case len(b)-at < sumSize:
		return nil, fmt.Errorf("%w: it ends at byte %d, inside its SHA-256: it was cut short; %s", ErrTrace, len(b), anew)
	case len(b)-at > sumSize:
		return nil, fmt.Errorf("%w: %d bytes follow its end at byte %d; %s", ErrTrace, len(b)-at-sumSize, at+sumSize, anew)
	}
	end := len(b) - sumSize
	if t.Sum = sha256.Sum256(b[:end]); !bytes.Equal(t.Sum[:], b[end:]) {
		return nil, fmt.Errorf("%w: its %d bytes have SHA-256 %x, at byte %d it says %x: it was changed after it was recorded; %s", ErrTrace, end, t.Sum, end, b[end:], anew)
	}
	return t, nil
}

// checkHead tells what a file is that is no trace of this version.
func checkHead(b []byte) error {
	if bytes.HasPrefix(b, []byte(head)) {
		return nil
	}
	line, _, ended := strings.Cut(string(b[:min(len(b), len(family)+12)]), "\n")
	if version, ok := strings.CutPrefix(line, family); ok && ended {
		return fmt.Errorf("%w: it has version %q, this program reads %s; %s", ErrVersion, version, strings.TrimSpace(head[len(family):]), anew)
	}
	if len(b) < len(head) && strings.HasPrefix(head, string(b)) {
		return fmt.Errorf("%w: it ends at byte %d, in its first line: it was cut short; %s", ErrTrace, len(b), anew)
	}
	return fmt.Errorf("%w: it does not begin with %q; %s", ErrTrace, head, anew)
}

// parser goes through the bytes up to the SHA-256. After an error everything it gives is zero.
type parser struct {
	b      []byte
	at     int // the next byte; of an error: the first byte concerned
	err    error
	part   string // what it is in, besides records
	record int

	slots []Slot
	layer []uint16
	seen  []uint32 // by slot: the turn that wanted it last
	turn  uint32
}

func (p *parser) where() string {
	if p.part != "" {
		return p.part
	}
	return fmt.Sprintf("record %d", p.record)
}

func (p *parser) fail(at int, text string, args ...any) {
	if p.err == nil {
		p.at, p.err = at, fmt.Errorf(text, args...)
	}
}

// number reads a number from least to most.
func (p *parser) number(least, most uint64, what string) uint64 {
	if p.err != nil {
		return 0
	}
	v, n := binary.Uvarint(p.b[p.at:])
	switch {
	case n == 0:
		p.err = io.ErrUnexpectedEOF
		return 0
	case n < 0 || v < least || v > most:
		p.fail(p.at, "%s is not from %d to %d", what, least, most)
		return 0
	case n > 1 && p.b[p.at+n-1] == 0:
		p.fail(p.at, "%s has more bytes than it needs", what)
		return 0
	}
	p.at += n
	return v
}

func (p *parser) trace() *Trace {
	t := &Trace{}
	p.part = "the root digest"
	if len(p.b)-p.at < len(t.Root) {
		p.err = io.ErrUnexpectedEOF
		return t
	}
	p.at += copy(t.Root[:], p.b[p.at:])
	p.part = "the list of experts"
	p.experts()
	p.part = ""
	t.Slots = p.slots
	p.seen = make([]uint32, len(p.slots))
	for p.err == nil && p.next(t) {
	}
	return t
}

func (p *parser) experts() {
	last := -1
	for i := range int(p.number(1, MaxLayers, "the number of layers")) {
		at := p.at
		l := int(p.number(0, MaxLayer, "the number of a layer"))
		n := int(p.number(1, MaxExperts, "the number of experts"))
		switch {
		case p.err != nil:
			return
		case l <= last || len(p.slots)+n > MaxSlots:
			p.fail(at, "layer %d with %d experts follows layer %d and %d experts", l, n, last, len(p.slots))
			return
		}
		last = l
		for e := 0; e < n && p.err == nil; e++ {
			p.slots = append(p.slots, Slot{int32(l), int32(e), int64(p.number(1, MaxLength, "the length of a slot"))})
			p.layer = append(p.layer, uint16(i))
		}
	}
}

// next reads a record; no more come after the end, or an error.
func (p *parser) next(t *Trace) bool {
	at := p.at
	if p.record++; p.record > MaxRecords {
		p.fail(at, "there are more than %d records", MaxRecords)
		return false
	}
	kind := p.number(recordEnd, recordSoon, "the kind of a record")
	if p.err != nil || kind == recordEnd {
		return false
	}
	if kind == recordPass {
		t.Turns = append(t.Turns, Turn{Rows: int(p.number(1, MaxRows, "the number of tokens"))})
		return true
	}
	if len(t.Turns) == 0 {
		p.fail(at, "the first record is no pass")
		return false
	}
	if kind == recordTurn {
		t.Turns = append(t.Turns, p.wants())
		return true
	}
	u := &t.Turns[len(t.Turns)-1]
	if u.Slots == nil || u.Soon != nil {
		p.fail(at, "what is likely to follow is said of no turn, or twice of one")
		return false
	}
	for n := p.number(1, MaxSoon, "the number of slots"); n > 0 && p.err == nil; n-- {
		u.Soon = append(u.Soon, uint32(p.number(0, uint64(len(p.slots)-1), "a slot")))
		u.Class = append(u.Class, uint8(p.number(0, MaxClass, "a class")))
	}
	return true
}

// wants reads what a turn wants.
func (p *parser) wants() (u Turn) {
	p.turn++
	n := int(p.number(1, MaxExperts, "the number of slots"))
	for i := 0; i < n && p.err == nil; i++ {
		at := p.at
		s := uint32(p.number(0, uint64(len(p.slots)-1), "a slot"))
		count := int32(p.number(1, MaxRows, "the number of tokens"))
		if p.err != nil {
			return u
		}
		if p.seen[s] == p.turn || i > 0 && p.layer[s] != p.layer[u.Slots[0]] {
			p.fail(at, "a turn wants slot %d twice, or slots of several layers", s)
			return u
		}
		p.seen[s] = p.turn
		u.Slots, u.Count = append(u.Slots, s), append(u.Count, count)
	}
	return u
}
