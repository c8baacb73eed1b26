package cpu

import (
	"github.com/klauspost/cpuid/v2"
	"github.com/klauspost/cpuid/v2/topology"
)

// hybrid says which processors of an x86 of two kinds of cores are which: leaf 0x1A of CPUID, read on each of them by a thread that goes there. Nothing on other processors, and
// where the system does not bind threads. Names are those of the two kinds; which microarchitectures they are does not matter beside how fast they are.
func hybrid(allowed []int) map[int]Core {
	if !cpuid.CPU.Supports(cpuid.HYBRID_CPU) {
		return nil
	}
	sys, err := cpuid.ScanTopology()
	if err != nil || sys.Online != len(allowed) {
		return nil
	}
	return hybridCores(sys, allowed)
}

// hybridCores reads what a scan found; threads are numbered in the order in which they were scanned, which is that of allowed.
func hybridCores(sys *topology.System, allowed []int) map[int]Core {
	all := map[int]Core{}
	for _, p := range sys.Packages {
		for _, g := range p.Groups {
			for _, c := range g.Cores {
				core := Core{Name: "performance core", Class: Big}
				if c.Type == topology.Efficiency {
					core = Core{Name: "efficiency core", Class: Little}
				}
				for _, t := range c.Threads {
					if t.ID >= 0 && t.ID < len(allowed) {
						all[allowed[t.ID]] = core
					}
				}
			}
		}
	}
	return all
}
