package expert

// Bounds of reading ahead. A guess is believed by the record of its class, those about slots that are in memory apart from those that are not, which are the less frequent ones. What is
// read in vain comes on top of what a policy reads anyhow, and what left for it may be wanted. So a guess is read only for what was saved before, by keeping what is guessed where a policy
// that guesses nothing would not: see Table.Early.
const (
	aheadRisk  = 0.08      // of a guess
	aheadSure  = 1.0 / 250 // of a guess where nothing ever leaves
	aheadFirst = 0.25      // so many may be in vain there

	aheadClasses = 64
	aheadMany    = 16 // from here to aheadNear: classes of many rows, which say nothing of the slots that are not named
	aheadNear    = 24
	aheadDeep    = 32  // classes of the layer after the next
	aheadStays   = 0.7 // what is nearer than that leaves for nothing that is read ahead: below, replays read up to 3 % more
	aheadTurns   = 256 // after so many turns nothing is expected any more
)

// outcome counts what became of the guesses of a class.
type outcome struct{ told, wanted float64 }

// chance is the part of a class that was wanted. The first few say little.
func (o *outcome) chance() float64 { return (o.wanted + 1.8) / (o.told + 2) }

// told is a slot that may be wanted soon.
type told struct {
	slot   uint32
	class  uint8
	absent uint8 // 1: it was not in memory
}

// beliefs are what was said about slots that may be wanted soon, and how it has turned out so far.
type beliefs struct {
	class   [aheadClasses][2]outcome
	layerOf []int32
	told    []told
	p       []float64 // by slot: the chance that its layer's next turn wants it; negative: nothing was said
	few     []bool    // by layer: what is not named is not likely
	turn    uint32
	wanted  []uint32 // by slot: the last turn that wanted it
}

func newBeliefs(layers []int32) beliefs {
	b := beliefs{layerOf: layers, p: make([]float64, len(layers)), wanted: make([]uint32, len(layers))}
	most := int32(0)
	for i, l := range layers {
		b.p[i] = -1
		most = max(most, l)
	}
	b.few = make([]bool, most+1)
	return b
}

// tell takes note of slots that may be wanted.
func (b *beliefs) tell(slots []uint32, class []uint8, frame []int32) {
	for i, s := range slots {
		g := told{s, class[i], 0}
		if frame[s] < 0 {
			g.absent = 1
		}
		if b.p[s] < 0 || class[i] < aheadDeep {
			b.p[s] = b.class[g.class][g.absent].chance()
		}
		b.told = append(b.told, g)
		if few(class[i]) {
			b.few[b.layerOf[s]] = true
		}
	}
}

// risk is the chance that a slot is not wanted.
func (b *beliefs) risk(g told) float64 { return 1 - b.class[g.class][g.absent].chance() }

// chance is that of a slot to be wanted in its layer's next turn, if anything was said about it.
func (b *beliefs) chance(slot uint32) (p float64, told bool) {
	if p = b.p[slot]; p >= 0 {
		return p, true
	}
	return 0, b.few[b.layerOf[slot]]
}

// judge compares what was said with what a layer's turn wants.
func (b *beliefs) judge(layer int, slots []uint32) {
	b.turn++
	for _, s := range slots {
		b.wanted[s] = b.turn
	}
	kept := b.told[:0]
	for _, g := range b.told {
		if int(b.layerOf[g.slot]) != layer {
			kept = append(kept, g)
			continue
		}
		o := &b.class[g.class][g.absent]
		o.told++
		if b.wanted[g.slot] == b.turn {
			o.wanted++
		}
		b.p[g.slot] = -1
	}
	b.told = kept
	if layer < len(b.few) {
		b.few[layer] = false
	}
}

// forget drops what was said: the pass that it was said in is over.
func (b *beliefs) forget() {
	for _, g := range b.told {
		b.p[g.slot] = -1
	}
	b.told = b.told[:0]
	clear(b.few)
}

// farthest is a heap of slots, the farthest on top.
type farthest []candidate

type candidate struct {
	slot     uint32
	distance float64
}

func (h farthest) before(i, j int) bool {
	if h[i].distance != h[j].distance {
		return h[i].distance > h[j].distance
	}
	return h[i].slot < h[j].slot
}

func (h farthest) init() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h farthest) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h.before(c+1, c) {
			c++
		}
		if !h.before(c, i) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

func (h *farthest) push(c candidate) {
	*h = append(*h, c)
	l := *h
	for i := len(l) - 1; i > 0 && l.before(i, (i-1)/2); i = (i - 1) / 2 {
		l[i], l[(i-1)/2] = l[(i-1)/2], l[i]
	}
}

func (h *farthest) pop() {
	l := *h
	n := len(l) - 1
	l[0] = l[n]
	*h = l[:n]
	h.down(0)
}

// few reports whether a class is of few rows.
func few(class uint8) bool { return class%aheadDeep < aheadMany || class%aheadDeep >= aheadNear }
