package roofline

import (
	"errors"
	"fmt"
	"strings"
)

// ErrMachine is wrapped by errors about a machine of which not enough is known.
var ErrMachine = errors.New("not enough is known of the machine")

// Machine is what bounds a kernel. 0 is unknown.
type Machine struct {
	Name   string   `json:"name"`
	GBps   float64  `json:"bandwidth_gbps"` // reads of memory by all cores, 10⁹ bytes a second
	Cores  int      `json:"cores"`          // that decode
	GHz    float64  `json:"ghz"`
	IPC    float64  `json:"ipc"`                 // instructions of a kernel's loop that a core ends in a cycle, at best
	Shared *Unit    `json:"streaming,omitempty"` // what computes kernels in streaming mode, where that is not the cores themselves
	Source []string `json:"sources"`
}

// Unit is a unit for streaming mode that cores share.
type Unit struct {
	Count int     `json:"units"`
	GHz   float64 `json:"ghz"`
	IPC   float64 `json:"ipc"` // instructions begun in a cycle, at best
}

// Rate is the instructions of a set's kernels that all cores, or all units that they share, end in a second, in 10⁹.
func (m Machine) Rate(set string) float64 {
	if m.Shared != nil && set == streaming {
		return float64(m.Shared.Count) * m.Shared.GHz * m.Shared.IPC
	}
	return float64(m.Cores) * m.GHz * m.IPC
}

// streaming is the set whose kernels run in streaming mode.
const streaming = "sme2"

// machines are what is known of one machine of each target. Makers' figures are peaks, which no program reaches; what was measured says so. Of a target that stands for many
// machines, the one that was measured.
var machines = map[string]Machine{
	"x86-64-v4": {"two cores of a Sapphire Rapids Xeon under a hypervisor", 24, 2, 2.1, 2.9, nil, []string{
		"bandwidth: measured, jns-run bench, two threads",
		"clock: the processor's nominal one",
		"instructions in a cycle of that: measured, products with IQ2_XXS in the second-level cache, 498 instructions in 81 ns"}},
	"x86-64-v3": {"two cores of a Sapphire Rapids Xeon under a hypervisor, with AVX2", 24, 2, 2.1, 4.8, nil, []string{
		"bandwidth: measured, jns-run bench, two threads",
		"clock: the processor's nominal one",
		"instructions in a cycle of that: measured, products with Q4_K in the second-level cache, 1004 instructions in 100 ns"}},
	"x86-64-avxvnni": {"two cores of a Sapphire Rapids Xeon under a hypervisor, with AVX-VNNI", 24, 2, 2.1, 4.8, nil, []string{
		"bandwidth: measured, jns-run bench, two threads",
		"clock: the processor's nominal one",
		"instructions in a cycle of that: as with AVX2, not measured apart"}},
	"zen5": {"Ryzen 9 9950X", 89.6, 16, 4.3, 4, nil, []string{
		"bandwidth: two channels of DDR5-5600, the maker's limit",
		"cores and clock: the maker's, nominal",
		"instructions in a cycle: four 512-bit vector pipelines, the maker's description of the core"}},
	"neoverse-v2": {"Graviton4", 537.6, 96, 2.8, 4, nil, []string{
		"bandwidth: twelve channels of DDR5-5600, the maker's",
		"cores and clock: the maker's",
		"instructions in a cycle: four 128-bit vector pipelines, Arm's description of the core"}},
	"arm64-dotprod": {"Apple M1, performance cores", 68.25, 4, 3.2, 4, nil, []string{
		"bandwidth: 128 bits of LPDDR4X-4266, the maker's",
		"clock: measured by AnandTech, \"The 2020 Mac Mini Unleashed\", for one core and for all",
		"instructions in a cycle: four 128-bit vector pipelines, AnandTech's description of Firestorm"}},
	"m2": {"Apple M2, performance cores", 100, 4, 3.5, 4, nil, []string{
		"bandwidth: the maker's",
		"clock: Notebookcheck, \"M2 vs M3 vs M4\", the highest",
		"instructions in a cycle: four 128-bit vector pipelines, as of Firestorm"}},
	"m3": {"Apple M3, performance cores", 100, 4, 4.06, 4, nil, []string{
		"bandwidth: the maker's",
		"clock: Notebookcheck, \"M2 vs M3 vs M4\", the highest",
		"instructions in a cycle: four 128-bit vector pipelines, as of Firestorm"}},
	"m4": {"Apple M4, performance cores", 120, 4, 4.4, 4, &Unit{1, 3.9, 1}, []string{
		"bandwidth: the maker's",
		"clock: Notebookcheck, \"M2 vs M3 vs M4\", the highest",
		"instructions in a cycle: four 128-bit vector pipelines, as of Firestorm",
		"streaming mode: one unit for the performance cores, which a single core fills, at 3.9 GHz: measured by T. Zakharko, m4-sme-exploration",
		"streaming mode, instructions in a cycle: one outer product of floats, measured there; one in two cycles of bytes, or of four vectors into ZA; one in four of vectors into vectors"}},
}

// MachineOf gives what is known of a target's machine, all zero where nothing is.
func MachineOf(target string) Machine { return machines[target] }

// With replaces what the user knows better; 0 leaves what is known. What is said of cores is said of the unit that they share too.
func (m Machine) With(gbps, ghz, ipc float64, cores int) Machine {
	said := func(what string) {
		m.Source = append(m.Source[:len(m.Source):len(m.Source)], what+": as given")
	}
	if gbps > 0 {
		m.GBps = gbps
		said("bandwidth")
	}
	var shared Unit
	if m.Shared != nil {
		shared = *m.Shared
		m.Shared = &shared
	}
	if ghz > 0 {
		m.GHz, shared.GHz = ghz, ghz
		said("clock")
	}
	if ipc > 0 {
		m.IPC, shared.IPC = ipc, ipc
		said("instructions in a cycle")
	}
	if cores > 0 {
		m.Cores, shared.Count = cores, cores
		said("cores")
	}
	return m
}

// check says what is missing.
func (m Machine) check(target string) error {
	var missing []string
	for _, x := range []struct {
		flag string
		v    float64
	}{{"--bandwidth", m.GBps}, {"--cores", float64(m.Cores)}, {"--ghz", m.GHz}, {"--ipc", m.IPC}} {
		if !(x.v > 0) {
			missing = append(missing, x.flag)
		}
	}
	if missing != nil {
		return fmt.Errorf("%w: of target %s nothing is recorded here; give %s", ErrMachine, target, strings.Join(missing, ", "))
	}
	return nil
}
