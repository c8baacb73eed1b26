package cpu

import (
	"fmt"
	"os"
	"path/filepath"
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

// MIDR is the main identification register of a core.
type MIDR uint32

// Implementer, Part, Variant and Revision are the fields.
func (m MIDR) Implementer() int { return int(m >> 24) }
func (m MIDR) Part() int        { return int(m>>4) & 0xfff }
func (m MIDR) Variant() int     { return int(m>>20) & 15 }
func (m MIDR) Revision() int    { return int(m) & 15 }

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
