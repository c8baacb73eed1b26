package format

import (
	"cmp"
	"slices"
)

// claim is the range that one part of a tensor takes in its slot.
type claim struct {
	slot, tensor uint32
	from, to     uint64
}

// verifyUnclaimed proves that no two tensors share a byte and that bytes of slots that belong to no tensor are zero (JNS-32).
func (c *Container) verifyUnclaimed() error {
	var cs []claim
	for i := range c.Tensors.Len() {
		t := c.Tensors.At(i)
		for p := range t.Slots {
			cs = append(cs, claim{slot: t.FirstSlot + p, tensor: uint32(i), from: t.SlotOffset, to: t.SlotOffset + t.PartBytes(p)})
		}
	}
	slices.SortFunc(cs, func(a, b claim) int {
		return cmp.Or(cmp.Compare(a.slot, b.slot), cmp.Compare(a.from, b.from), cmp.Compare(a.tensor, b.tensor))
	})
	buf := make([]byte, 64<<10)
	next := 0
	for i := range c.Slots.Len() {
		s := c.Slots.At(i)
		end := uint64(0)
		for ; next < len(cs) && cs[next].slot == uint32(i); next++ {
			if cs[next].from < end {
				return c.placed(tableFault(SectionTensors, "tensors %d and %d share bytes of slot %d", cs[next-1].tensor, cs[next].tensor, i))
			}
			if err := c.zeroRange(s, end, cs[next].from, buf); err != nil {
				return err
			}
			end = cs[next].to
		}
		if err := c.zeroRange(s, end, s.Length, buf); err != nil {
			return err
		}
	}
	return nil
}

// zeroRange checks that bytes from to to of a slot are zero.
func (c *Container) zeroRange(s Slot, from, to uint64, buf []byte) error {
	for from < to {
		b := buf[:min(uint64(len(buf)), to-from)]
		if err := readFull(c.r, b, s.Offset+from); err != nil {
			return err
		}
		if i := firstNonZero(b); i >= 0 {
			return fault(s.Class.Section().String(), int64(s.Offset+from)+int64(i), ErrCorrupt, "a byte between tensors is not zero")
		}
		from += uint64(len(b))
	}
	return nil
}
