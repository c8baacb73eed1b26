package plan

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
	"jns/format/routing"
)

// table has a pinned slot, a dense one and the experts of two layers: 6 in layer 1, 4 in layer 3.
func table() ([]format.Slot, []routing.Slot) {
	slots := []format.Slot{{Class: format.ClassPinned, Layer: format.None, Expert: format.None, Length: 64}, {Class: format.ClassLayer, Layer: 0, Expert: format.None, Length: 64}}
	var traced []routing.Slot
	for _, l := range [][2]uint32{{1, 6}, {3, 4}} {
		for e := range l[1] {
			slots = append(slots, format.Slot{Class: format.ClassExpert, Layer: l[0], Expert: e, Length: 100})
			traced = append(traced, routing.Slot{Layer: int32(l[0]), Expert: int32(e), Length: 999}) // of another target
		}
	}
	return append(slots, format.Slot{Class: format.ClassRows, Layer: format.None, Expert: format.None, Length: 64}), traced
}

func pass(rows int) routing.Turn { return routing.Turn{Rows: rows} }

func turn(slots ...uint32) routing.Turn {
	u := routing.Turn{Slots: slots}
	for range slots {
		u.Count = append(u.Count, 1)
	}
	return u
}

func TestWhatIsChosenTogetherLiesTogether(t *testing.T) {
	slots, traced := table()
	tr := &routing.Trace{Slots: traced}
	for range 3 {
		tr.Turns = append(tr.Turns, pass(1), turn(5, 2), turn(9), pass(1), turn(4, 1), turn(7))
	}
	tr.Turns = append(tr.Turns, pass(1), turn(5, 2), turn(9))
	order, err := Order(slots, tr)
	require.NoError(t, err)
	// Layer 1: 2 and 5 four times (2 has the lower number), each after 1 and 4 and before; then what was never used. Layer 3: 3 (slot 9) before 1 (slot 7).
	require.Equal(t, []uint32{4, 7, 3, 6, 2, 5, 11, 9, 8, 10}, order)
}

func TestPassesOverSeveralTokensCountForUseAlone(t *testing.T) {
	slots, traced := table()
	many := routing.Turn{Slots: []uint32{0, 1, 2, 3}, Count: []int32{1, 9, 5, 9}}
	order, err := Order(slots, &routing.Trace{Slots: traced, Turns: []routing.Turn{pass(9), many}})
	require.NoError(t, err)
	require.Equal(t, []uint32{3, 5, 4, 2, 6, 7, 8, 9, 10, 11}, order)
	// Two tokens with such a pass between them did not follow each other.
	order, err = Order(slots, &routing.Trace{Slots: traced, Turns: []routing.Turn{pass(1), turn(5), pass(9), many, pass(1), turn(5)}})
	require.NoError(t, err)
	require.Equal(t, []uint32{3, 5, 4, 7, 2, 6, 8, 9, 10, 11}, order)
}

// Whatever a trace says, every expert has its place, within its layer, and the order is the same again.
func TestAnOrderIsAPermutationWithinLayers(t *testing.T) {
	slots, traced := table()
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		tr := &routing.Trace{Slots: traced}
		for range r.IntN(30) {
			tr.Turns = append(tr.Turns, pass(1+r.IntN(2)))
			for _, l := range [][2]int{{0, 6}, {6, 4}} {
				var u []uint32
				for _, e := range r.Perm(l[1])[:1+r.IntN(l[1])] {
					u = append(u, uint32(l[0]+e))
				}
				tr.Turns = append(tr.Turns, turn(u...))
			}
		}
		order, err := Order(slots, tr)
		require.NoError(t, err)
		again, err := Order(slots, tr)
		require.NoError(t, err)
		require.Equal(t, order, again)
		for _, part := range [][]uint32{order[:6], order[6:]} {
			sorted := slices.Sorted(slices.Values(part))
			require.Equal(t, uint32(len(part)-1), sorted[len(sorted)-1]-sorted[0])
			require.Equal(t, len(part), len(slices.Compact(sorted)))
		}
		require.Less(t, slices.Max(order[:6]), slices.Min(order[6:]))
	}
}

func TestManyExpertsLieByUse(t *testing.T) {
	u := newUse(maxPaired + 1)
	u.heat[4000], u.heat[7] = 2, 1
	require.Equal(t, []uint32{4000, 7, 0, 1}, u.order()[:4])
	require.Len(t, u.order(), maxPaired+1)
}

func TestAProfileOfAnotherModelIsRefused(t *testing.T) {
	slots, traced := table()
	_, err := Order(slots[:2], &routing.Trace{Slots: traced})
	require.ErrorIs(t, err, ErrProfile)
	require.ErrorContains(t, err, "has no experts")
	_, err = Order(slots, &routing.Trace{Slots: traced[:6]})
	require.ErrorIs(t, err, ErrProfile)
	require.ErrorContains(t, err, "experts in 1 layers, this one has them in 2")
	_, err = Order(slots, &routing.Trace{Slots: traced[:9]})
	require.ErrorIs(t, err, ErrProfile)
	require.ErrorContains(t, err, "3 experts in layer 3, this one has 4 in layer 3")
}
