package expert

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Auto reads about as much as the best of the others, also where that is not the usual one: experts that are wanted in bursts are kept best by who was wanted last.
func TestAutoFollowsTheBest(t *testing.T) {
	skew := skewed(4, 32, 4, 40, 400)
	bursts := skewed(4, 32, 4, 1, 1)
	bursts.Turns = nil
	r := rand.New(rand.NewPCG(7, 8))
	for p := range 600 {
		bursts.Turns = append(bursts.Turns, Turn{Rows: 1})
		first := uint32(p/25*7) % 24 // eight experts of each layer for 25 tokens
		for l := range uint32(4) {
			u := Turn{}
			for _, e := range r.Perm(8)[:4] {
				u.Slots, u.Count = append(u.Slots, l*32+first+uint32(e)), append(u.Count, 1)
			}
			bursts.Turns = append(bursts.Turns, u)
		}
	}
	seen := map[string]bool{}
	for _, trace := range []*Trace{skew, bursts} {
		for _, frames := range []int64{16, 24, 36, 48, 64, 96} {
			best, name := uint64(1<<63), ""
			for _, p := range plainPolicies {
				r, err := trace.Replay(p, frames*4096, false)
				require.NoError(t, err)
				if r.Reads < best {
					best, name = r.Reads, p
				}
			}
			seen[name] = true
			own, err := trace.Replay(PolicyAuto, frames*4096, false)
			require.NoError(t, err)
			require.LessOrEqual(t, float64(own.Reads), 1.02*float64(best)+40, "%d frames, best is %s", frames, name)
		}
	}
	require.Greater(t, len(seen), 1, "one policy is always the best: %v", seen)
}

func TestTheFarthestComesFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		var h farthest
		for i := range r.IntN(40) {
			h = append(h, candidate{uint32(i), float64(r.IntN(12))})
		}
		h.init()
		for i := range r.IntN(20) {
			h.push(candidate{uint32(100 + i), float64(r.IntN(12))})
		}
		want := slices.SortedFunc(slices.Values(h), func(a, b candidate) int {
			return cmp.Or(cmp.Compare(b.distance, a.distance), cmp.Compare(a.slot, b.slot))
		})
		var got farthest
		for len(h) > 0 {
			got = append(got, h[0])
			h.pop()
		}
		require.True(t, slices.Equal(want, got))
	}
}

// What is rare and told of stays where what is frequent and not told of leaves.
func TestWhatIsLikelySoonStays(t *testing.T) {
	layers := []int32{0, 0, 0, 0, 1, 1, 1, 1}
	p, err := NewPolicy(PolicyNext, layers)
	require.NoError(t, err)
	table := NewTable(layers, 4, 0, p)
	turn := func(layer int, slots ...uint32) {
		table.Turn(layer, slots, nil, 1)
		for more := true; more; {
			_, _, more = table.Next()
		}
	}
	for range 200 { // 4 and 5 are frequent, 6 is not; what class 10 says comes true
		table.Pass(1)
		table.Soon([]uint32{4}, []uint8{10})
		turn(0, 0)
		turn(1, 4, 5)
	}
	table.Pass(1)
	turn(0, 0)
	turn(1, 6)
	table.Pass(1)
	table.Soon([]uint32{6}, []uint8{10})
	turn(0, 1) // one has to leave
	require.GreaterOrEqual(t, table.Frame(6), 0, "it was told of")
}
