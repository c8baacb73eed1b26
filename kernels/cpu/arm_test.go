package cpu

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// tensorG3 is a tree as a phone with one, four and four cores of three kinds shows it.
func tensorG3(t *testing.T) string {
	root := t.TempDir()
	for n, midr := range []string{"411fd461", "411fd461", "411fd461", "411fd461", "411fd4d0", "411fd4d0", "411fd4d0", "411fd4d0", "411fd4e0"} {
		d := filepath.Join(root, fmt.Sprintf("sys/devices/system/cpu/cpu%d/regs/identification", n))
		require.NoError(t, os.MkdirAll(d, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(d, "midr_el1"), []byte("0x00000000"+midr+"\n"), 0o644))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(root, "sys/devices/system/cpu/cpufreq"), 0o755))
	return root
}

func TestCoresAreNamedByMIDR(t *testing.T) {
	all := ArmCores(tensorG3(t))
	require.Len(t, all, 9)
	require.Equal(t, "1 × Cortex-X3 (prime), 4 × Cortex-A715 (middle), 4 × Cortex-A510 (little)", DescribeCores(all))
	require.True(t, all[0].Core().InOrder)
	require.Equal(t, 1, all[0].Variant())
	require.Equal(t, 1, all[0].Revision())
	require.Empty(t, ArmCores(t.TempDir()))
	require.Equal(t, "0x41:0xfff", MIDR(0x410ffff0).Core().Name)
	require.Equal(t, Unknown, MIDR(0).Core().Class)
}

func TestNoCoreIsListedTwice(t *testing.T) {
	seen := map[[2]int]string{}
	for _, c := range cores {
		k := [2]int{c.Implementer, c.Part}
		require.Empty(t, seen[k], c.Name)
		seen[k] = c.Name
	}
}

func TestFeaturesAreReadFromTheAuxiliaryVector(t *testing.T) {
	require.Equal(t, "asimddp", armHWCAP(1<<20, 0).String())
	f := armHWCAP(1<<20|1<<22, 1<<1|1<<9|1<<13|1<<14|1<<23|1<<30|1<<37)
	f.SVL = 64
	require.Equal(t, "asimddp i8mm bf16 sve sve2 svei8mm sme sme2 smefa64 svl512", f.String())
	require.Empty(t, armHWCAP(0, 0).String())
}
