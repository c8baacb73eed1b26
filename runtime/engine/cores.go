package engine

import (
	"fmt"
	"strings"

	"jns/kernels"
	"jns/runtime/internal/sched"
)

// Machine is what is known of the processors, and who would work on them.
type Machine struct {
	Name     string        `json:"name,omitempty"`     // of the processor, where the system tells it
	Cores    string        `json:"cores,omitempty"`    // kinds of cores, summed up
	Features string        `json:"features,omitempty"` // of arm64 beyond NEON
	CPUs     []sched.CPU   `json:"processors"`         // that this process may use
	Affinity int           `json:"affinity"`
	Quota    int           `json:"quota,omitempty"`
	Nodes    int           `json:"nodes"` // memory nodes that they lie on
	Plan     []PhaseOfPlan `json:"pools"`
	Why      string        `json:"why"`
}

// PhaseOfPlan is who may work in a phase; of several choices the first is where to begin.
type PhaseOfPlan struct {
	Phase   string       `json:"phase"`
	Choices []sched.Crew `json:"choices"`
}

// ThisMachine looks at the machine with a policy for the choice of processors ("" for auto) and a number of workers (0: as many as there may be).
func ThisMachine(policy string, workers int) (Machine, error) {
	if policy == "" {
		policy = Schedules()[0]
	}
	t, err := Topology()
	if err != nil {
		return Machine{}, err
	}
	known, err := kernels.Cores(sched.Allowed())
	if err != nil {
		return Machine{}, fmt.Errorf("%w: %w", ErrOption, err)
	}
	c, err := newCrews(policy, workers, surroundings{topology: t, limits: sched.Available()})
	if err != nil {
		return Machine{}, err
	}
	m := Machine{Name: kernels.Processor(), Cores: kernels.DescribeCores(known), Features: kernels.Features(), CPUs: t.CPUs, Affinity: c.limits.Affinity, Quota: c.limits.Quota, Why: c.plan.Why}
	if m.Cores == "" && t.Unbound && t.CPUs[0].Kind != "" {
		m.Cores = t.Describe()
	}
	nodes := map[int]bool{}
	for _, p := range t.CPUs {
		nodes[p.Node] = true
	}
	m.Nodes = len(nodes)
	m.Plan = []PhaseOfPlan{{"prefill", c.plan.Prefill}, {"decode", c.plan.Decode}}
	return m, nil
}

// Text lists the pools, a line each: "prefill    8:31.2% 4-7:12.7% 0-3:4.6%".
func (m Machine) Text() string {
	var b strings.Builder
	for _, p := range m.Plan {
		for i, c := range p.Choices {
			name := p.Phase
			if i > 0 {
				name = "  or"
			}
			fmt.Fprintf(&b, "%-12s %d workers on %s (processors %s)\n", name, len(c.Shares), c.Name, c)
		}
	}
	return b.String()
}
