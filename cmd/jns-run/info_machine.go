package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/runtime/engine"
)

// machineInfo says what this machine is to the program: its cores, its kernel sets, and which processors would read prompts and decode.
func machineInfo(c *cli.Command) error {
	schedule, _, err := policies(c.String("policy"))
	if err != nil {
		return err
	}
	p, err := engine.ThisMachine(schedule, c.Int("threads"))
	if err != nil {
		return err
	}
	m := machine()
	if c.Bool("json") {
		m["processors"] = p
		return jnscli.JSONLine(stdout, map[string]any{"machine": m})
	}
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	name := m["cpu"]
	if p.Name != "" {
		name = p.Name
	}
	line("processor", "%v", name)
	if p.Cores != "" {
		line("cores", "%s", p.Cores)
	}
	if p.Features != "" {
		line("features", "%s", p.Features)
	}
	line("kernel sets", "%s", strings.Join(engine.KernelSets(), ", "))
	if named := engine.NamedSets(); len(named) > 0 {
		line("if named", "%s", strings.Join(named, ", "))
	}
	refused := engine.RefusedSets()
	for _, set := range slices.Sorted(maps.Keys(refused)) {
		line("not used", "%s: %s", set, refused[set])
	}
	limit := fmt.Sprintf("%d of the machine's may be used", p.Affinity)
	if p.Quota > 0 {
		limit += fmt.Sprintf(", the control group pays for %d", p.Quota)
	}
	if p.Nodes > 1 {
		limit += fmt.Sprintf(", on %d memory nodes", p.Nodes)
	}
	line("processors", "%s", limit)
	line("pools", "%s", p.Why)
	b.WriteString(p.Text())
	_, err = fmt.Fprint(stdout, jnscli.Printable(b.String()))
	return err
}
