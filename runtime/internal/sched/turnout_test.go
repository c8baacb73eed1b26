package sched

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// crowd is a machine of as many processors as a team has workers, with busy processes beside them: a processor that has a worker and a process gives each half of its time, in slices.
// A run takes as long as its slowest worker.
type crowd struct {
	processors, busy int
	bound            float64 // workers beyond this many do not make a run faster: memory
	seed             uint64
}

// run is the time of a run, 2 ms of work for one worker, and what is lost of it.
func (c *crowd) run(workers int) (took, lost time.Duration) {
	const slice = 4 * time.Millisecond
	took = time.Duration(float64(2*time.Millisecond) / min(float64(workers), c.bound))
	share := took.Seconds() / slice.Seconds() // of runs in which a processor's slice ends
	for range workers - (c.processors - c.busy) {
		c.seed = c.seed*6364136223846793005 + 1442695040888963407
		if float64(c.seed>>40)/(1<<24) < share && lost == 0 {
			lost = slice
		}
	}
	took += lost
	if workers == 1 {
		lost = 0 // nobody waits
	}
	return took, lost
}

// spend does runs for some time and gives their number and the mean number of workers.
func (c *crowd) spend(t *Turnout, long time.Duration) (runs int, workers float64) {
	for passed := time.Duration(0); passed < long; runs++ {
		took, lost := c.run(t.Workers())
		passed += took
		workers += float64(t.Workers()) * took.Seconds()
		t.Ran(1, took, lost)
	}
	return runs, workers / long.Seconds()
}

func TestOthersHaveTheirProcessors(t *testing.T) {
	for _, c := range []crowd{{processors: 2, bound: 2}, {processors: 2, bound: 1.2}, {processors: 4, bound: 4}, {processors: 8, bound: 4}, {processors: 16, bound: 16}} {
		for busy := 1; busy < c.processors; busy++ {
			team := NewTurnout(c.processors)
			_, workers := c.spend(team, 10*time.Second)
			require.InDelta(t, c.processors, workers, 0.01, "alone, all work")

			crowded := c
			crowded.busy = busy
			crowded.spend(team, 3*time.Second) // time to find out, process by process
			const long = 20 * time.Second
			got, _ := crowded.spend(team, long)
			whole, left := 0, 0
			for passed := time.Duration(0); passed < long; whole++ {
				took, _ := crowded.run(c.processors)
				passed += took
			}
			for passed := time.Duration(0); passed < long; left++ {
				took, _ := crowded.run(c.processors - busy)
				passed += took
			}
			require.Greater(t, float64(got), 0.9*float64(max(whole, left)), "%+v: %d with all, %d without those that the others have", crowded, whole, left)

			c.spend(team, time.Duration(busy)*4*time.Second)
			require.Equal(t, c.processors, team.Workers(), "%+v: all are back", crowded)
		}
	}
}

func TestASingleDelayChangesNothing(t *testing.T) {
	team := NewTurnout(2)
	for i := range 100_000 {
		took, lost := 2*time.Millisecond, time.Duration(0)
		if i%50 == 0 {
			took, lost = 30*time.Millisecond, 28*time.Millisecond
		}
		team.Ran(1, took, lost)
		require.Equal(t, 2, team.Workers())
	}
}

// Where all processors are wanted by others, one worker waits as well; there is nothing to be gained, and little is lost by trying.
func TestTrialsInVainBecomeRare(t *testing.T) {
	team := NewTurnout(2)
	alone, all := 0, 0
	for all < 20_000 {
		took, lost := 4*time.Millisecond, 2*time.Millisecond
		if team.Workers() == 1 {
			took, lost = 4*time.Millisecond, 0
			alone++
		}
		all++
		team.Ran(1, took, lost)
	}
	require.Positive(t, alone)
	require.Less(t, alone, all/25)
}

func TestBatchesOfOtherSizesAreNoMeasure(t *testing.T) {
	trial := func() *Turnout {
		team := NewTurnout(2)
		for team.Workers() == 2 {
			team.Ran(1, 10*time.Millisecond, 5*time.Millisecond)
		}
		return team
	}
	team := trial()
	team.Ran(2, time.Millisecond, 0)
	require.Equal(t, 2, team.Workers(), "the trial was of single tokens")
	team = trial()
	team.Ran(64, time.Second, time.Second)
	require.Equal(t, 1, team.Workers(), "neither few rows nor a prompt")
	team.Anew()
	require.Equal(t, 2, team.Workers())

	for rows := 512; team.Workers() == 2; rows -= 100 {
		require.Positive(t, rows, "prompts of any size are measured by their rows")
		team.Ran(rows, time.Duration(rows)*time.Millisecond, time.Duration(rows)*time.Millisecond/2)
	}
	one := NewTurnout(1)
	one.Ran(1, time.Second, time.Second)
	require.Equal(t, 1, one.Workers())
}

// A worker that is left out sleeps, misses regions, and is there again.
func TestLeftOutWorkersSleepAndReturn(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	for round := range 2000 {
		n := 1 + round*7%3
		var calls [3]atomic.Int32
		var wrong atomic.Int32
		require.NoError(t, p.run(n, func(w int) {
			calls[w].Add(1)
			for range 3 {
				if !p.Barrier() {
					return
				}
			}
			if p.AtWork() != n {
				wrong.Add(1)
			}
		}))
		require.Zero(t, wrong.Load())
		for w := range 3 {
			want := int32(1)
			if w >= n {
				want = 0
			}
			require.Equal(t, want, calls[w].Load(), "worker %d of %d", w, n)
		}
		if round%100 == 0 {
			time.Sleep(2 * time.Millisecond) // let them park
		}
	}
	require.NoError(t, p.run(1, func(int) {}))
	for w := 1; w < 3; w++ {
		require.Eventually(t, func() bool { return p.parked[w].asleep.Load() == 1 }, 5*time.Second, 100*time.Microsecond)
	}
}

// A team notices by itself that a worker keeps the others waiting, and that it no longer does.
func TestTeamLeavesOutWhoIsLate(t *testing.T) {
	team := NewTeam(Alike(2).Plan(PolicyAuto, 0).Prefill[0])
	defer team.Close()
	late := func(w int) {
		if w == 1 {
			time.Sleep(2*spellTime + 10*time.Millisecond)
		}
		team.Barrier()
	}
	for tries := 0; team.AtWork() == 2; tries++ { // more than one where this test itself is kept from running
		require.Less(t, tries, 20)
		require.NoError(t, team.Do(1, late))
		require.NoError(t, team.Do(1, func(int) {}))
	}
	team.ended = team.ended.Add(-2 * stale)
	require.NoError(t, team.Do(1, func(int) { team.Barrier() }))
	require.Equal(t, 2, team.AtWork(), "what was found long ago does not count")
	require.NoError(t, team.Do(1, late))
	require.NoError(t, team.Run(func(int) { team.Barrier() }))
	require.Equal(t, 2, team.AtWork(), "Run is for all")
}
