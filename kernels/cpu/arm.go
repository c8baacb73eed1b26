package cpu

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// ArmFeatures is what an arm64 machine offers beyond NEON. The zero value offers nothing.
type ArmFeatures struct {
	DotProd, I8MM, BF16 bool
	SVE, SVE2, SVEI8MM  bool
	SME, SME2, FA64     bool
	SVL                 int // bytes of a streaming vector; 0 where unknown or without SME
}

// Bits of Linux's AT_HWCAP and AT_HWCAP2.
const (
	hwcapASIMDDP  = 20
	hwcapSVE      = 22
	hwcap2SVE2    = 1
	hwcap2SVEI8MM = 9
	hwcap2I8MM    = 13
	hwcap2BF16    = 14
	hwcap2SME     = 23
	hwcap2FA64    = 30
	hwcap2SME2    = 37
)

// armHWCAP reads the two words of Linux's auxiliary vector.
func armHWCAP(a, b uint64) ArmFeatures {
	has := func(w uint64, bit int) bool { return w>>bit&1 != 0 }
	return ArmFeatures{
		DotProd: has(a, hwcapASIMDDP), I8MM: has(b, hwcap2I8MM), BF16: has(b, hwcap2BF16),
		SVE: has(a, hwcapSVE), SVE2: has(b, hwcap2SVE2), SVEI8MM: has(b, hwcap2SVEI8MM),
		SME: has(b, hwcap2SME), SME2: has(b, hwcap2SME2), FA64: has(b, hwcap2FA64),
	}
}

// String lists the features by the names that Linux gives them.
func (f ArmFeatures) String() string {
	var s []string
	for _, x := range []struct {
		name string
		has  bool
	}{{"asimddp", f.DotProd}, {"i8mm", f.I8MM}, {"bf16", f.BF16}, {"sve", f.SVE}, {"sve2", f.SVE2}, {"svei8mm", f.SVEI8MM}, {"sme", f.SME}, {"sme2", f.SME2}, {"smefa64", f.FA64}} {
		if x.has {
			s = append(s, x.name)
		}
	}
	if f.SVL > 0 {
		s = append(s, fmt.Sprintf("svl%d", f.SVL*8))
	}
	return strings.Join(s, " ")
}

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

// Core is a microarchitecture: what MIDR_EL1 names, and what is worth knowing about it. Figures are from the makers' optimization guides and published descriptions.
type Core struct {
	Implementer, Part int
	Name              string
	Class             Class
	InOrder           bool
	Vectors           int // NEON operations begun in a cycle
	MatMul            int // SMMLA begun in a cycle; 0: none
}

// MIDR is the main identification register of a core.
type MIDR uint32

// Implementer, Part, Variant and Revision are the fields.
func (m MIDR) Implementer() int { return int(m >> 24) }
func (m MIDR) Part() int        { return int(m>>4) & 0xfff }
func (m MIDR) Variant() int     { return int(m>>20) & 15 }
func (m MIDR) Revision() int    { return int(m) & 15 }

// Core gives the microarchitecture; an unknown one has the name "0x41:0xd0b" and class Unknown.
func (m MIDR) Core() Core {
	for _, c := range cores {
		if c.Implementer == m.Implementer() && c.Part == m.Part() {
			return c
		}
	}
	return Core{Implementer: m.Implementer(), Part: m.Part(), Name: fmt.Sprintf("%#02x:%#03x", m.Implementer(), m.Part())}
}

const (
	arm      = 0x41
	apple    = 0x61
	qualcomm = 0x51
	ampere   = 0xc0
	hisi     = 0x48
)

var cores = []Core{
	{arm, 0xd03, "Cortex-A53", Little, true, 1, 0},
	{arm, 0xd04, "Cortex-A35", Little, true, 1, 0},
	{arm, 0xd05, "Cortex-A55", Little, true, 1, 0},
	{arm, 0xd46, "Cortex-A510", Little, true, 1, 1},
	{arm, 0xd80, "Cortex-A520", Little, true, 1, 1},
	{arm, 0xd8a, "C1-Nano", Little, true, 1, 1},
	{arm, 0xd07, "Cortex-A57", Middle, false, 2, 0},
	{arm, 0xd08, "Cortex-A72", Middle, false, 2, 0},
	{arm, 0xd09, "Cortex-A73", Middle, false, 2, 0},
	{arm, 0xd0a, "Cortex-A75", Middle, false, 2, 0},
	{arm, 0xd0b, "Cortex-A76", Middle, false, 2, 0},
	{arm, 0xd0d, "Cortex-A77", Middle, false, 2, 0},
	{arm, 0xd41, "Cortex-A78", Middle, false, 2, 0},
	{arm, 0xd4b, "Cortex-A78C", Middle, false, 2, 0},
	{arm, 0xd47, "Cortex-A710", Middle, false, 2, 2},
	{arm, 0xd4d, "Cortex-A715", Middle, false, 2, 2},
	{arm, 0xd81, "Cortex-A720", Middle, false, 2, 2},
	{arm, 0xd87, "Cortex-A725", Middle, false, 2, 2},
	{arm, 0xd8b, "C1-Pro", Middle, false, 2, 2},
	{arm, 0xd90, "C1-Premium", Big, false, 4, 4},
	{arm, 0xd44, "Cortex-X1", Prime, false, 4, 0},
	{arm, 0xd4c, "Cortex-X1C", Prime, false, 4, 0},
	{arm, 0xd48, "Cortex-X2", Prime, false, 4, 4},
	{arm, 0xd4e, "Cortex-X3", Prime, false, 4, 4},
	{arm, 0xd82, "Cortex-X4", Prime, false, 4, 4},
	{arm, 0xd85, "Cortex-X925", Prime, false, 6, 6},
	{arm, 0xd8c, "C1-Ultra", Prime, false, 6, 6},
	{arm, 0xd0c, "Neoverse-N1", Big, false, 2, 0},
	{arm, 0xd49, "Neoverse-N2", Big, false, 2, 2},
	{arm, 0xd8e, "Neoverse-N3", Big, false, 2, 2},
	{arm, 0xd40, "Neoverse-V1", Big, false, 4, 4},
	{arm, 0xd4f, "Neoverse-V2", Big, false, 4, 4},
	{arm, 0xd83, "Neoverse-V3AE", Big, false, 4, 4},
	{arm, 0xd84, "Neoverse-V3", Big, false, 4, 4},
	{arm, 0xd4a, "Neoverse-E1", Little, false, 1, 0},
	{apple, 0x022, "Icestorm M1", Little, false, 2, 0},
	{apple, 0x023, "Firestorm M1", Prime, false, 4, 0},
	{apple, 0x024, "Icestorm M1 Pro", Little, false, 2, 0},
	{apple, 0x025, "Firestorm M1 Pro", Prime, false, 4, 0},
	{apple, 0x028, "Icestorm M1 Max", Little, false, 2, 0},
	{apple, 0x029, "Firestorm M1 Max", Prime, false, 4, 0},
	{apple, 0x032, "Blizzard M2", Little, false, 2, 2},
	{apple, 0x033, "Avalanche M2", Prime, false, 4, 4},
	{apple, 0x034, "Blizzard M2 Pro", Little, false, 2, 2},
	{apple, 0x035, "Avalanche M2 Pro", Prime, false, 4, 4},
	{apple, 0x038, "Blizzard M2 Max", Little, false, 2, 2},
	{apple, 0x039, "Avalanche M2 Max", Prime, false, 4, 4},
	{qualcomm, 0x001, "Oryon", Prime, false, 4, 4},
	{qualcomm, 0x802, "Kryo 385 Gold", Middle, false, 2, 0},
	{qualcomm, 0x803, "Kryo 385 Silver", Little, true, 1, 0},
	{qualcomm, 0x804, "Kryo 485 Gold", Middle, false, 2, 0},
	{qualcomm, 0x805, "Kryo 485 Silver", Little, true, 1, 0},
	{ampere, 0xac3, "Ampere-1", Big, false, 2, 2},
	{ampere, 0xac4, "Ampere-1A", Big, false, 2, 2},
	{hisi, 0xd01, "TaiShan v110", Big, false, 2, 0},
}

// ArmCores reads the MIDR of every processor from Linux's sysfs, by processor number; processors whose register is not shown are left out. root is where the file system
// begins: "/", or a fixture.
func ArmCores(root string) map[int]MIDR {
	dirs, _ := filepath.Glob(filepath.Join(root, "sys/devices/system/cpu/cpu[0-9]*"))
	all := map[int]MIDR{}
	for _, d := range dirs {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(d), "cpu"))
		if err != nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join(d, "regs/identification/midr_el1"))
		if err != nil {
			continue
		}
		v, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(string(b)), "0x"), 16, 64)
		if err != nil {
			continue
		}
		all[n] = MIDR(v)
	}
	return all
}

// DescribeCores sums cores up, the best class first: "1 × Cortex-X3 (prime), 4 × Cortex-A715 (middle)"; "" for none.
func DescribeCores(all map[int]MIDR) string {
	count := map[Core]int{}
	for _, m := range all {
		count[m.Core()]++
	}
	kinds := make([]Core, 0, len(count))
	for c := range count {
		kinds = append(kinds, c)
	}
	sort.Slice(kinds, func(i, j int) bool {
		if kinds[i].Class != kinds[j].Class {
			return kinds[i].Class > kinds[j].Class
		}
		return kinds[i].Name < kinds[j].Name
	})
	var s []string
	for _, c := range kinds {
		s = append(s, fmt.Sprintf("%d × %s (%s)", count[c], c.Name, c.Class))
	}
	return strings.Join(s, ", ")
}
