package sched

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every piece is done once, whoever comes late, in steps of all sizes and over regions.
func TestDealGivesEveryPieceOnce(t *testing.T) {
	for n := 1; n <= 4; n++ {
		p, d := NewPool(n), NewDeal(4)
		const steps, most = 7, 40
		var taken [steps][most]atomic.Int32
		for round := range 60 {
			cuts := make([][]int, steps)
			for s := range cuts {
				cuts[s] = []int{0}
				for w := range n {
					cuts[s] = append(cuts[s], cuts[s][w]+(round*5+s*3+w*7)%(most/4)) // some runs are empty
				}
			}
			require.NoError(t, p.Run(func(w int) {
				for s := range steps {
					if (round+s+w)%9 == 0 {
						time.Sleep(50 * time.Microsecond)
					}
					d.Begin(w)
					for {
						i, ok := d.Take(w, cuts[s])
						if !ok {
							break
						}
						taken[s][i].Add(1)
					}
					if !p.Barrier() {
						return
					}
				}
			}))
			for s := range steps {
				for i := range taken[s] {
					want := int32(0)
					if i < cuts[s][n] {
						want = 1
					}
					require.Equal(t, want, taken[s][i].Swap(0), "%d workers, round %d, step %d, piece %d of %v", n, round, s, i, cuts[s])
				}
			}
		}
		p.Close()
	}
}

func TestDealBeginsAnewAfterReset(t *testing.T) {
	d := NewDeal(2)
	cuts := []int{0, 3, 5}
	d.Begin(0)
	_, ok := d.Take(0, cuts)
	require.True(t, ok)
	d.Reset() // the region ended here
	d.Begin(0)
	d.Begin(1)
	var got []int
	for {
		i, ok := d.Take(1, cuts)
		if !ok {
			break
		}
		got = append(got, i)
	}
	require.Equal(t, []int{3, 4, 0, 1, 2}, got, "its own first, then what the other has not begun")
}

// Those who wait may do something meanwhile, as long as they want to; it holds nobody up.
func TestMeetLetsTheWaitingDoSomething(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	var calls, last atomic.Int32
	require.NoError(t, p.Run(func(w int) {
		if w == 1 {
			for calls.Load() < 3 {
				time.Sleep(10 * time.Microsecond)
			}
		}
		p.Meet(w, func(int) { last.Add(1) }, func(int) bool { return calls.Add(1) < 3 })
		p.Meet(w, nil, nil)
	}))
	require.EqualValues(t, 3, calls.Load())
	require.EqualValues(t, 1, last.Load())
}
