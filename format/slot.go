package format

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// Class says how a slot is used, hence in which section it lies (JNS-36).
type Class uint8

const (
	ClassPinned Class = 1 // vectors; used by every token
	ClassLayer  Class = 2 // dense matrices, or parts of them
	ClassExpert Class = 3 // one expert of one layer: its gate, up and down, biases and scales
	ClassRows   Class = 4 // a table of which single rows are read
	ClassAside  Class = 5 // bytes of the source that the program does not use
)

var classNames = [...]string{ClassPinned: "pinned", ClassLayer: "layer", ClassExpert: "expert", ClassRows: "rows", ClassAside: "aside"}

func (c Class) String() string {
	if c == 0 || int(c) >= len(classNames) {
		return fmt.Sprintf("class %d", uint8(c))
	}
	return classNames[c]
}

// Section is the kind of the section in which slots of the class lie.
func (c Class) Section() SectionKind { return SectionResident + SectionKind(c-ClassPinned) }

// SlotRecord is the size of a record of the slot table.
const SlotRecord = 64

// Slot is a range of the file that is read as one: the unit of residence. Slots lie in the file in table order, but for experts, which may have an order of their own.
type Slot struct {
	Offset uint64 // absolute, a multiple of SlotAlign
	Length uint64 // without padding; zero bytes fill the rest up to a multiple of SlotAlign
	Class  Class
	Layer  uint32   // first layer that uses it; None if no layer does
	Expert uint32   // number of the expert; None for other classes
	Digest [32]byte // BLAKE3 of its Length bytes
}

// Byte offsets of a record's fields.
const (
	sOffset = 0
	sLength = 8
	sClass  = 16 // one byte, three zero bytes
	sLayer  = 20
	sExpert = 24
	sZero   = 28 // four zero bytes
	sDigest = 32
)

// Slots is a list of slots: a table in a file or one in memory.
type Slots interface {
	Len() int
	At(i int) Slot
}

// SlotList is a list of slots in memory.
type SlotList []Slot

// Len is the number of slots.
func (l SlotList) Len() int { return len(l) }

// At gives slot i.
func (l SlotList) At(i int) Slot { return l[i] }

// SlotTable is the slot table of a container, used where it lies.
type SlotTable []byte

// Len is the number of slots.
func (t SlotTable) Len() int { return len(t) / SlotRecord }

// At decodes record i.
func (t SlotTable) At(i int) Slot {
	r := t[i*SlotRecord : (i+1)*SlotRecord]
	return Slot{
		Offset: binary.LittleEndian.Uint64(r[sOffset:]), Length: binary.LittleEndian.Uint64(r[sLength:]), Class: Class(r[sClass]),
		Layer: binary.LittleEndian.Uint32(r[sLayer:]), Expert: binary.LittleEndian.Uint32(r[sExpert:]), Digest: [32]byte(r[sDigest:]),
	}
}

// EncodeSlots gives the bytes of the section slots.
func EncodeSlots(ss []Slot) []byte {
	b := make([]byte, len(ss)*SlotRecord)
	for i := range ss {
		s, r := &ss[i], b[i*SlotRecord:]
		binary.LittleEndian.PutUint64(r[sOffset:], s.Offset)
		binary.LittleEndian.PutUint64(r[sLength:], s.Length)
		r[sClass] = byte(s.Class)
		binary.LittleEndian.PutUint32(r[sLayer:], s.Layer)
		binary.LittleEndian.PutUint32(r[sExpert:], s.Expert)
		copy(r[sDigest:], s.Digest[:])
	}
	return b
}

// byOffset lists the slots as they lie in the file; nil: in table order.
func byOffset(t Slots) []int32 {
	n := t.Len()
	sorted := true
	for i, last := 0, uint64(0); i < n && sorted; i++ {
		at := t.At(i).Offset
		sorted, last = at >= last, at
	}
	if sorted {
		return nil
	}
	at, order := make([]uint64, n), make([]int32, n)
	for i := range order {
		at[i], order[i] = t.At(i).Offset, int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(at[a], at[b]), cmp.Compare(a, b)) })
	return order
}

// DiskOrder lists the experts' slots as they lie in the file, by their number in the table; nil: in table order.
func DiskOrder(t Slots) []uint32 {
	var out []uint32
	for _, i := range byOffset(t) {
		if t.At(int(i)).Class == ClassExpert {
			out = append(out, uint32(i))
		}
	}
	return out
}

// DecodeSlots proves a slot table against the sections: the slots of a class fill their section in table order, each at the first multiple of
// SlotAlign after the one before; experts do so in any order. Whatever it accepts EncodeSlots gives back byte for byte.
func DecodeSlots(b []byte, sections []Section) (SlotTable, error) {
	t := SlotTable(b)
	if len(b)%SlotRecord != 0 || t.Len() > MaxSlots {
		return nil, tableFault(SectionSlots, "table of %d bytes is not up to %d records of %d", len(b), MaxSlots, SlotRecord)
	}
	order := byOffset(t)
	next := 0
	for _, sec := range sections {
		if !sec.Kind.Weights() {
			continue
		}
		end := sec.Offset
		for ; next < t.Len(); next++ {
			i := next
			if sec.Kind == SectionExperts && order != nil {
				i = int(order[next])
			}
			s := t.At(i)
			if s.Class < ClassPinned || s.Class > ClassAside {
				return nil, tableFault(SectionSlots, "slot %d: class %d is unknown", i, s.Class)
			}
			if s.Class.Section() != sec.Kind {
				break
			}
			r := b[i*SlotRecord:]
			// JNS-2
			if r[sClass+1] != 0 || r[sClass+2] != 0 || r[sClass+3] != 0 || binary.LittleEndian.Uint32(r[sZero:]) != 0 {
				return nil, tableFault(SectionSlots, "slot %d: a reserved byte is not zero", i)
			}
			// JNS-37
			if s.Offset != alignUp(end, SlotAlign) || s.Length == 0 || s.Offset > sec.End() || s.Length > sec.End()-s.Offset {
				return nil, tableFault(SectionSlots, "slot %d: %d bytes at %d, must begin at %d and lie in %s, which ends at %d", i, s.Length, s.Offset, alignUp(end, SlotAlign), sec.Kind, sec.End())
			}
			if (s.Class == ClassExpert) != (s.Expert != None) {
				return nil, tableFault(SectionSlots, "slot %d of class %s has expert number %d", i, s.Class, s.Expert)
			}
			end = s.Offset + s.Length
		}
		if end != sec.End() {
			return nil, tableFault(SectionSlots, "the slots of section %s end at %d, the section at %d", sec.Kind, end, sec.End())
		}
	}
	if next != t.Len() {
		return nil, tableFault(SectionSlots, "slot %d lies in no section, or out of order", next)
	}
	return t, nil
}
