package expert

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is read ahead is paid for: if all of it were in vain, no more would have been loaded than by the best policy without guesses. Guesses that come true save something, and are read then.
func TestWhatIsReadAheadIsPaidFor(t *testing.T) {
	for _, right := range []float64{0.5, 0.93, 1} {
		trace := skewed(4, 32, 4, 1, 1500)
		layers := layersOf(trace.Slots)
		for _, frames := range []int{16, 24, 36, 64} {
			r := rand.New(rand.NewPCG(11, 12))
			p, err := NewPolicy(PolicyAuto, layers)
			require.NoError(t, err)
			table := NewTable(layers, frames, 0, p)
			ahead := 0
			for i, u := range trace.Turns {
				if u.Slots == nil {
					table.Pass(u.Rows)
					continue
				}
				if i+1 < len(trace.Turns) && trace.Turns[i+1].Slots != nil { // the next layer's
					var soon []uint32
					var class []uint8
					for _, s := range trace.Turns[i+1].Slots {
						if r.Float64() >= right {
							s = s/32*32 + r.Uint32N(32)
						}
						soon, class = append(soon, s), append(class, 10)
					}
					table.Soon(soon, class)
				}
				table.Turn(int(layers[u.Slots[0]]), u.Slots, u.Count, 1)
				for more := true; more; {
					_, _, more = table.Next()
				}
				if n := len(table.Early()); n > 0 {
					ahead += n
					require.LessOrEqual(t, table.Loads+table.shadows.owed(table.frame), table.shadows.spend(), "turn %d, %d frames, %.2f of the guesses come true", i, frames, right)
				}
			}
			if right == 0.5 {
				require.LessOrEqual(t, ahead, 4, "%d frames", frames) // the first few guesses are believed
			}
			if right == 1 && frames <= 24 {
				require.Greater(t, ahead, 100, "%d frames", frames)
				require.Less(t, table.Loads, table.shadows.least(), "%d frames", frames)
			}
		}
	}
}
