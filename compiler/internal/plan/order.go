package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"jns/format"
	"jns/format/routing"
)

// ErrProfile means that a recorded routing is not one of the model that is compiled.
var ErrProfile = errors.New("the profile does not fit the model")

const (
	// maxPaired bounds the experts of a layer among which pairs are counted: the counts are a square.
	maxPaired = 4096
	// maxChosen bounds the experts of a token of which every pair counts.
	maxChosen = 64

	sameToken = 4 // weight of a pair that one token chose
	nextToken = 1 // and of one of which the next token chose the other
)

// Order lists the slots of experts, by their numbers, as they shall lie in the file: layer by layer as in the table; within a layer first the expert that most tokens of the recorded
// run used, then always the one of the rest that was chosen most often together with the one before – by the same token, which counts fourfold, or by the token after. Of two that
// were chosen equally often the more used one comes first, then the one with the lower number. Passes over several tokens, whose pairs a trace does not tell, count for use alone.
// Everything is integers, so that the order is the same on every machine. Errors wrap ErrProfile.
func Order(slots []format.Slot, t *routing.Trace) ([]uint32, error) {
	first := slices.IndexFunc(slots, func(s format.Slot) bool { return s.Class == format.ClassExpert })
	if first < 0 {
		return nil, fmt.Errorf("%w: the model has no experts; compile it without --profile", ErrProfile)
	}
	layers, err := shapeOf(slots[first:], t)
	if err != nil {
		return nil, err
	}
	turns := turnsByLayer(t, layers)
	order := make([]uint32, 0, len(t.Slots))
	for i, l := range layers {
		u := newUse(l.Slots)
		for _, k := range turns[i] {
			u.add(t, k, l.First)
		}
		for _, e := range u.order() {
			order = append(order, uint32(first+l.First+int(e)))
		}
	}
	return order, nil
}

// shapeOf gives the layers of a trace, which must be those of the slots that begin with the first expert.
func shapeOf(slots []format.Slot, t *routing.Trace) ([]routing.Layer, error) {
	have, err := routing.Layers(t.Slots)
	if err != nil {
		return nil, err
	}
	var own []routing.Slot
	for _, s := range slots {
		if s.Class != format.ClassExpert {
			break
		}
		own = append(own, routing.Slot{Layer: int32(s.Layer), Expert: int32(s.Expert), Length: int64(s.Length)})
	}
	want, err := routing.Layers(own)
	if err != nil {
		return nil, fmt.Errorf("%w: the model's experts are not in the order of their layers: %w", ErrProfile, err)
	}
	const anew = "record one with this model: jns-run MODEL.jns --memory SIZE --record-routing FILE"
	if len(have) != len(want) {
		return nil, fmt.Errorf("%w: it was recorded with a model that has experts in %d layers, this one has them in %d; %s", ErrProfile, len(have), len(want), anew)
	}
	for i := range have {
		if a, b := have[i], want[i]; a != b {
			return nil, fmt.Errorf("%w: it was recorded with a model that has %d experts in layer %d, this one has %d in layer %d; %s", ErrProfile, a.Slots, a.Number, b.Slots, b.Number, anew)
		}
	}
	return have, nil
}

// turnsByLayer lists for every layer its turns: k for turn k of a pass over one token, -1-k for one of a pass over several.
func turnsByLayer(t *routing.Trace, layers []routing.Layer) [][]int {
	of := make([]int, 0, len(t.Slots))
	for i, l := range layers {
		for range l.Slots {
			of = append(of, i)
		}
	}
	out := make([][]int, len(layers))
	rows := 0
	for k := range t.Turns {
		u := &t.Turns[k]
		if u.Slots == nil {
			rows = u.Rows
			continue
		}
		l := of[u.Slots[0]]
		if rows == 1 {
			out[l] = append(out[l], k)
		} else {
			out[l] = append(out[l], -1-k)
		}
	}
	return out
}

// use is how the experts of a layer were used.
type use struct {
	n     int
	heat  []uint64 // tokens
	pairs []uint32 // n·n, symmetric; nil: not counted
	last  []uint32 // experts of the token before; nil: none
}

func newUse(n int) *use {
	u := &use{n: n, heat: make([]uint64, n)}
	if n <= maxPaired {
		u.pairs = make([]uint32, n*n)
	}
	return u
}

// add counts a turn: k of a single token, -1-k of several.
func (u *use) add(t *routing.Trace, k, first int) {
	single := k >= 0
	if !single {
		k = -1 - k
	}
	turn := &t.Turns[k]
	chosen := make([]uint32, len(turn.Slots))
	for i, s := range turn.Slots {
		chosen[i] = s - uint32(first)
		u.heat[chosen[i]] += uint64(turn.Count[i])
	}
	if !single || u.pairs == nil || len(chosen) > maxChosen {
		u.last = nil
		return
	}
	for i, a := range chosen {
		for _, b := range chosen[:i] {
			u.pair(a, b, sameToken)
		}
		for _, b := range u.last {
			u.pair(a, b, nextToken)
		}
	}
	u.last = chosen
}

func (u *use) pair(a, b uint32, weight uint32) {
	if a != b {
		u.pairs[int(a)*u.n+int(b)] += weight
		u.pairs[int(b)*u.n+int(a)] += weight
	}
}

// order lists the experts.
func (u *use) order() []uint32 {
	rest := make([]uint32, u.n)
	for i := range rest {
		rest[i] = uint32(i)
	}
	slices.SortFunc(rest, func(a, b uint32) int { return cmp.Or(cmp.Compare(u.heat[b], u.heat[a]), cmp.Compare(a, b)) })
	if u.pairs == nil {
		return rest
	}
	out := make([]uint32, 0, u.n)
	for next := 0; len(rest) > 0; {
		e := rest[next]
		out, rest = append(out, e), slices.Delete(rest, next, next+1)
		next = 0 // the most used one, if none was chosen together with this one
		row, most := u.pairs[int(e)*u.n:], uint32(0)
		for i, r := range rest {
			if row[r] > most {
				next, most = i, row[r]
			}
		}
	}
	return out
}
