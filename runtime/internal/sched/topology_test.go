package sched

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// coreGroup is some equal cores of a machine.
type coreGroup struct {
	cores, threads int
	capacity, freq int // 0: not shown
	atom           bool
	node           int
	cache          string // size of the last cache
	core           Core   // what identification registers say
}

// machine makes a sysfs tree of groups of cores. Second threads are numbered behind all cores where last is set, as Intel's and AMD's are by most firmware.
func machine(t *testing.T, last bool, groups ...coreGroup) (root string, cores map[int]Core) {
	root, cores = t.TempDir(), map[int]Core{}
	write := func(name, s string) {
		f := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(f), 0o755))
		require.NoError(t, os.WriteFile(f, []byte(s+"\n"), 0o644))
	}
	total, id := 0, 0
	for _, g := range groups {
		total += g.cores
	}
	second := total
	var atoms, online []string
	nodes := map[int][]string{}
	for _, g := range groups {
		for range g.cores {
			ids := []int{id}
			id++
			for n := 1; n < g.threads; n++ {
				if last {
					ids = append(ids, second)
					second++
				} else {
					ids = append(ids, id)
					id++
				}
			}
			siblings := strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]")
			for _, i := range ids {
				dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/", i)
				write(dir+"topology/thread_siblings_list", siblings)
				if g.freq > 0 {
					write(dir+"cpufreq/cpuinfo_max_freq", fmt.Sprint(g.freq))
				}
				if g.capacity > 0 {
					write(dir+"cpu_capacity", fmt.Sprint(g.capacity))
				}
				if g.cache != "" {
					write(dir+"cache/index3/size", g.cache)
				}
				if g.atom {
					atoms = append(atoms, fmt.Sprint(i))
				}
				if g.core.Name != "" {
					cores[i] = g.core
				}
				online = append(online, fmt.Sprint(i))
				nodes[g.node] = append(nodes[g.node], fmt.Sprint(i))
			}
		}
	}
	write("sys/devices/system/cpu/online", strings.Join(online, ","))
	if atoms != nil {
		write("sys/devices/cpu_atom/cpus", strings.Join(atoms, ","))
	}
	for n, s := range nodes {
		write(fmt.Sprintf("sys/devices/system/node/node%d/cpulist", n), strings.Join(s, ","))
	}
	return root, cores
}

// cgroup adds a control group of version 2 with a quota.
func cgroup(t *testing.T, root, max string) {
	for name, s := range map[string]string{"proc/self/cgroup": "0::/box\n", "sys/fs/cgroup/box/cpu.max": max} {
		f := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(f), 0o755))
		require.NoError(t, os.WriteFile(f, []byte(s), 0o644))
	}
}

// Clocks and capacities as the machines' makers or their device trees give them.
var (
	x3    = coreGroup{1, 1, 1024, 2914000, false, 0, "", Core{Name: "Cortex-X3", Width: 4}}
	a715  = coreGroup{4, 1, 670, 2367000, false, 0, "", Core{Name: "Cortex-A715", Width: 2}}
	a510  = coreGroup{4, 1, 160, 1704000, false, 0, "", Core{Name: "Cortex-A510", Small: true, Width: 1}}
	intel = []coreGroup{{8, 2, 0, 5800000, false, 0, "36864K", Core{}}, {16, 1, 0, 4100000, true, 0, "36864K", Core{}}}
	amd   = []coreGroup{{8, 2, 0, 5700000, false, 0, "98304K", Core{}}, {8, 2, 0, 5700000, false, 0, "32768K", Core{}}}
)

func g3(t *testing.T) Topology {
	root, cores := machine(t, false, a510, a715, x3)
	return ReadTopology(root, nil, cores)
}

func nameless(groups ...coreGroup) []coreGroup {
	for i := range groups {
		groups[i].core = Core{}
	}
	return groups
}

// The pools that are chosen on machines of all kinds, by name.
func TestPoolsOfMachines(t *testing.T) {
	var b strings.Builder
	show := func(name string, top Topology, limit int) {
		fmt.Fprintf(&b, "%s\n", name)
		for _, p := range Policies() {
			plan := top.Plan(Policy(p), limit)
			fmt.Fprintf(&b, "  %-5s %s\n", p, plan.Why)
			for _, phase := range []struct {
				name  string
				crews []Crew
			}{{"prefill", plan.Prefill}, {"decode", plan.Decode}} {
				for i, c := range phase.crews {
					how := map[bool]string{true: "bound", false: "free"}[c.Bound]
					first := phase.name
					if i > 0 {
						first = "or"
					}
					fmt.Fprintf(&b, "    %-8s %d workers, %s: %s: %s\n", first, len(c.Shares), how, c.Name, c)
				}
			}
		}
	}
	read := func(allowed []int, last bool, groups ...coreGroup) Topology {
		root, cores := machine(t, last, groups...)
		return ReadTopology(root, allowed, cores)
	}
	show("Tensor G3, 1 + 4 + 4", g3(t), 0)
	show("Tensor G3 that shows no identification registers", read(nil, false, nameless(a510, a715, x3)...), 0)
	show("Tensor G3, taskset to the little cores and one of the middle ones", read([]int{0, 1, 2, 3, 4}, false, a510, a715, x3), 0)
	show("M4 Pro, macOS (hw.perflevel0: 10 Performance, hw.perflevel1: 4 Efficiency)", FromLevels([]Level{{"Performance", 10, 16 << 20}, {"Efficiency", 4, 4 << 20}}), 0)
	show("Graviton4, two nodes of 96", read(nil, false, coreGroup{96, 1, 0, 2800000, false, 0, "36864K", Core{Name: "Neoverse-V2", Width: 4}},
		coreGroup{96, 1, 0, 2800000, false, 1, "36864K", Core{Name: "Neoverse-V2", Width: 4}}), 0)
	show("i9-14900HX, 8 cores of two threads and 16 of one", read(nil, false, intel...), 0)
	show("9950X3D, two times 8 cores of two threads, one with the larger cache", read(nil, true, amd...), 0)
	root, _ := machine(t, false, coreGroup{16, 1, 0, 3000000, false, 0, "32768K", Core{}})
	cgroup(t, root, "150000 100000\n")
	limit := quota(root, "proc/self/cgroup")
	show(fmt.Sprintf("a container with a quota of 1.5 of 16 processors: %d", limit), ReadTopology(root, nil, nil), limit)
	show("16 processors, taskset -c 3,5-7", read([]int{3, 5, 6, 7}, false, coreGroup{16, 1, 0, 3000000, false, 0, "32768K", Core{}}), 0)
	require.Empty(t, ReadTopology(t.TempDir(), nil, nil).CPUs)
	show("a machine of 8 that shows nothing", Alike(8), 0)

	file := filepath.Join("testdata", "pools.golden")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

func TestProcessorsAreRead(t *testing.T) {
	root, _ := machine(t, true, coreGroup{1, 2, 0, 2, false, 0, "1M", Core{}}, coreGroup{1, 2, 0, 1, false, 1, "512K", Core{}})
	top := ReadTopology(root, nil, map[int]Core{1: {Name: "slow", Small: true}})
	require.Equal(t, []CPU{
		{ID: 0, Capability: 1, Cache: 1 << 20},
		{ID: 1, Core: 1, Node: 1, Kind: "slow", Small: true, Capability: 0.5 * smallShare, Cache: 512 << 10},
		{ID: 2, Capability: 1, Cache: 1 << 20},
		{ID: 3, Core: 1, Node: 1, Capability: 0.5, Cache: 512 << 10},
	}, top.CPUs)
	top = ReadTopology(root, []int{0, 1}, map[int]Core{0: {Speed: 2}, 1: {Speed: 4}})
	require.Equal(t, 0.5, top.CPUs[0].Capability, "what the user says counts alone")
}

func TestListsThatAreNoneAreRefused(t *testing.T) {
	f := filepath.Join(t.TempDir(), "list")
	for text, want := range map[string][]int{"0-2,5\n": {0, 1, 2, 5}, "": nil, "3": {3}, "2-1": nil, "x": nil, "0-99999999": nil, "-1": nil} {
		require.NoError(t, os.WriteFile(f, []byte(text), 0o644))
		require.Equal(t, want, readList(f), text)
	}
	require.Nil(t, readList(f+"x"))
}

// A worker that keeps to cores of one kind has their distance, one that is anywhere has it only where all agree.
func TestWorkersPrefetchAsTheirCoresLike(t *testing.T) {
	near, far := a510, x3
	near.core.Prefetch, far.core.Prefetch = 576, 448
	root, cores := machine(t, false, near, a715, far)
	top := ReadTopology(root, nil, cores)
	of := func(top Topology, p Policy) (all []int) {
		c := top.Plan(p, 0).Prefill[0]
		team := NewTeam(c)
		defer team.Close()
		for w := range c.Shares {
			all = append(all, team.Prefetch(w))
		}
		return all
	}
	require.Equal(t, []int{448, 0, 0, 0, 0, 576, 576, 576, 576}, of(top, PolicyAll))
	require.Equal(t, make([]int, 9), of(top, PolicyEven))
	for i := range top.CPUs {
		top.CPUs[i].Prefetch = 64
	}
	require.Equal(t, []int{64, 64, 64, 64, 64, 64, 64, 64, 64}, of(top, PolicyEven))
	require.Zero(t, NewTeam(Crew{}).Prefetch(0))
}
