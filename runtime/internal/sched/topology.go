package sched

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// CPU is one processor of a machine as its system numbers it.
type CPU struct {
	ID         int     `json:"id"`
	Core       int     `json:"core"` // processors of one core share it: the lowest of their numbers
	Node       int     `json:"node"` // memory node
	Kind       string  `json:"kind"` // name of the core, "" where unknown
	Small      bool    `json:"small,omitempty"`
	Capability float64 `json:"capability"`               // estimated speed, the fastest of the machine being 1
	Cache      int     `json:"cache_bytes,omitempty"`    // of the last cache that it reaches
	Prefetch   int     `json:"prefetch_bytes,omitempty"` // how far ahead of the loads it likes to be told
}

// Topology is the processors of a machine that a process may use.
type Topology struct {
	CPUs []CPU `json:"cpus"` // by ID
	// Unbound says that threads cannot be given processors: numbers are then made up, and only how many there are of a kind means something.
	Unbound bool `json:"unbound,omitempty"`
}

// Core is what a processor's identification says of its core.
type Core struct {
	Name  string
	Small bool    // made to save power: in order, or an efficiency core
	Width float64 // relative speed at the same clock; 0: unknown
	Speed float64 // relative speed; not 0: said by the user, and nothing else counts

	Prefetch int // bytes ahead of the loads at which weights are asked for; 0: not at all
}

// smallShare is how much of a large core's speed a small one has at the same clock where nothing more is known: two of its four pipelines or a little more.
const smallShare = 0.6

// ReadTopology reads Linux's sysfs. root is where the file system begins ("/", or a fixture); allowed are the processors that the process may run on, nil for all; cores says
// what is known of them, by number. A machine that shows nothing gives an empty topology.
func ReadTopology(root string, allowed []int, cores map[int]Core) Topology {
	base := filepath.Join(root, "sys/devices/system/cpu")
	ids := allowed
	if ids == nil {
		ids = readList(filepath.Join(base, "online"))
	}
	atoms := readList(filepath.Join(root, "sys/devices/cpu_atom/cpus"))
	var t Topology
	var facts []speedFacts
	for _, id := range ids {
		dir := filepath.Join(base, fmt.Sprintf("cpu%d", id))
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		k := cores[id]
		c := CPU{ID: id, Core: id, Kind: k.Name, Small: k.Small || slices.Contains(atoms, id), Prefetch: k.Prefetch}
		if s := readList(filepath.Join(dir, "topology/thread_siblings_list")); len(s) > 0 {
			c.Core = slices.Min(s)
		}
		c.Cache = lastCache(filepath.Join(dir, "cache"))
		t.CPUs = append(t.CPUs, c)
		facts = append(facts, speedFacts{said: k.Speed, width: k.Width, capacity: readNumber(filepath.Join(dir, "cpu_capacity")),
			clock: readNumber(filepath.Join(dir, "cpufreq/cpuinfo_max_freq")), small: c.Small})
	}
	nodes, _ := filepath.Glob(filepath.Join(root, "sys/devices/system/node/node[0-9]*"))
	for _, n := range nodes {
		number, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(n), "node"))
		if err != nil {
			continue
		}
		for _, id := range readList(filepath.Join(n, "cpulist")) {
			if i := slices.IndexFunc(t.CPUs, func(c CPU) bool { return c.ID == id }); i >= 0 {
				t.CPUs[i].Node = number
			}
		}
	}
	for i, v := range speeds(facts) {
		t.CPUs[i].Capability = v
	}
	slices.SortFunc(t.CPUs, func(a, b CPU) int { return a.ID - b.ID })
	return t
}

// Level is a kind of core on a system that numbers kinds and not processors, such as macOS.
type Level struct {
	Name  string
	Cores int
	Cache int // bytes of the cache that they share
}

// FromLevels makes a topology of levels, the fastest first. All but the first are small cores.
func FromLevels(levels []Level) Topology {
	t := Topology{Unbound: true}
	for i, l := range levels {
		for range l.Cores {
			n := len(t.CPUs)
			c := CPU{ID: n, Core: n, Kind: l.Name, Small: i > 0, Capability: 1, Cache: l.Cache}
			if c.Small {
				c.Capability = smallShare * smallClock
			}
			t.CPUs = append(t.CPUs, c)
		}
	}
	return t
}

// Alike is a machine of so many processors of which nothing else is known.
func Alike(n int) Topology { return FromLevels([]Level{{Cores: n}}) }

// smallClock is the clock of a small core beside that of a large one where the system does not tell: 2.6 to 2.9 GHz beside 4.4 to 4.5 on the machines that have levels.
const smallClock = 0.6

// speedFacts is what the estimate of a processor's speed is made from; 0 is unknown.
type speedFacts struct {
	said, width, capacity, clock float64
	small                        bool
}

// speeds estimates how fast processors are beside the fastest. One way for all, the best of which everything is known: what the user said; width × clock, since vector
// operations are what kernels do; the system's own capacity, which is measured with integers; the clock.
func speeds(all []speedFacts) []float64 {
	ways := []func(f speedFacts) float64{
		func(f speedFacts) float64 { return f.said },
		func(f speedFacts) float64 { return f.width * f.clock },
		func(f speedFacts) float64 { return f.capacity },
		func(f speedFacts) float64 { return f.clock },
		func(f speedFacts) float64 { return f.width },
		func(speedFacts) float64 { return 1 },
	}
	out := make([]float64, len(all))
	for i, way := range ways {
		best := 0.0
		for j, f := range all {
			out[j] = way(f)
			if f.small && i >= 3 && f.width == 0 {
				out[j] *= smallShare
			}
			best = max(best, out[j])
		}
		if len(out) > 0 && slices.Min(out) > 0 {
			for j := range out {
				out[j] /= best
			}
			break
		}
	}
	return out
}

// lastCache is the size in bytes of the largest cache in sysfs's directory of a processor's caches, 0 if it shows none.
func lastCache(dir string) int {
	most := 0
	files, _ := filepath.Glob(filepath.Join(dir, "index*/size"))
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		text, unit := strings.TrimSpace(string(b)), 1
		if v, ok := strings.CutSuffix(text, "K"); ok {
			text, unit = v, 1<<10
		} else if v, ok := strings.CutSuffix(text, "M"); ok {
			text, unit = v, 1<<20
		}
		if n, err := strconv.ParseUint(text, 10, 31); err == nil {
			most = max(most, int(n)*unit)
		}
	}
	return most
}

// readList reads "0-3,8"; nil where there is no such file or it is not a list.
func readList(path string) []int {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var ids []int
	for part := range strings.SplitSeq(strings.TrimSpace(string(b)), ",") {
		if part == "" {
			continue
		}
		from, to, ok := strings.Cut(part, "-")
		if !ok {
			to = from
		}
		a, err1 := strconv.Atoi(from)
		z, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || a < 0 || z < a || z > 1<<16 {
			return nil
		}
		for i := a; i <= z; i++ {
			ids = append(ids, i)
		}
	}
	return ids
}

// sameSpeed is how close to the fastest of a nameless kind a processor must be to belong to it: the best cores of a kind may clock a little higher, another kind differs by more.
const sameSpeed = 0.8

// kinds sorts processors so that what belongs together stands together – the fastest kind first, within a kind larger caches, then node by node – and names the kinds that have
// no name.
func kinds(cpus []CPU) []CPU {
	s := slices.Clone(cpus)
	slices.SortStableFunc(s, func(a, b CPU) int { return cmp.Compare(b.Capability, a.Capability) })
	top, n := 2.0, 0
	for i := range s {
		if s[i].Kind != "" {
			continue
		}
		if s[i].Capability < sameSpeed*top {
			top, n = s[i].Capability, n+1
		}
		s[i].Kind = fmt.Sprintf("kind %d", n)
	}
	best := map[string]float64{}
	for _, c := range s {
		best[c.Kind] = max(best[c.Kind], c.Capability)
	}
	slices.SortStableFunc(s, func(a, b CPU) int {
		return cmp.Or(cmp.Compare(best[b.Kind], best[a.Kind]), cmp.Compare(a.Kind, b.Kind), cmp.Compare(b.Cache, a.Cache), a.Node-b.Node, a.ID-b.ID)
	})
	return s
}

// Describe sums the processors up, the fastest kind first: "10 × Performance, 4 × Efficiency".
func (t Topology) Describe() string { return nameOf(kinds(t.CPUs)) }
