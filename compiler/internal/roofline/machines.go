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
	IPC    float64  `json:"ipc"` // instructions of a kernel's loop that a core ends in a cycle, at best
	Source []string `json:"sources"`
}

// Rate is the instructions that all cores end in a second, in 10⁹.
func (m Machine) Rate() float64 { return float64(m.Cores) * m.GHz * m.IPC }

// machines are what is known of one machine of each target. Makers' figures are peaks, which no program reaches; what was measured says so. Of a target that stands for many
// machines, the one that was measured.
var machines = map[string]Machine{
	"x86-64-v4": {"two cores of a Sapphire Rapids Xeon under a hypervisor", 24, 2, 2.1, 2.9, []string{
		"bandwidth: measured, jns-run bench, two threads",
		"clock: the processor's nominal one",
		"instructions in a cycle of that: measured, products with IQ2_XXS in the second-level cache, 498 instructions in 81 ns"}},
	"x86-64-v3": {"two cores of a Sapphire Rapids Xeon under a hypervisor, with AVX2", 24, 2, 2.1, 4.8, []string{
		"bandwidth: measured, jns-run bench, two threads",
		"clock: the processor's nominal one",
		"instructions in a cycle of that: measured, products with Q4_K in the second-level cache, 1004 instructions in 100 ns"}},
	"x86-64-avxvnni": {"two cores of a Sapphire Rapids Xeon under a hypervisor, with AVX-VNNI", 24, 2, 2.1, 4.8, []string{
		"bandwidth: measured, jns-run bench, two threads",
		"clock: the processor's nominal one",
		"instructions in a cycle of that: as with AVX2, not measured apart"}},
	"zen5": {"Ryzen 9 9950X", 89.6, 16, 4.3, 4, []string{
		"bandwidth: two channels of DDR5-5600, the maker's limit",
		"cores and clock: the maker's, nominal",
		"instructions in a cycle: four 512-bit vector pipelines, the maker's description of the core"}},
	"neoverse-v2": {"Graviton4", 537.6, 96, 2.8, 4, []string{
		"bandwidth: twelve channels of DDR5-5600, the maker's",
		"cores and clock: the maker's",
		"instructions in a cycle: four 128-bit vector pipelines, Arm's description of the core"}},
	"m2": {"Apple M2, performance cores", 100, 4, 3.5, 4, []string{
		"bandwidth: the maker's", "clock: published measurements", "instructions in a cycle: four 128-bit vector pipelines, published measurements"}},
	"m3": {"Apple M3, performance cores", 100, 4, 4.05, 4, []string{
		"bandwidth: the maker's", "clock: published measurements", "instructions in a cycle: four 128-bit vector pipelines, published measurements"}},
	"m4": {"Apple M4, performance cores", 120, 4, 4.4, 4, []string{
		"bandwidth: the maker's", "clock: published measurements",
		"instructions in a cycle: four 128-bit vector pipelines, published measurements; what the shared SME2 unit does of them is not known"}},
}

// MachineOf gives what is known of a target's machine, all zero where nothing is.
func MachineOf(target string) Machine { return machines[target] }

// With replaces what the user knows better; 0 leaves what is known.
func (m Machine) With(gbps, ghz, ipc float64, cores int) Machine {
	said := func(what string) {
		m.Source = append(m.Source[:len(m.Source):len(m.Source)], what+": as given")
	}
	if gbps > 0 {
		m.GBps = gbps
		said("bandwidth")
	}
	if ghz > 0 {
		m.GHz = ghz
		said("clock")
	}
	if ipc > 0 {
		m.IPC = ipc
		said("instructions in a cycle")
	}
	if cores > 0 {
		m.Cores = cores
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
