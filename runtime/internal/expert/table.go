package expert

import (
	"cmp"
	"slices"
)

// Table says which slot is in which frame. It is pure: loads and evictions follow from the calls.
type Table struct {
	policy Policy
	slot   []int32  // by frame: the slot in it, -1 for none
	frame  []int32  // by slot: the frame it is in, -1 for none
	hold   []uint8  // by slot
	free   []int32  // frames with nothing in them
	layer  int      // of the turn
	turn   []uint32 // slots of the turn in order: present ones first
	count  []int32  // rows that want each
	loaded int      // of turn: have a frame
	given  int      // of turn: were in a block
	held   int      // of turn: before it are released
	early  int      // slots read ahead and not yet wanted
	ahead  []early  // the same, and some that have left
	turns  int      // begun so far
	wait   int      // turns after which a slot read ahead is no longer expected
	class  [aheadClasses]outcome

	// Loads so far, and slots that were read ahead and then wanted, or not.
	Loads, EarlyUsed, EarlyUnused uint64

	work  []candidate
	loads []Load
}

// What keeps a slot in its frame.
const (
	holdNo    = iota
	holdEarly // read ahead: leaves only for a slot that is wanted now
	holdTurn  // in the turn and not yet done with
)

// Load is a slot to be read into a frame.
type Load struct{ Slot, Frame uint32 }

// Bounds of reading ahead. What is in vain is read beside what the policy reads anyhow: one of aheadPart loads may be, counting those that are not known yet by the risk of their
// class, which is what it was so far; and classes of which one in aheadRisk is in vain are not read at all.
const (
	aheadPart    = 100
	aheadRisk    = 12
	aheadClasses = 32
	aheadStays   = 0.7 // what is nearer than that leaves for nothing that is read ahead: below, replays read up to 3 % more
	aheadSure    = -1  // no class: it will be wanted
)

// early is a slot that was read ahead during a turn.
type early struct {
	slot  uint32
	turn  int
	class int
}

// outcome counts what became of a class of slots that were read ahead.
type outcome struct{ read, vain float64 }

// risk is the share that will be in vain. The first few say little.
func (o *outcome) risk() float64 { return (o.vain + 0.4) / (o.read + 8) }

type candidate struct {
	slot     uint32
	distance float64
}

// NewTable makes an empty table for slots 0 … slots-1. A slot that was read ahead is expected for so many turns.
func NewTable(slots, frames, turns int, p Policy) *Table {
	t := &Table{policy: p, wait: turns, slot: make([]int32, frames), frame: make([]int32, slots), hold: make([]uint8, slots)}
	for i := range t.slot {
		t.slot[i] = -1
	}
	for i := range t.frame {
		t.frame[i] = -1
	}
	for i := frames - 1; i >= 0; i-- {
		t.free = append(t.free, int32(i))
	}
	return t
}

// Frames is the number of frames.
func (t *Table) Frames() int { return len(t.slot) }

// Frame is the frame that a slot is in or is being read into, -1 for none.
func (t *Table) Frame(slot uint32) int { return int(t.frame[slot]) }

// Turn begins a turn of a layer that wants slots, each for count of the rows. A turn before that was not finished is given up.
func (t *Table) Turn(layer int, slots []uint32, count []int32, rows int) {
	for _, s := range t.turn {
		if t.hold[s] == holdTurn {
			t.hold[s] = holdNo
		}
	}
	t.layer, t.loaded, t.given, t.held = layer, 0, 0, 0
	t.turn, t.count = t.turn[:0], t.count[:0]
	for _, present := range []bool{true, false} {
		for i, s := range slots {
			if t.frame[s] >= 0 != present {
				continue
			}
			n := int32(rows)
			if count != nil {
				n = count[i]
			}
			t.turn, t.count = append(t.turn, s), append(t.count, n)
			t.policy.Use(s, int(n))
			if present {
				if t.hold[s] == holdEarly {
					t.early--
					t.EarlyUsed++
				}
				t.hold[s] = holdTurn
				t.loaded++
			}
		}
	}
	t.turns++
	kept := t.ahead[:0]
	for _, a := range t.ahead {
		vain := false
		switch {
		case t.hold[a.slot] != holdEarly:
			vain = t.hold[a.slot] != holdTurn // it has left for one that was wanted
		case t.turns-a.turn < t.wait:
			kept = append(kept, a)
			continue
		default:
			t.hold[a.slot] = holdNo
			t.early--
			t.EarlyUnused++
			vain = true
		}
		if a.class >= 0 {
			t.class[a.class].read++
			if vain {
				t.class[a.class].vain++
			}
		}
	}
	t.ahead = kept
}

// Next gives the turn's next block: slots that have a frame or get one by these loads, present ones first. more says that others follow. The block before is done with: its frames
// may be among those of the loads. If not everything fits, half of what is there is the block, so that the other half can be read meanwhile.
func (t *Table) Next() (block []uint32, loads []Load, more bool) {
	for ; t.held < t.given; t.held++ {
		t.hold[t.turn[t.held]] = holdNo
	}
	t.loads = t.loads[:0]
	if n := len(t.turn) - t.loaded; n > 0 {
		// Enough for one half of a block to be computed while the other is read.
		least := min(max(len(t.slot)/16, 2), 16) - (t.loaded - t.held)
		t.room(n, least, false)
		for t.loaded < len(t.turn) {
			s := t.turn[t.loaded]
			if !t.put(s, holdTurn) {
				break
			}
			t.loaded++
		}
	}
	n := t.loaded - t.given
	if t.loaded < len(t.turn) {
		n = (n + 1) / 2
	}
	block = t.turn[t.given : t.given+n]
	t.given += n
	return block, t.loads, t.given < len(t.turn)
}

// Ahead gives a slot a frame before it is wanted, if one can be had: it takes none from what the turn needs or what else was read ahead, half of all at most, and no more of what has
// a class than the bounds allow.
func (t *Table) Ahead(slot uint32, class int) (Load, bool) {
	if t.frame[slot] >= 0 || 2*(t.early+1) > len(t.slot) {
		return Load{}, false
	}
	if class >= 0 {
		risk := t.class[class].risk()
		for _, a := range t.ahead {
			if a.class >= 0 {
				risk += t.class[a.class].risk()
			}
		}
		if t.class[class].risk() > 1.0/aheadRisk || float64(t.EarlyUnused)+risk > 1+float64(t.Loads)/aheadPart {
			return Load{}, false
		}
	}
	t.room(1, 0, true)
	t.loads = t.loads[:0]
	if !t.put(slot, holdEarly) {
		return Load{}, false
	}
	t.early++
	t.ahead = append(t.ahead, early{slot, t.turns, class})
	return t.loads[0], true
}

// Warm gives a slot a free frame; it evicts nothing.
func (t *Table) Warm(slot uint32) (Load, bool) {
	if t.frame[slot] >= 0 || len(t.free) == 0 {
		return Load{}, false
	}
	t.loads = t.loads[:0]
	t.put(slot, holdNo)
	return t.loads[0], true
}

// Drop takes a slot out whose read has failed; its frame is used again unless it is lost.
func (t *Table) Drop(slot uint32, lost bool) {
	f := t.frame[slot]
	if f < 0 {
		return
	}
	if t.hold[slot] == holdEarly {
		t.early--
		t.EarlyUnused++
	}
	t.frame[slot], t.slot[f], t.hold[slot] = -1, -1, holdNo
	if !lost {
		t.free = append(t.free, f)
	}
}

// put gives a slot a free frame.
func (t *Table) put(slot uint32, hold uint8) bool {
	if len(t.free) == 0 {
		return false
	}
	f := t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	t.slot[f], t.frame[slot], t.hold[slot] = int32(slot), f, hold
	t.loads = append(t.loads, Load{slot, uint32(f)})
	t.Loads++
	return true
}

// room makes n frames free, as far as there are slots that may leave: the farthest first, what was read ahead last (early: not at all). Of slots that will be wanted within a pass
// (where the policy can tell; almost so if early) no more leave than are needed to make least frames free: the turn does better with its own frames, again and again.
func (t *Table) room(n, least int, early bool) {
	n, least = n-len(t.free), least-len(t.free)
	if n <= 0 {
		return
	}
	_, tells := t.policy.(*next)
	stays := 1.0
	if early {
		stays = aheadStays
	}
	t.work = t.work[:0]
	for _, s := range t.slot {
		if s >= 0 && t.hold[s] == holdNo {
			t.work = append(t.work, candidate{uint32(s), t.policy.Distance(uint32(s), t.layer)})
		}
	}
	slices.SortFunc(t.work, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.distance, a.distance), cmp.Compare(a.slot, b.slot))
	})
	for i, c := range t.work {
		if i >= n || tells && i >= least && c.distance < stays {
			return
		}
		t.Drop(c.slot, false)
	}
	if n = least - len(t.work); early || n <= 0 || t.early == 0 {
		return
	}
	for _, s := range t.slot {
		if n > 0 && s >= 0 && t.hold[s] == holdEarly {
			t.Drop(uint32(s), false)
			n--
		}
	}
}
