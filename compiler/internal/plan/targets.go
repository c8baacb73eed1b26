package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Family is the layout family of a target: which arrangement its matrices get where their type has one.
type Family string

// Families.
const (
	FamilyPortable Family = "portable" // source blocks as they are
	FamilyX16      Family = "x16"      // groups of 16 rows, one vector lane a row
)

// Target is what a container is made for. One x16 arrangement serves every instruction set from AVX2 to SME2, so targets of
// that family differ in what they are tuned for, which is a hint, not a requirement.
type Target struct {
	Name     string
	Family   Family
	Arch     string   // GOARCH, empty for any
	Features []string // instruction sets that the target's machines have
	Vector   int      // bits of a vector register, 0 where it does not matter
	Words    string   // for people
}

// Default is the target when none is asked for. It does not depend on the machine that compiles, so that everyone who
// compiles a model without options gets the same bytes.
const Default = "x86-64-v4"

// targets in the order they are shown: from the least to the most demanding within an architecture.
var targets = []Target{
	{"portable", FamilyPortable, "", nil, 0, "any machine, source blocks as they are, scalar kernels"},
	{"x86-64-v3", FamilyX16, "amd64", []string{"avx2", "fma"}, 256, "Intel Haswell, AMD Zen and later"},
	{"x86-64-avxvnni", FamilyX16, "amd64", []string{"avx2", "fma", "avxvnni"}, 256, "Intel Alder Lake and later, AMD Zen 5"},
	{"x86-64-v4", FamilyX16, "amd64", []string{"avx512", "avx512vnni"}, 512, "Intel Ice Lake servers, AMD Zen 4 and later"},
	{"zen5", FamilyX16, "amd64", []string{"avx512", "avx512vnni", "avxvnni"}, 512, "AMD Zen 5 with full-width 512-bit units"},
	{"arm64-dotprod", FamilyX16, "arm64", []string{"neon", "dotprod"}, 128, "Arm v8.2 with dot product: Graviton 2, Raspberry Pi 5, Apple M1"},
	{"arm64-i8mm", FamilyX16, "arm64", []string{"neon", "dotprod", "i8mm"}, 128, "Arm v8.6: Graviton 3, Apple M2 and later"},
	{"neoverse-v2", FamilyX16, "arm64", []string{"neon", "dotprod", "i8mm", "sve2"}, 128, "Graviton 4, Grace, Axion"},
	{"pixel8", FamilyX16, "arm64", []string{"neon", "dotprod", "i8mm"}, 128, "Tensor G3 phones"},
	{"m2", FamilyX16, "arm64", []string{"neon", "dotprod", "i8mm"}, 128, "Apple M2"},
	{"m3", FamilyX16, "arm64", []string{"neon", "dotprod", "i8mm"}, 128, "Apple M3"},
	{"m4", FamilyX16, "arm64", []string{"neon", "dotprod", "i8mm", "sme2"}, 512, "Apple M4: SME2 with 512-bit streaming vectors"},
}

// Targets lists all targets.
func Targets() []Target { return slices.Clone(targets) }

// FindTarget finds a target by name; the empty name is the default.
func FindTarget(name string) (Target, error) {
	if name == "" {
		name = Default
	}
	for _, t := range targets {
		if t.Name == name {
			return t, nil
		}
	}
	var names []string
	for _, t := range targets {
		names = append(names, t.Name)
	}
	return Target{}, fmt.Errorf("%w %q; known are native, %s", ErrTarget, name, strings.Join(names, ", "))
}
