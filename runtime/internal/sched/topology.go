package sched

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// CPU is one processor of a machine as its system numbers it.
type CPU struct {
	ID         int
	Capability float64 // estimated speed, the fastest of the machine being 1
	Core       int     // processors of one core share it: the lowest of their numbers
	Node       int     // memory node
}

// Topology is the processors of a machine.
type Topology struct {
	CPUs []CPU // by ID
}

// atomShare is how much of a performance core's speed an efficiency core of a hybrid x86 has at the same clock; the worker's own times correct it.
const atomShare = 0.6

// ReadTopology reads Linux's sysfs. root is where the file system begins ("/", or a fixture); allowed are the processors that the process may run on, nil for all. A machine
// that shows nothing gives an empty topology.
func ReadTopology(root string, allowed []int) Topology {
	base := filepath.Join(root, "sys/devices/system/cpu")
	ids := allowed
	if ids == nil {
		ids = readList(filepath.Join(base, "online"))
	}
	atoms := readList(filepath.Join(root, "sys/devices/cpu_atom/cpus"))
	var t Topology
	best := 0.0
	for _, id := range ids {
		dir := filepath.Join(base, fmt.Sprintf("cpu%d", id))
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		c := CPU{ID: id, Core: id, Capability: readNumber(filepath.Join(dir, "cpu_capacity"))}
		if c.Capability <= 0 {
			c.Capability = max(readNumber(filepath.Join(dir, "cpufreq/cpuinfo_max_freq")), 1)
			if slices.Contains(atoms, id) {
				c.Capability *= atomShare
			}
		}
		if s := readList(filepath.Join(dir, "topology/thread_siblings_list")); len(s) > 0 {
			c.Core = slices.Min(s)
		}
		best = max(best, c.Capability)
		t.CPUs = append(t.CPUs, c)
	}
	nodes, _ := filepath.Glob(filepath.Join(root, "sys/devices/system/node/node[0-9]*"))
	for _, n := range nodes {
		number, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(n), "node"))
		if err != nil {
			continue
		}
		for _, id := range readList(filepath.Join(n, "cpulist")) {
			for i := range t.CPUs {
				if t.CPUs[i].ID == id {
					t.CPUs[i].Node = number
				}
			}
		}
	}
	for i := range t.CPUs {
		t.CPUs[i].Capability /= best
	}
	slices.SortFunc(t.CPUs, func(a, b CPU) int { return a.ID - b.ID })
	return t
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

// Policy says which processors work.
type Policy string

// Policies.
const (
	PolicyAuto Policy = "auto" // prefill on all cores, each with its share; decode on the fastest kind of core
	PolicyEven Policy = "even" // all processors, equal shares
	PolicyBig  Policy = "big"  // the fastest kind of core only
	PolicyAll  Policy = "all"  // all processors, each with its share
)

// Share is the part of a step that a processor takes; the shares of a pool add up to 1.
type Share struct {
	CPU  int
	Part float64
}

// sameKind is how close to the fastest a core must be to count as its kind. The cores of a kind differ by what the best of them may clock higher, a kind from the next by more.
const sameKind = 0.65

// Pools chooses the processors for prefill and for decoding; quota bounds their number (0: none). An empty topology gives empty pools.
func (t Topology) Pools(p Policy, quota int) (prefill, decode []Share) {
	one := t.cores()
	big := slices.DeleteFunc(slices.Clone(one), func(c CPU) bool { return c.Capability < sameKind })
	switch p {
	case PolicyEven:
		all := shares(t.CPUs, quota, true)
		return all, all
	case PolicyBig:
		all := shares(big, quota, false)
		return all, all
	case PolicyAll:
		all := shares(t.CPUs, quota, false)
		return all, all
	}
	return shares(one, quota, false), shares(big, quota, false)
}

// cores keeps one processor of each core: a second thread of a core finds its units taken.
func (t Topology) cores() []CPU {
	seen := map[int]bool{}
	var s []CPU
	for _, c := range t.CPUs {
		if !seen[c.Core] {
			seen[c.Core] = true
			s = append(s, c)
		}
	}
	return s
}

func shares(cpus []CPU, quota int, even bool) []Share {
	cpus = slices.Clone(cpus)
	slices.SortStableFunc(cpus, func(a, b CPU) int {
		switch {
		case a.Capability > b.Capability:
			return -1
		case a.Capability < b.Capability:
			return 1
		}
		return a.ID - b.ID
	})
	if quota > 0 && len(cpus) > quota {
		cpus = cpus[:quota]
	}
	sum := 0.0
	for _, c := range cpus {
		sum += c.Capability
	}
	s := make([]Share, len(cpus))
	for i, c := range cpus {
		s[i] = Share{c.ID, c.Capability / sum}
		if even {
			s[i].Part = 1 / float64(len(cpus))
		}
	}
	return s
}

// Corrected shifts shares towards what the workers showed: took is the time each needed for its part of a step. Half of the difference is taken at a time, since a single
// measurement holds what else the machine did.
func Corrected(s []Share, took []float64) []Share {
	out := slices.Clone(s)
	sum := 0.0
	for i := range out {
		if took[i] > 0 {
			sum += s[i].Part / took[i]
		}
	}
	if sum == 0 {
		return out
	}
	total := 0.0
	for i := range out {
		if took[i] > 0 {
			out[i].Part = (s[i].Part + s[i].Part/took[i]/sum) / 2
		}
		total += out[i].Part
	}
	for i := range out {
		out[i].Part /= total
	}
	return out
}

// Describe writes a pool as "8 4 5 6 7": the processors, the fastest first; shares that differ by more than a hundredth follow their processor in percent.
func Describe(s []Share) string {
	var b []string
	for _, x := range s {
		w := strconv.Itoa(x.CPU)
		if d := x.Part - s[len(s)-1].Part; d > 0.01 || s[0].Part-x.Part > 0.01 {
			w += fmt.Sprintf(":%.0f%%", 100*x.Part)
		}
		b = append(b, w)
	}
	return strings.Join(b, " ")
}
