package exec

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/kernels"
	"jns/runtime/internal/kv"
	"jns/runtime/internal/sched"
)

// crew is a model of so many equal workers, without a program.
func crew(workers, rows int) *Model {
	m := &Model{hands: workers, n: rows, work: make([]worker, workers), deal: sched.NewDeal(workers), batch: make(Batch, rows)}
	m.pool = sched.NewTeam(sched.Crew{Shares: make([]sched.Share, workers)})
	c := &kv.Cache{}
	for i := range m.work {
		m.work[i].id, m.work[i].cuts = i, make([]int, workers+1)
	}
	for i := range m.batch {
		m.batch[i] = Row{Cache: c, Pos: i}
	}
	return m
}

// Homes must be a partition of the rows, and every piece of a step must be done once, in whatever groups.
func TestEveryRowHasOneHomeAndEveryPieceIsDoneOnce(t *testing.T) {
	for workers := 2; workers <= handsMost; workers++ {
		for _, rows := range []int{17, 18, 95, 96, 97, 191, 192, 200, 300, 512, 513, 1024, 2048} {
			m := crew(workers, rows)
			defer m.pool.Close()
			what := fmt.Sprintf("%d workers, %d rows", workers, rows)
			require.True(t, m.homed(rows), what)
			require.Zero(t, m.home(0, rows), what)
			require.Equal(t, rows, m.home(workers, rows), what)
			for i := range workers {
				require.LessOrEqual(t, m.home(i, rows), m.home(i+1, rows), what)
			}
			g := m.groups(rows)
			require.Zero(t, workers%g, what)
			for _, pieces := range []int{1, 5, 16} {
				done := make([][]int, pieces)
				for i := range done {
					done[i] = make([]int, rows)
				}
				for w := range m.work { // one after the other: the first takes what the others never begin
					m.groupedPieces(&m.work[w], pieces, rows, func(_ *worker, i, r, n int) {
						require.Positive(t, n, what)
						for ; n > 0; n-- {
							done[i][r+n-1]++
						}
					})
				}
				for i := range done {
					for r, n := range done[i] {
						require.Equal(t, 1, n, "%s, piece %d of %d, row %d", what, i, pieces, r)
					}
				}
			}
			seen := make([]int, 3*rows)
			for w := range m.work {
				m.each(&m.work[w], nil, rows, len(seen), func(i int) { seen[i]++ })
			}
			for i, n := range seen {
				require.Equal(t, 1, n, "%s, piece %d", what, i)
			}
		}
	}
}

// The workers' parts of an attention are about as much work, and begin where the one before ends.
func TestAttentionIsPartedByWork(t *testing.T) {
	for workers := 2; workers <= handsMost; workers++ {
		for _, window := range []int{0, 64} {
			const rows, of, each = 512, 5, 3
			m := crew(workers, rows)
			defer m.pool.Close()
			a := &attention{m: m, shape: &kv.Shape{KVHeads: each, Window: window}, group: kernels.AttendMax / of}
			blocks := (rows + of - 1) / of
			cuts := m.work[0].cuts
			a.shares(cuts, of, blocks, each)
			require.Zero(t, cuts[0])
			require.Equal(t, blocks*each, cuts[workers])
			var work []int
			for i := range workers {
				n := 0
				for k := cuts[i]; k < cuts[i+1]; k++ {
					lo, hi := a.sees(&m.batch[min((blocks-k/each)*of, rows)-1])
					n += hi - lo + 2*kv.Chunk
				}
				work = append(work, n)
			}
			for _, n := range work {
				require.InDelta(t, 1, float64(n)/float64(work[0]), 0.1, "%d workers, window %d: %v", workers, window, work)
			}
		}
	}
}
