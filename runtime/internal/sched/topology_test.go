package sched

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// coreGroup is some equal cores of a machine.
type coreGroup struct {
	cores, threads int
	capacity, freq int // capacity 0: not shown
	atom           bool
	node           int
}

// machine makes a sysfs tree of groups of cores.
func machine(t *testing.T, groups ...coreGroup) string {
	root := t.TempDir()
	write := func(name, s string) {
		f := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(f), 0o755))
		require.NoError(t, os.WriteFile(f, []byte(s+"\n"), 0o644))
	}
	id, atoms, nodes := 0, "", map[int]string{}
	for _, g := range groups {
		for range g.cores {
			siblings := fmt.Sprintf("%d-%d", id, id+g.threads-1)
			for range g.threads {
				dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/", id)
				write(dir+"topology/thread_siblings_list", siblings)
				write(dir+"cpufreq/cpuinfo_max_freq", fmt.Sprint(g.freq))
				if g.capacity > 0 {
					write(dir+"cpu_capacity", fmt.Sprint(g.capacity))
				}
				if g.atom {
					atoms += fmt.Sprintf("%d,", id)
				}
				nodes[g.node] += fmt.Sprintf("%d,", id)
				id++
			}
		}
	}
	write("sys/devices/system/cpu/online", fmt.Sprintf("0-%d", id-1))
	if atoms != "" {
		write("sys/devices/cpu_atom/cpus", atoms[:len(atoms)-1])
	}
	for n, s := range nodes {
		write(fmt.Sprintf("sys/devices/system/node/node%d/cpulist", n), s[:len(s)-1])
	}
	return root
}

func g3(t *testing.T) string {
	return machine(t, coreGroup{4, 1, 160, 1704000, false, 0}, coreGroup{4, 1, 670, 2367000, false, 0}, coreGroup{1, 1, 1024, 2914000, false, 0})
}

func count(from, n int) string {
	s := ""
	for i := range n {
		s += fmt.Sprintf(" %d", from+i)
	}
	return s[1:]
}

func TestPoolsOfMachines(t *testing.T) {
	for _, c := range []struct {
		name            string
		root            string
		allowed         []int
		quota           int
		prefill, decode string
	}{
		{"Tensor G3", g3(t), nil, 0, "8:24% 4:15% 5:15% 6:15% 7:15% 0:4% 1:4% 2:4% 3:4%", "8:28% 4:18% 5:18% 6:18% 7:18%"},
		{"Tensor G3, taskset to the little ones", g3(t), []int{0, 1, 2, 3}, 0, "0 1 2 3", "0 1 2 3"},
		{"M4 Pro under Linux", machine(t, coreGroup{4, 1, 340, 2600000, false, 0}, coreGroup{10, 1, 1024, 4500000, false, 0}), nil, 0,
			"4:9% 5:9% 6:9% 7:9% 8:9% 9:9% 10:9% 11:9% 12:9% 13:9% 0:3% 1:3% 2:3% 3:3%", count(4, 10)},
		{"Graviton4", machine(t, coreGroup{96, 1, 0, 2800000, false, 0}, coreGroup{96, 1, 0, 2800000, false, 1}), nil, 0, count(0, 192), count(0, 192)},
		{"i9-14900HX", machine(t, coreGroup{8, 2, 0, 5800000, false, 0}, coreGroup{16, 1, 0, 4100000, true, 0}), nil, 0, "", ""},
		{"9950X3D", machine(t, coreGroup{16, 2, 0, 5700000, false, 0}), nil, 0, "0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30", "0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30"},
		{"a container with one and a half of sixteen", machine(t, coreGroup{16, 1, 0, 3000000, false, 0}), nil, 1, "0", "0"},
		{"a machine that shows nothing", t.TempDir(), nil, 0, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := ReadTopology(c.root, c.allowed)
			prefill, decode := top.Pools(PolicyAuto, c.quota)
			t.Logf("prefill %s; decode %s", Describe(prefill), Describe(decode))
			if c.name == "i9-14900HX" {
				require.Len(t, prefill, 24)
				require.Equal(t, "0 2 4 6 8 10 12 14", Describe(decode))
				return
			}
			require.Equal(t, c.prefill, Describe(prefill))
			require.Equal(t, c.decode, Describe(decode))
		})
	}
}

func TestNodesAreRead(t *testing.T) {
	top := ReadTopology(machine(t, coreGroup{2, 1, 0, 1, false, 0}, coreGroup{2, 1, 0, 1, false, 1}), nil)
	require.Equal(t, []CPU{{0, 1, 0, 0}, {1, 1, 1, 0}, {2, 1, 2, 1}, {3, 1, 3, 1}}, top.CPUs)
}

// step is the time of a step with a barrier at its end: the slowest worker's.
func step(top Topology, s []Share) (longest float64, took []float64) {
	for _, x := range s {
		for _, c := range top.CPUs {
			if c.ID == x.CPU {
				took = append(took, x.Part/c.Capability)
				longest = max(longest, x.Part/c.Capability)
			}
		}
	}
	return longest, took
}

func TestSharesBeatAnEvenSplitOnMixedCoresAndLoseNothingOnEqualOnes(t *testing.T) {
	for _, c := range []struct {
		root  string
		least float64
	}{
		{g3(t), 1.9},
		{machine(t, coreGroup{8, 1, 0, 3000000, false, 0}), 0.99},
		{machine(t, coreGroup{8, 1, 0, 5800000, false, 0}, coreGroup{16, 1, 0, 4100000, true, 0}), 1.3},
	} {
		top := ReadTopology(c.root, nil)
		even, _ := top.Pools(PolicyEven, 0)
		auto, _ := top.Pools(PolicyAuto, 0)
		a, _ := step(top, even)
		b, _ := step(top, auto)
		t.Logf("%.2f times", a/b)
		require.GreaterOrEqual(t, a/b, c.least)
	}
}

// Where the table is wrong, the workers' times put it right.
func TestSharesFollowTheTimesOfTheWorkers(t *testing.T) {
	top := ReadTopology(g3(t), nil)
	s, _ := top.Pools(PolicyEven, 0)
	best, _ := top.Pools(PolicyAuto, 0)
	want, _ := step(top, best)
	for range 12 {
		_, took := step(top, s)
		s = Corrected(s, took)
	}
	got, _ := step(top, s)
	require.InDelta(t, want, got, want*0.01)
	require.Equal(t, s, Corrected(s, make([]float64, len(s))))
}

func TestListsThatAreNoneAreRefused(t *testing.T) {
	f := filepath.Join(t.TempDir(), "list")
	for text, want := range map[string][]int{"0-2,5\n": {0, 1, 2, 5}, "": nil, "3": {3}, "2-1": nil, "x": nil, "0-99999999": nil, "-1": nil} {
		require.NoError(t, os.WriteFile(f, []byte(text), 0o644))
		require.Equal(t, want, readList(f), text)
	}
	require.Nil(t, readList(f+"x"))
}
