package sched

import (
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// cut makes the pieces of a step as products are cut: each is a part of what is left. None is smaller than 1/128 of a worker's
// even share: the step is large enough for the machine.
func cut(cuts, workers int) (pieces []float64) {
	for left := 1.0; left > 1e-9; {
		p := min(max(left/float64(cuts*workers), 1/float64(128*workers)), left)
		pieces = append(pieces, p)
		left -= p
	}
	return pieces
}

// equally makes n equal pieces of a step.
func equally(n int) (pieces []float64) {
	for range n {
		pieces = append(pieces, 1/float64(n))
	}
	return pieces
}

// simulate is one step with a barrier at its end on processors of given speeds: whoever is free first asks the team for its next piece. It gives the time of the step,
// the fastest processor's for the whole of it being 1, and each worker's part and time.
func simulate(t *testing.T, team *Team, speed, pieces []float64) (longest float64, done, busy []float64) {
	n := len(speed)
	done, busy = make([]float64, n), make([]float64, n)
	left := make([]bool, n)
	taken := make([]bool, len(pieces))
	var next Counter
	for active := n; active > 0; {
		w := -1
		for i := range n {
			if !left[i] && (w < 0 || busy[i] < busy[w]) {
				w = i
			}
		}
		i, ok := team.Take(w, &next, len(pieces))
		if !ok {
			left[w] = true
			active--
			continue
		}
		require.False(t, taken[i])
		taken[i] = true
		done[w] += pieces[i]
		busy[w] += pieces[i] / speed[w]
		longest = max(longest, busy[w])
	}
	require.NotContains(t, taken, false, "a piece was left")
	return longest, done, busy
}

// parted is the time of the same step when each worker gets as much of it beforehand, as a parallel loop without a scheduler gives it out.
func parted(speed []float64) float64 { return 1 / (float64(len(speed)) * slices.Min(speed)) }

func speedsOf(top Topology, c Crew) []float64 {
	var s []float64
	for _, x := range c.Shares {
		for _, p := range top.CPUs {
			if p.ID == x.CPU {
				s = append(s, p.Capability)
			}
		}
	}
	return s
}

func TestSimulatedBarrier(t *testing.T) {
	read := func(groups ...coreGroup) Topology {
		root, cores := machine(t, false, groups...)
		return ReadTopology(root, nil, cores)
	}
	equal := func(n int) Topology { return read(coreGroup{n, 1, 0, 3000000, false, 0, "", Core{}}) }
	for _, c := range []struct {
		name  string
		top   Topology
		least float64 // times faster than an even split
	}{
		{"Tensor G3, 1 + 4 + 4", g3(t), 1.9},
		{"Tensor G3 by capacity", read(nameless(a510, a715, x3)...), 1.9},
		{"i9-14900HX", read(intel...), 1.2},
		{"2 equal cores", equal(2), 0.99},
		{"16 equal cores", equal(16), 0.99},
		{"192 equal cores", equal(192), 0.99},
	} {
		crew := c.top.Plan(PolicyAuto, 0).Prefill[0]
		speed := speedsOf(c.top, crew)
		team, anyone := NewTeam(crew), NewTeam(c.top.Plan(PolicyEven, 0).Prefill[0])
		anyone.patience = nil
		sum := 0.0
		for _, s := range speed {
			sum += s
		}
		n := len(speed)
		for _, step := range []struct {
			name       string
			ours, free []float64
		}{
			{"a product", cut(team.Cuts(), n), cut(anyone.Cuts(), n)},
			{"4 pieces each", equally(4 * n), equally(4 * n)},
			{"16 pieces each", equally(16 * n), equally(16 * n)},
		} {
			got, _, _ := simulate(t, team, speed, step.ours)
			free, _, _ := simulate(t, anyone, speed, step.free)
			t.Logf("%-22s %-14s times: even split %.4f, whoever asks %.4f, ours %.4f, ideal %.4f: %.2f times an even split, %.2f of the ideal",
				c.name, step.name, parted(speed), free, got, 1/sum, parted(speed)/got, 1/sum/got)
			require.GreaterOrEqual(t, parted(speed)/got, c.least, c.name)
			require.LessOrEqual(t, got, 1.02*free, "patience must not cost anything: %s, %s", c.name, step.name)
		}
		team.Close()
		anyone.Close()
	}
}

// Where the table is wrong, the workers' times put it right.
func TestSharesFollowTheTimesOfTheWorkers(t *testing.T) {
	top := g3(t)
	crew := top.Plan(PolicyAuto, 0).Prefill[0]
	speed := speedsOf(top, crew)
	wrong := crew
	wrong.Shares = append([]Share(nil), crew.Shares...)
	for i := range wrong.Shares {
		wrong.Shares[i].Part = []float64{0.3, 0.05, 0.05, 0.05, 0.05, 0.2, 0.1, 0.1, 0.1}[i]
	}
	team := NewTeam(wrong)
	defer team.Close()
	require.True(t, team.Measured())
	for range 12 {
		_, done, busy := simulate(t, team, speed, equally(64*len(speed)))
		team.Learn(done, busy)
	}
	for i, s := range team.Crew().Shares {
		require.InDelta(t, crew.Shares[i].Part, s.Part, 0.01, i)
	}
	right := NewTeam(crew)
	defer right.Close()
	require.Equal(t, right.patience, team.patience)
	same := Corrected(crew.Shares, make([]float64, len(crew.Shares)))
	require.Equal(t, crew.Shares, same, "no times, no change")
}

func TestEqualWorkersAreNeitherTimedNorBound(t *testing.T) {
	root, _ := machine(t, false, coreGroup{4, 1, 0, 3000000, false, 0, "", Core{}})
	team := NewTeam(ReadTopology(root, nil, nil).Plan(PolicyAuto, 0).Prefill[0])
	defer team.Close()
	require.False(t, team.Measured())
	require.Nil(t, team.patience)
	require.Nil(t, team.places)
}

// On the processors that there are: bound workers work, all pieces are taken, and the caller's thread is where it was.
func TestBoundTeamsRunEverything(t *testing.T) {
	ids := Allowed()
	if len(ids) == 0 {
		t.Skip("this system does not bind threads")
	}
	crew := Crew{Bound: true}
	for i, id := range ids[:min(len(ids), 4)] {
		crew.Shares = append(crew.Shares, Share{CPU: id, Part: 1 / float64(int(1)<<i), among: []int{id}})
	}
	team := NewTeam(crew)
	defer team.Close()
	require.NotNil(t, team.places)
	var sum, wrong atomic.Int64
	const pieces = 1000
	for range 20 {
		var next Counter
		require.NoError(t, team.Run(func(w int) {
			if at, ok := here(); !ok || at != team.places[w] {
				wrong.Add(1)
			}
			for {
				i, ok := team.Take(w, &next, pieces)
				if !ok {
					break
				}
				sum.Add(int64(i))
			}
			team.Barrier()
		}))
	}
	require.Zero(t, wrong.Load())
	require.EqualValues(t, 20*pieces*(pieces-1)/2, sum.Load())
	require.Equal(t, ids, Allowed())
}

func TestTrialFindsTheFastest(t *testing.T) {
	for _, c := range []struct {
		times []float64
		want  int
	}{{[]float64{3, 2, 5}, 1}, {[]float64{3, 2.95, 5}, 0}, {[]float64{1, 1, 1, 0.9}, 3}} {
		trial := NewTrial(len(c.times), -1)
		noise := []float64{10, 1.2, 1, 1.4, 1.1, 1.05}
		decided := false
		for n := 0; !decided; n++ {
			require.Less(t, n, 100)
			i, measured := trial.Choice()
			require.True(t, measured)
			decided = trial.Took(c.times[i] * noise[n/len(c.times)])
		}
		got, measured := trial.Choice()
		require.False(t, measured)
		require.Equal(t, c.want, got)
		require.InDeltaSlice(t, c.times, trial.Times(), 1e-9)
	}
	whole, parted := NewTrial(2, -1), NewTrial(2, -1)
	for n := range 12 {
		resumed := NewTrial(2, -1)
		resumed.Resume(parted.Times(), parted.Measured())
		parted = resumed
		time := []float64{5, 4}[n%2] + float64(n)/100
		require.Equal(t, whole.Took(time), parted.Took(time))
	}
	require.Equal(t, whole, parted)
	for _, bad := range [][]float64{nil, {1}, {1, -1}, {1, math.NaN()}, {1, math.Inf(1)}} {
		trial := NewTrial(2, -1)
		trial.Resume(bad, 7)
		require.Zero(t, trial.Measured(), "%v", bad)
	}
	for _, trial := range []*Trial{NewTrial(1, -1), NewTrial(3, 0)} {
		got, measured := trial.Choice()
		require.Zero(t, got)
		require.False(t, measured)
		require.False(t, trial.Took(math.Pi))
		require.Nil(t, trial.Times())
	}
}
