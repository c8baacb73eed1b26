package sched

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Policy says which processors work.
type Policy string

// Policies.
const (
	PolicyAuto Policy = "auto" // prompts on all cores, each with its share; decoding on the cluster that decodes fastest
	PolicyEven Policy = "even" // all processors, equal shares
	PolicyBig  Policy = "big"  // the fastest kind of core only
	PolicyAll  Policy = "all"  // all processors, each with its share
)

// Policies lists them, the default first.
func Policies() []string {
	return []string{string(PolicyAuto), string(PolicyEven), string(PolicyBig), string(PolicyAll)}
}

// Share is the part of a step that a processor takes; the shares of a crew add up to 1.
type Share struct {
	CPU  int     `json:"cpu"`
	Part float64 `json:"part"`

	among    []int // where its worker may run: the processors like this one
	prefetch int   // of them all; workers that are anywhere have one only if all processors agree
}

// Crew is a choice of processors, the fastest first.
type Crew struct {
	Name   string  `json:"name"`
	Shares []Share `json:"shares"`
	// Bound says that each worker keeps to the processors that are like its own; else the system places them all.
	Bound bool `json:"bound"`
}

// Plan is what may work in each phase. Of several crews the fastest is found by trying; the first is where to begin.
type Plan struct {
	Prefill, Decode []Crew
	Why             string
}

// Workers is the size of the largest crew.
func (p Plan) Workers() int {
	n := 0
	for _, c := range slices.Concat(p.Prefill, p.Decode) {
		n = max(n, len(c.Shares))
	}
	return n
}

// Plan chooses the processors for prompts and for decoding; limit bounds the number of workers (0: none).
func (t Topology) Plan(p Policy, limit int) Plan {
	all := kinds(t.CPUs)
	one := cores(all)
	like := map[string][]int{}
	for _, c := range all {
		like[cluster(c)] = append(like[cluster(c)], c.ID)
	}
	for _, ids := range like {
		slices.Sort(ids)
	}
	agreed := !slices.ContainsFunc(all, func(c CPU) bool { return c.Prefetch != all[0].Prefetch })
	crew := func(name string, cpus []CPU, even bool) Crew {
		// Workers that are not bound are anywhere: none of them is slower than another.
		bound := !t.Unbound && !even && len(like) > 1
		c := Crew{Name: name, Shares: shares(cpus, limit, !bound), Bound: bound}
		for i := range c.Shares {
			c.Shares[i].among = like[cluster(cpus[i])]
			if bound || agreed {
				c.Shares[i].prefetch = cpus[i].Prefetch
			}
		}
		return c
	}
	same := func(c Crew, why string) Plan { return Plan{[]Crew{c}, []Crew{c}, why} }
	switch p {
	case PolicyEven:
		return same(crew("all processors", all, true), "equal shares, as asked for")
	case PolicyBig:
		big := slices.DeleteFunc(slices.Clone(one), func(c CPU) bool { return c.Kind != one[0].Kind })
		return same(crew(nameOf(big), big, false), "the fastest kind of core, as asked for")
	case PolicyAll:
		return same(crew("all processors", all, false), "all processors by their speed, as asked for")
	}
	if len(like) <= 1 && len(all) == len(one) {
		return same(crew("all processors", all, false), "all processors are alike")
	}
	plan := Plan{Prefill: []Crew{crew("all cores", one, false)}}
	plan.Prefill = add(plan.Prefill, crew("all processors", all, false)) // second threads of cores
	// A cluster is a kind of core with one size of cache on one node. The first cluster alone, then kind after kind.
	for i := 1; i <= len(one); i++ {
		if i < len(one) && cluster(one[i]) == cluster(one[i-1]) {
			continue
		}
		first := len(plan.Decode) == 0
		if kindEnds := i == len(one) || one[i].Kind != one[i-1].Kind; first || kindEnds {
			plan.Decode = add(plan.Decode, crew(nameOf(one[:i]), one[:i], false))
		}
	}
	// To begin with, the cores that were not made to save power.
	large := slices.IndexFunc(one, small)
	if large <= 0 {
		large = len(one)
	}
	start := crew(nameOf(one[:large]), one[:large], false)
	if i := slices.IndexFunc(plan.Decode, start.equal); i > 0 {
		plan.Decode = slices.Concat([]Crew{plan.Decode[i]}, plan.Decode[:i], plan.Decode[i+1:])
	}
	plan.Decode = add(plan.Decode, crew("all processors", all, false))
	plan.Why = fmt.Sprintf("prompts on %s by their speed", plan.Prefill[0].Name)
	if len(plan.Decode) > 1 {
		plan.Why += ", decoding where it is fastest"
	} else {
		plan.Why += ", decoding on " + plan.Decode[0].Name
	}
	return plan
}

// smallSpeed: a core of an unknown kind that is slower than this is taken for a small one.
const smallSpeed = 0.4

func small(c CPU) bool { return c.Small || c.Capability < smallSpeed }

// cluster names the processors among which it makes no difference which one a worker has: the system, which knows what else runs, may choose.
func cluster(c CPU) string { return fmt.Sprint(c.Kind, "/", c.Cache, "/", c.Node) }

// nameOf sums up processors: "8 × kind 1, 16 × kind 2".
func nameOf(sorted []CPU) string {
	var names []string
	for i := 0; i < len(sorted); {
		n := i + 1
		for n < len(sorted) && sorted[n].Kind == sorted[i].Kind {
			n++
		}
		names = append(names, fmt.Sprintf("%d × %s", n-i, sorted[i].Kind))
		i = n
	}
	return strings.Join(names, ", ")
}

// cores keeps one processor of each core: a second thread of a core finds its units taken.
func cores(cpus []CPU) []CPU {
	seen := map[int]bool{}
	var s []CPU
	for _, c := range cpus {
		if !seen[c.Core] {
			seen[c.Core] = true
			s = append(s, c)
		}
	}
	return s
}

// add appends a crew unless its processors are those of one that is there: a limit may leave the same of both.
func add(crews []Crew, c Crew) []Crew {
	if slices.ContainsFunc(crews, c.equal) {
		return crews
	}
	return append(crews, c)
}

func (c Crew) equal(d Crew) bool {
	return slices.EqualFunc(c.Shares, d.Shares, func(a, b Share) bool { return a.CPU == b.CPU })
}

func shares(cpus []CPU, limit int, even bool) []Share {
	if limit > 0 && len(cpus) > limit {
		cpus = cpus[:limit]
	}
	sum := 0.0
	for _, c := range cpus {
		sum += c.Capability
	}
	s := make([]Share, len(cpus))
	for i, c := range cpus {
		s[i] = Share{CPU: c.ID, Part: c.Capability / sum}
		if even {
			s[i].Part = 1 / float64(len(cpus))
		}
	}
	return s
}

// Corrected shifts shares towards what the workers showed: took is the time each needed for its part of a step, 0 if it had none. Half of the difference is taken at a time,
// since a single measurement holds what else the machine did.
func Corrected(s []Share, took []float64) []Share {
	out := slices.Clone(s)
	sum, known := 0.0, 0.0
	for i := range out {
		if took[i] > 0 {
			sum += s[i].Part / took[i]
			known += s[i].Part
		}
	}
	if sum == 0 {
		return out
	}
	total := 0.0
	for i := range out {
		if took[i] > 0 { // the workers that were measured divide anew what is theirs together
			out[i].Part = (s[i].Part + known*s[i].Part/took[i]/sum) / 2
		}
		total += out[i].Part
	}
	for i := range out {
		out[i].Part /= total
	}
	return out
}

// String writes a crew as "8:24% 4-7:15% 0-3:4%": the processors, the fastest first, with their shares unless all have the same.
func (c Crew) String() string {
	if len(c.Shares) == 0 {
		return "none"
	}
	largest := slices.MaxFunc(c.Shares, func(a, b Share) int { return cmp.Compare(a.Part, b.Part) }).Part
	least := slices.MinFunc(c.Shares, func(a, b Share) int { return cmp.Compare(a.Part, b.Part) }).Part
	text := func(s Share) string {
		if largest-least < 0.001 {
			return ""
		}
		return fmt.Sprintf(":%.1f%%", 100*s.Part)
	}
	var b []string
	for i := 0; i < len(c.Shares); {
		n, step := i+1, 1
		if n < len(c.Shares) && c.Shares[n].CPU == c.Shares[i].CPU+2 {
			step = 2 // one of each pair of threads
		}
		for n < len(c.Shares) && c.Shares[n].CPU == c.Shares[n-1].CPU+step && text(c.Shares[n]) == text(c.Shares[i]) {
			n++
		}
		w := strconv.Itoa(c.Shares[i].CPU)
		if n-i > 1 {
			w += "-" + strconv.Itoa(c.Shares[n-1].CPU)
			if step == 2 {
				w += "/2"
			}
		}
		b = append(b, w+text(c.Shares[i]))
		i = n
	}
	return strings.Join(b, " ")
}
