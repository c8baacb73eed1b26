package cpu

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Class is the place of a core in a machine that mixes kinds of cores.
type Class uint8

// Classes, slowest first.
const (
	Unknown Class = iota
	Little        // in order, one or two wide
	Middle
	Big
	Prime // the few cores with the highest clock and the widest pipelines
)

func (c Class) String() string { return [...]string{"unknown", "little", "middle", "big", "prime"}[c] }

// Core is a microarchitecture: what identifies it, and what is worth knowing about it. Figures of Arm cores are from the makers' optimization guides and published descriptions.
type Core struct {
	Implementer, Part int // of MIDR_EL1; 0 elsewhere
	Name              string
	Class             Class
	InOrder           bool
	Vectors           int     // 128-bit vector operations begun in a cycle; 0: unknown
	MatMul            int     // SMMLA begun in a cycle; 0: none
	Speed             float64 // beside the machine's other cores, 0 if not said: only a file of the user's says it
	Prefetch          int     // bytes ahead of the loads at which kernels ask for weights, 0: the core's own prefetcher is left to it; see cores
	Prefer            string  // kernel set to use, "" for what follows from the figures: see Preferred
}

// Small says that the core was made to save power.
func (c Core) Small() bool { return c.Class == Little }

// Preferred is the best of the sets that the machine has (best first) for a core. A matrix instruction does twice the work of a dot product's, so it must begin more than half as
// often; cores whose figures are not known get what the machine has.
func (c Core) Preferred(have []string) string {
	if c.Prefer != "" && slices.Contains(have, c.Prefer) {
		return c.Prefer
	}
	for _, set := range have {
		if set == I8MM && c.Vectors > 0 && 2*c.MatMul <= c.Vectors {
			continue
		}
		return set
	}
	return Scalar
}

// core finds the microarchitecture of a MIDR in a table; an unknown one has the name "0x41:0xd0b" and class Unknown.
func (m MIDR) core(table []Core) Core {
	for _, c := range table {
		if c.Implementer == m.Implementer() && c.Part == m.Part() {
			return c
		}
	}
	return Core{Implementer: m.Implementer(), Part: m.Part(), Name: fmt.Sprintf("%#02x:%#03x", m.Implementer(), m.Part())}
}

// Cores says what is known of the processors that this process may use (allowed, in order; nil for all), by number: on arm64 from identification registers, on hybrid x86 from the
// processors themselves. What the file that JNS_CORES names says wins. root is where the file system begins. The error wraps ErrCores.
func Cores(root string, allowed []int) (map[int]Core, error) {
	file, err := readCoresFile()
	if err != nil {
		return nil, err
	}
	table := slices.Concat(file.Cores, cores)
	all := map[int]Core{}
	for n, m := range ArmCores(root) {
		all[n] = m.core(table)
	}
	maps.Copy(all, hybrid(allowed))
	maps.Copy(all, file.Processors)
	if allowed != nil {
		maps.DeleteFunc(all, func(n int, _ Core) bool { return !slices.Contains(allowed, n) })
	}
	return all, nil
}

// DescribeCores sums cores up, the best class first: "1 × Cortex-X3 (prime), 4 × Cortex-A715 (middle)"; "" for none.
func DescribeCores(all map[int]Core) string {
	count := map[Core]int{}
	for _, c := range all {
		count[c]++
	}
	kinds := slices.SortedFunc(maps.Keys(count), func(a, b Core) int { return cmp.Or(cmp.Compare(b.Class, a.Class), cmp.Compare(a.Name, b.Name)) })
	var s []string
	for _, c := range kinds {
		s = append(s, fmt.Sprintf("%d × %s (%s)", count[c], c.Name, c.Class))
	}
	return strings.Join(s, ", ")
}

const (
	arm      = 0x41
	apple    = 0x61
	qualcomm = 0x51
	ampere   = 0xc0
	hisi     = 0x48
)

// cores is the table. Weights are read in sequence, which prefetchers of all these cores follow: the manuals of Cortex-A35 and A53 tell of a fixed stride within four lines, that of A55
// of several streams at a growing distance, those of A76 and its successors of streams into both caches, and all advise instructions that prefetch for what is short or irregular.
// Against that, Arm's own library of kernels asks for weights in its products of eight bits, 576 bytes ahead on Cortex-A55 and 448 on Cortex-X1 (Compute Library, a64_gemm_s8_8x12,
// variants a55r1 and x1; lines are of 64 bytes). These two, and Qualcomm's edition of A55, have its distances; of the others nothing was found that says that it helps.
var cores = []Core{
	{Implementer: arm, Part: 0xd03, Name: "Cortex-A53", Class: Little, InOrder: true, Vectors: 1},
	{Implementer: arm, Part: 0xd04, Name: "Cortex-A35", Class: Little, InOrder: true, Vectors: 1},
	{Implementer: arm, Part: 0xd05, Name: "Cortex-A55", Class: Little, InOrder: true, Vectors: 1, Prefetch: 576},
	{Implementer: arm, Part: 0xd46, Name: "Cortex-A510", Class: Little, InOrder: true, Vectors: 1, MatMul: 1},
	{Implementer: arm, Part: 0xd80, Name: "Cortex-A520", Class: Little, InOrder: true, Vectors: 1, MatMul: 1},
	{Implementer: arm, Part: 0xd8a, Name: "C1-Nano", Class: Little, InOrder: true, Vectors: 1, MatMul: 1},
	{Implementer: arm, Part: 0xd07, Name: "Cortex-A57", Class: Middle, Vectors: 2},
	{Implementer: arm, Part: 0xd08, Name: "Cortex-A72", Class: Middle, Vectors: 2},
	{Implementer: arm, Part: 0xd09, Name: "Cortex-A73", Class: Middle, Vectors: 2},
	{Implementer: arm, Part: 0xd0a, Name: "Cortex-A75", Class: Middle, Vectors: 2},
	{Implementer: arm, Part: 0xd0b, Name: "Cortex-A76", Class: Middle, Vectors: 2},
	{Implementer: arm, Part: 0xd0d, Name: "Cortex-A77", Class: Middle, Vectors: 2},
	{Implementer: arm, Part: 0xd41, Name: "Cortex-A78", Class: Middle, Vectors: 2},
	{Implementer: arm, Part: 0xd4b, Name: "Cortex-A78C", Class: Middle, Vectors: 2},
	{Implementer: arm, Part: 0xd47, Name: "Cortex-A710", Class: Middle, Vectors: 2, MatMul: 2},
	{Implementer: arm, Part: 0xd4d, Name: "Cortex-A715", Class: Middle, Vectors: 2, MatMul: 2},
	{Implementer: arm, Part: 0xd81, Name: "Cortex-A720", Class: Middle, Vectors: 2, MatMul: 2},
	{Implementer: arm, Part: 0xd87, Name: "Cortex-A725", Class: Middle, Vectors: 2, MatMul: 2},
	{Implementer: arm, Part: 0xd8b, Name: "C1-Pro", Class: Middle, Vectors: 2, MatMul: 2},
	{Implementer: arm, Part: 0xd90, Name: "C1-Premium", Class: Big, Vectors: 4, MatMul: 4},
	{Implementer: arm, Part: 0xd44, Name: "Cortex-X1", Class: Prime, Vectors: 4, Prefetch: 448},
	{Implementer: arm, Part: 0xd4c, Name: "Cortex-X1C", Class: Prime, Vectors: 4, Prefetch: 448},
	{Implementer: arm, Part: 0xd48, Name: "Cortex-X2", Class: Prime, Vectors: 4, MatMul: 4},
	{Implementer: arm, Part: 0xd4e, Name: "Cortex-X3", Class: Prime, Vectors: 4, MatMul: 4},
	{Implementer: arm, Part: 0xd82, Name: "Cortex-X4", Class: Prime, Vectors: 4, MatMul: 4},
	{Implementer: arm, Part: 0xd85, Name: "Cortex-X925", Class: Prime, Vectors: 6, MatMul: 6},
	{Implementer: arm, Part: 0xd8c, Name: "C1-Ultra", Class: Prime, Vectors: 6, MatMul: 6},
	{Implementer: arm, Part: 0xd0c, Name: "Neoverse-N1", Class: Big, Vectors: 2},
	{Implementer: arm, Part: 0xd49, Name: "Neoverse-N2", Class: Big, Vectors: 2, MatMul: 2},
	{Implementer: arm, Part: 0xd8e, Name: "Neoverse-N3", Class: Big, Vectors: 2, MatMul: 2},
	{Implementer: arm, Part: 0xd40, Name: "Neoverse-V1", Class: Big, Vectors: 4, MatMul: 4},
	{Implementer: arm, Part: 0xd4f, Name: "Neoverse-V2", Class: Big, Vectors: 4, MatMul: 4},
	{Implementer: arm, Part: 0xd83, Name: "Neoverse-V3AE", Class: Big, Vectors: 4, MatMul: 4},
	{Implementer: arm, Part: 0xd84, Name: "Neoverse-V3", Class: Big, Vectors: 4, MatMul: 4},
	{Implementer: arm, Part: 0xd4a, Name: "Neoverse-E1", Class: Little, Vectors: 1},
	{Implementer: apple, Part: 0x022, Name: "Icestorm M1", Class: Little, Vectors: 2},
	{Implementer: apple, Part: 0x023, Name: "Firestorm M1", Class: Prime, Vectors: 4},
	{Implementer: apple, Part: 0x024, Name: "Icestorm M1 Pro", Class: Little, Vectors: 2},
	{Implementer: apple, Part: 0x025, Name: "Firestorm M1 Pro", Class: Prime, Vectors: 4},
	{Implementer: apple, Part: 0x028, Name: "Icestorm M1 Max", Class: Little, Vectors: 2},
	{Implementer: apple, Part: 0x029, Name: "Firestorm M1 Max", Class: Prime, Vectors: 4},
	{Implementer: apple, Part: 0x032, Name: "Blizzard M2", Class: Little, Vectors: 2, MatMul: 2},
	{Implementer: apple, Part: 0x033, Name: "Avalanche M2", Class: Prime, Vectors: 4, MatMul: 4},
	{Implementer: apple, Part: 0x034, Name: "Blizzard M2 Pro", Class: Little, Vectors: 2, MatMul: 2},
	{Implementer: apple, Part: 0x035, Name: "Avalanche M2 Pro", Class: Prime, Vectors: 4, MatMul: 4},
	{Implementer: apple, Part: 0x038, Name: "Blizzard M2 Max", Class: Little, Vectors: 2, MatMul: 2},
	{Implementer: apple, Part: 0x039, Name: "Avalanche M2 Max", Class: Prime, Vectors: 4, MatMul: 4},
	{Implementer: qualcomm, Part: 0x001, Name: "Oryon", Class: Prime, Vectors: 4, MatMul: 4},
	{Implementer: qualcomm, Part: 0x802, Name: "Kryo 385 Gold", Class: Middle, Vectors: 2},
	{Implementer: qualcomm, Part: 0x803, Name: "Kryo 385 Silver", Class: Little, InOrder: true, Vectors: 1},
	{Implementer: qualcomm, Part: 0x804, Name: "Kryo 485 Gold", Class: Middle, Vectors: 2},
	{Implementer: qualcomm, Part: 0x805, Name: "Kryo 485 Silver", Class: Little, InOrder: true, Vectors: 1, Prefetch: 576},
	{Implementer: ampere, Part: 0xac3, Name: "Ampere-1", Class: Big, Vectors: 2, MatMul: 2},
	{Implementer: ampere, Part: 0xac4, Name: "Ampere-1A", Class: Big, Vectors: 2, MatMul: 2},
	{Implementer: hisi, Part: 0xd01, Name: "TaiShan v110", Class: Big, Vectors: 2},
}
