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
	root := tensorG3(t)
	registers := ArmCores(root)
	require.Equal(t, 1, registers[0].Variant())
	require.Equal(t, 1, registers[0].Revision())
	all, err := Cores(root, []int{0, 1, 2, 3, 4, 5, 6, 7, 8})
	require.NoError(t, err)
	require.Len(t, all, 9)
	require.Equal(t, "1 × Cortex-X3 (prime), 4 × Cortex-A715 (middle), 4 × Cortex-A510 (little)", DescribeCores(all))
	require.True(t, all[0].InOrder && all[0].Small())
	require.False(t, all[8].InOrder || all[8].Small())
	some, err := Cores(root, []int{3, 4})
	require.NoError(t, err)
	require.Equal(t, "1 × Cortex-A715 (middle), 1 × Cortex-A510 (little)", DescribeCores(some))
	require.Empty(t, ArmCores(t.TempDir()))
	require.Equal(t, "0x41:0xfff", MIDR(0x410ffff0).core(cores).Name)
	require.Equal(t, Unknown, MIDR(0).core(cores).Class)
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

func TestPreferredSetFollowsTheFigures(t *testing.T) {
	have := []string{I8MM, DotProd, Scalar}
	require.Equal(t, I8MM, Core{}.Preferred(have), "nothing is known")
	require.Equal(t, I8MM, Core{Vectors: 4, MatMul: 4}.Preferred(have))
	require.Equal(t, DotProd, Core{Vectors: 4, MatMul: 2}.Preferred(have), "as many products either way, without reordering")
	require.Equal(t, DotProd, Core{Vectors: 4, MatMul: 4, Prefer: DotProd}.Preferred(have))
	require.Equal(t, I8MM, Core{Prefer: SME2}.Preferred(have), "what the machine lacks")
	require.Equal(t, AVX2, Core{Vectors: 3}.Preferred([]string{AVX2, Scalar}))
}

func TestPrefetchIsWhatIsKnownOfACore(t *testing.T) {
	require.Equal(t, 576, MIDR(0x412fd050).core(cores).Prefetch, "Cortex-A55")
	require.Zero(t, MIDR(0x410fd0b1).core(cores).Prefetch, "Cortex-A76")
	require.Zero(t, MIDR(0x41ffffff).core(cores).Prefetch, "nothing is known")
}

func TestFileOfCoresWins(t *testing.T) {
	root, file := tensorG3(t), filepath.Join(t.TempDir(), "cores.json")
	t.Setenv(CoresEnv, file)
	_, err := Cores(root, nil)
	require.ErrorIs(t, err, ErrCores)
	require.NoError(t, os.WriteFile(file, []byte(`{"cores": [{"implementer": "0x41", "part": "0xd4e", "name": "mine", "class": "big", "vectors": 3, "kernels": "dotprod", "prefetch": 320}],
		"processors": {"3": {"name": "odd", "speed": 0.5}}}`), 0o644))
	all, err := Cores(root, nil)
	require.NoError(t, err)
	require.Equal(t, Core{Implementer: 0x41, Part: 0xd4e, Name: "mine", Class: Big, Vectors: 3, Prefer: DotProd, Prefetch: 320}, all[8])
	require.Equal(t, Core{Name: "odd", Speed: 0.5}, all[3])
	require.Equal(t, "Cortex-A510", all[2].Name)
	for _, bad := range []string{"", "[]", `{"x": 1}`, `{} {}`, `{"cores": [{"name": "a"}]}`, `{"cores": [{"implementer": "0x141", "part": "1", "name": "a"}]}`,
		`{"processors": {"x": {"name": "a"}}}`, `{"processors": {"-1": {"name": "a"}}}`, `{"processors": {"1": {"name": ""}}}`, `{"processors": {"1": {"name": "a", "class": "huge"}}}`,
		`{"processors": {"1": {"name": "a", "speed": -1}}}`, `{"processors": {"1": {"name": "a", "kernels": "sse9"}}}`, `{"processors": {"1": {"name": "a", "part": "1"}}}`,
		`{"processors": {"1": {"name": "a", "vectors": 1000}}}`, `{"processors": {"1": {"name": "a", "prefetch": 5000}}}`} {
		require.NoError(t, os.WriteFile(file, []byte(bad), 0o644))
		_, err := Cores(root, nil)
		require.ErrorIs(t, err, ErrCores, bad)
	}
	for bad, want := range map[string]string{
		"":                                     "the file is empty",
		"{":                                    "it ends too early",
		"[]":                                   "byte 1: the file cannot be array",
		`{"processors": {"0": {"speed": []}}}`: "speed cannot be array",
		`{"processors": {"x": {}}}`:            `"x" is no number from 0 to 65536 (0x10000)`,
	} {
		require.NoError(t, os.WriteFile(file, []byte(bad), 0o644))
		_, err := Cores(root, nil)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
		require.NotContains(t, err.Error(), "struct")
	}
	require.NoError(t, os.WriteFile(file, make([]byte, coresFileSize+1), 0o644))
	_, err = Cores(root, nil)
	require.ErrorIs(t, err, ErrCores)
}

// An M4 Pro of ten and four cores, as sysctl spells it.
func TestLevelsAreRead(t *testing.T) {
	numbers := map[string]int{"hw.nperflevels": 2, "hw.perflevel0.logicalcpu": 10, "hw.perflevel0.l2cachesize": 16 << 20, "hw.perflevel1.logicalcpu": 4, "hw.perflevel1.l2cachesize": 4 << 20}
	texts := map[string]string{"hw.perflevel0.name": "Performance", "hw.perflevel1.name": "Efficiency"}
	number := func(s string) (int, bool) { v, ok := numbers[s]; return v, ok }
	text := func(s string) (string, bool) { v, ok := texts[s]; return v, ok }
	require.Equal(t, []Level{{"Performance", 10, 16 << 20}, {"Efficiency", 4, 4 << 20}}, levels(number, text))
	delete(numbers, "hw.perflevel1.logicalcpu")
	require.Nil(t, levels(number, text))
	delete(numbers, "hw.nperflevels")
	require.Nil(t, levels(number, text), "an Intel Mac has no levels")
}
