package expert

import "slices"

// Table says which slot is in which frame. It is pure: loads and evictions follow from the calls.
type Table struct {
	policy  Policy
	quiet   bool     // somebody else tells the policy what is used
	layerOf []int32  // by slot
	slot    []int32  // by frame: the slot in it, -1 for none
	frame   []int32  // by slot: the frame it is in, -1 for none
	hold    []uint8  // by slot
	free    []int32  // frames with nothing in them
	layer   int      // of the turn
	turn    []uint32 // slots of the turn in order: present ones first
	count   []int32  // rows that want each
	loaded  int      // of turn: have a frame
	given   int      // of turn: were in a block
	held    int      // of turn: before it are released
	early   int      // slots read ahead and not yet wanted
	ahead   []early  // the same, and some that have left
	turns   int      // begun so far
	wait    int      // turns after which a slot read ahead is no longer expected; 0: after its layer's
	soon    beliefs
	shadows shadows

	// Loads so far, and slots that were read ahead and then wanted, or not.
	Loads, EarlyUsed, EarlyUnused uint64

	far    farthest // slots that may leave; nothing if it is not known
	ranked bool
	loads  []Load
}

// What keeps a slot in its frame.
const (
	holdNo    = iota
	holdEarly // read ahead: leaves only for a slot that is wanted now
	holdTurn  // in the turn and not yet done with
)

// Load is a slot to be read into a frame.
type Load struct{ Slot, Frame uint32 }

// early is a slot that was read ahead during a turn.
type early struct {
	slot uint32
	turn int
	risk float64
}

// NewTable makes an empty table for slots of these layers. A slot that was read ahead is expected for so many turns, or, with none, until its layer's turn.
func NewTable(layers []int32, frames, turns int, p Policy) *Table {
	t := &Table{policy: p, layerOf: layers, wait: turns, slot: make([]int32, frames), frame: make([]int32, len(layers)), hold: make([]uint8, len(layers)), soon: newBeliefs(layers)}
	for i := range t.slot {
		t.slot[i] = -1
	}
	for i := range t.frame {
		t.frame[i] = -1
	}
	for i := frames - 1; i >= 0; i-- {
		t.free = append(t.free, int32(i))
	}
	if a, ok := p.(*auto); ok && frames < len(layers) {
		t.shadows = newShadows(a, layers, frames)
	}
	return t
}

// Frames is the number of frames.
func (t *Table) Frames() int { return len(t.slot) }

// Frame is the frame that a slot is in or is being read into, -1 for none.
func (t *Table) Frame(slot uint32) int { return int(t.frame[slot]) }

// Pass begins a pass over rows.
func (t *Table) Pass(rows int) {
	t.ranked = false
	t.soon.forget()
	t.shadows.pass(rows)
	if !t.quiet {
		t.policy.Pass(rows)
	}
}

// Turn begins a turn of a layer that wants slots, each for count of the rows. A turn before that was not finished is given up.
func (t *Table) Turn(layer int, slots []uint32, count []int32, rows int) {
	t.ranked = false
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
			if !t.quiet {
				t.policy.Use(s, int(n))
			}
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
	t.soon.judge(layer, t.turn)
	t.ahead = slices.DeleteFunc(t.ahead, func(a early) bool {
		switch {
		case t.hold[a.slot] != holdEarly:
		case t.wait > 0 && t.turns-a.turn < t.wait, t.wait == 0 && int(t.layerOf[a.slot]) != layer && t.turns-a.turn < aheadTurns:
			return false
		default:
			t.hold[a.slot] = holdNo
			t.early--
			t.EarlyUnused++
		}
		return true
	})
	t.shadows.turn(layer, slots, count, rows)
}

// Next gives the turn's next block: slots that have a frame or get one by these loads, present ones first. more says that others follow. The block before is done with: its frames
// may be among those of the loads. If not everything fits, half of what is there is the block, so that the other half can be read meanwhile.
func (t *Table) Next() (block []uint32, loads []Load, more bool) {
	for ; t.held < t.given; t.held++ {
		t.released(t.turn[t.held])
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

// Soon says, before a turn, which slots may be wanted after it, the likeliest of each layer first.
func (t *Table) Soon(slots []uint32, class []uint8) {
	t.ranked = false
	t.soon.tell(slots, class, t.frame)
	t.shadows.soon(slots, class)
}

// Early gives, after a turn, the loads of slots that are likely enough to be wanted soon. They are paid from what guesses have saved: if everything that was read ahead and is not yet
// wanted is never wanted, and everything that left for it is, no more will have been loaded than by the best policy without guesses, so far.
func (t *Table) Early() []Load {
	t.loads = t.loads[:0]
	if len(t.slot) >= len(t.frame) {
		return t.earlySure()
	}
	if len(t.shadows.tables) == 0 {
		return nil
	}
	least := t.shadows.spend()
	for _, g := range t.soon.told {
		if t.Loads+2 > least {
			break
		}
		if t.frame[g.slot] >= 0 {
			continue
		}
		risk := t.soon.risk(g)
		if risk > aheadRisk || t.Loads+2+t.shadows.owed(t.frame) > least {
			continue
		}
		t.readAhead(g.slot, risk)
	}
	return t.loads
}

// earlySure is Early where everything fits: what is read ahead takes nothing from anybody, and is as good as sure.
func (t *Table) earlySure() []Load {
	room := aheadFirst - float64(t.EarlyUnused)
	for _, a := range t.ahead {
		room -= a.risk
	}
	for _, g := range t.soon.told {
		if t.frame[g.slot] >= 0 {
			continue
		}
		if risk := t.soon.risk(g); risk <= aheadSure && risk <= room && t.readAhead(g.slot, risk) {
			room -= risk
		}
	}
	return t.loads
}

// Ahead gives a slot a frame that will surely be wanted, if one can be had.
func (t *Table) Ahead(slot uint32) (Load, bool) {
	t.loads = t.loads[:0]
	if t.frame[slot] >= 0 || !t.readAhead(slot, 0) {
		return Load{}, false
	}
	return t.loads[0], true
}

// readAhead gives a slot a frame before it is wanted: it takes none from what the turn needs or what else was read ahead, and half of all at most. What the turn itself still has to read
// gets its frame from Next.
func (t *Table) readAhead(slot uint32, risk float64) bool {
	if 2*(t.early+1) > len(t.slot) || slices.Contains(t.turn[t.loaded:], slot) {
		return false
	}
	t.room(1, 0, true)
	if !t.put(slot, holdEarly) {
		return false
	}
	t.early++
	t.ahead = append(t.ahead, early{slot, t.turns, risk})
	return true
}

// Warm gives a slot a free frame; it evicts nothing.
func (t *Table) Warm(slot uint32) (Load, bool) {
	if t.frame[slot] >= 0 || len(t.free) == 0 {
		return Load{}, false
	}
	t.loads = t.loads[:0]
	t.put(slot, holdNo)
	t.released(slot)
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

// released says that nothing keeps a slot in its frame any more.
func (t *Table) released(slot uint32) {
	t.hold[slot] = holdNo
	if t.ranked {
		t.far.push(candidate{slot, t.distance(slot)})
	}
}

// distance is the policy's; what is believed to be wanted soon stays, and what the policy would not have in memory by itself leaves first.
func (t *Table) distance(slot uint32) float64 {
	const astray = 1e12
	p, told := t.soon.chance(slot)
	q, tells := policyOf(t.policy).(*next)
	if len(t.shadows.tables) > 0 {
		tells = t.shadows.tells() // else as without guesses
	}
	switch {
	case told && tells && p >= 0.5:
		return q.told(slot, t.layer, p)
	case t.shadows.astray(slot):
		return astray + t.policy.Distance(slot, t.layer)
	case told && tells:
		return q.told(slot, t.layer, p)
	}
	return t.policy.Distance(slot, t.layer)
}

// room makes n frames free, as far as there are slots that may leave: the farthest first, what was read ahead last (early: not at all). Of slots that will be wanted within a pass
// (where the policy can tell; almost so if early) no more leave than are needed to make least frames free: the turn does better with its own frames, again and again.
func (t *Table) room(n, least int, early bool) {
	n, least = n-len(t.free), least-len(t.free)
	if n <= 0 {
		return
	}
	_, tells := policyOf(t.policy).(*next)
	stays := 1.0
	if early {
		stays = aheadStays
	}
	if !t.ranked {
		t.far = t.far[:0]
		for _, s := range t.slot {
			if s >= 0 && t.hold[s] == holdNo {
				t.far = append(t.far, candidate{uint32(s), t.distance(uint32(s))})
			}
		}
		t.far.init()
		t.ranked = true
	}
	for ; n > 0 && len(t.far) > 0; n, least = n-1, least-1 {
		c := t.far[0]
		if tells && least <= 0 && c.distance < stays {
			return
		}
		t.far.pop()
		t.Drop(c.slot, false)
	}
	if early || least <= 0 || t.early == 0 {
		return
	}
	for _, s := range t.slot {
		if least > 0 && s >= 0 && t.hold[s] == holdEarly {
			t.Drop(uint32(s), false)
			least--
		}
	}
}
