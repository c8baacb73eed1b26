package expert

import (
	"fmt"
	"slices"
)

// Policy estimates how long it will be until a slot is wanted again. It has no clock and no randomness: what it says follows from the calls before.
type Policy interface {
	// Pass says that a pass over that many rows (tokens) begins.
	Pass(rows int)
	// Use says that a turn of the pass wants a slot, for count of its rows.
	Use(slot uint32, count int)
	// Distance is how far away the next use of a slot is believed to be, seen from a turn of a layer: the slot with the greatest distance leaves.
	Distance(slot uint32, layer int) float64
}

// Names of the policies.
const (
	PolicyLRU  = "lru"  // least recently used
	PolicyAged = "aged" // least frequently used, old uses counting less
	PolicyNext = "next" // wanted latest: from how often it is used and when its layer has its turn
	PolicyAuto = "auto" // whichever of them has missed least lately
)

// DefaultPolicy is what runs use if nothing else is asked for.
const DefaultPolicy = PolicyAuto

var plainPolicies = []string{PolicyLRU, PolicyAged, PolicyNext}

// Policies lists the names of the policies.
func Policies() []string { return append(slices.Clone(plainPolicies), PolicyAuto) }

// NewPolicy makes a policy for slots 0 … len(layers)-1, layers being each one's layer.
func NewPolicy(name string, layers []int32) (Policy, error) {
	switch name {
	case PolicyLRU:
		return &lru{last: make([]uint64, len(layers))}, nil
	case PolicyAged:
		return &aged{uses: newUses(len(layers), agedWindow), last: make([]uint64, len(layers))}, nil
	case PolicyNext:
		return newNext(layers), nil
	case PolicyAuto, "":
		return newAuto(layers), nil
	}
	return nil, fmt.Errorf("no policy %q; there are %v", name, Policies())
}

// lru believes that what was used last is used next.
type lru struct {
	now  uint64
	last []uint64 // per slot
}

func (p *lru) Pass(int) {}

func (p *lru) Use(slot uint32, _ int) {
	p.now++
	p.last[slot] = p.now
}

func (p *lru) Distance(slot uint32, _ int) float64 { return float64(p.now - p.last[slot]) }

// Windows of the ageing counts, in tokens: a use that long ago counts about a third.
const (
	agedWindow  = 512
	longWindow  = 1024
	shortWindow = 48
)

// uses counts for how many of the last tokens a slot was wanted, older ones counting less.
type uses struct {
	keep  float64 // what is left of a count after one token
	token uint64
	total float64 // the weight of all tokens
	count []float64
	at    []uint64 // token at which count was right
	power []float64
}

func newUses(n int, window float64) uses {
	u := uses{keep: 1 - 1/window, count: make([]float64, n), at: make([]uint64, n)}
	for p := 1.0; p > 1e-6; p *= u.keep {
		u.power = append(u.power, p)
	}
	return u
}

// left is what is left of a count of 1 after n tokens.
func (u *uses) left(n uint64) float64 {
	if n >= uint64(len(u.power)) {
		return 0
	}
	return u.power[n]
}

func (u *uses) pass(rows int) {
	u.token += uint64(rows)
	u.total = u.total*u.left(uint64(rows)) + float64(rows)
}

func (u *uses) use(slot uint32, count int) {
	u.count[slot] = u.now(slot) + float64(count)
	u.at[slot] = u.token
}

func (u *uses) now(slot uint32) float64 { return u.count[slot] * u.left(u.token-u.at[slot]) }

// share is the part of the tokens that want the slot; a slot never seen has been wanted by a little.
func (u *uses) share(slot uint32) float64 {
	const first, weight = 1.0 / 64, 2
	return min((u.now(slot)+first*weight)/(u.total+weight), 1)
}

// aged believes in frequency.
type aged struct {
	uses
	clock uint64
	last  []uint64
}

func (p *aged) Pass(rows int) { p.pass(rows) }

func (p *aged) Use(slot uint32, count int) {
	p.clock++
	p.last[slot] = p.clock
	p.use(slot, count)
}

func (p *aged) Distance(slot uint32, _ int) float64 {
	old := 1 - float64(p.last[slot])/float64(p.clock+1) // of two that are equally frequent the older one leaves
	return -p.now(slot) + 1e-6*old
}

// turnWeight is what the way to a slot's turn within a pass counts beside the passes until it is wanted. 1 would be the expected time; replays of recorded routings read 1 to 3 % less
// with a third of it, where experts are much scarcer than a pass wants, and no more elsewhere.
const turnWeight = 0.35

// next believes that every token wants a slot with the probability that recent tokens had, and knows in which order layers have their turns. In a pass over many rows nearly every
// slot is wanted, so that what counts is whose turn comes latest: that of the layer just done with.
type next struct {
	long, short uses
	layer       []int32
	layers      int
	rows        int
}

func newNext(layers []int32) *next {
	p := &next{long: newUses(len(layers), longWindow), short: newUses(len(layers), shortWindow), layer: layers, layers: 1}
	for _, l := range layers {
		p.layers = max(p.layers, int(l)+1)
	}
	return p
}

func (p *next) Pass(rows int) {
	p.rows = rows
	p.long.pass(rows)
	p.short.pass(rows)
}

func (p *next) Use(slot uint32, count int) {
	p.long.use(slot, count)
	p.short.use(slot, count)
}

func (p *next) Distance(slot uint32, layer int) float64 {
	not := p.not(slot)
	return p.turn(slot, layer) + not/max(1-not, 1e-9)
}

// told is the distance of a slot that its layer's next turn wants with a chance of its own, and later ones as usual.
func (p *next) told(slot uint32, layer int, chance float64) float64 {
	not := p.not(slot)
	return p.turn(slot, layer) + (1-chance)*(turnWeight+not/max(1-not, 1e-9))
}

// turn is what the way to the slot's turn counts.
func (p *next) turn(slot uint32, layer int) float64 {
	turns := int(p.layer[slot]) - layer
	if turns <= 0 {
		turns += p.layers
	}
	return turnWeight * float64(turns) / float64(p.layers)
}

// not is the probability that no row of a pass wants the slot.
func (p *next) not(slot uint32) float64 {
	token := 0.9*p.long.share(slot) + 0.1*p.short.share(slot)
	if p.rows <= 1 {
		return 1 - token
	}
	not := 1.0
	for q, n := 1-token, p.rows; n > 0; n >>= 1 {
		if n&1 != 0 {
			not *= q
		}
		q *= q
	}
	return 0.5*not + 0.5*(1-token) // the next pass is another part of the prompt, or the first token of the answer
}
