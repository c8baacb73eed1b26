package kernels

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"jns/kernels/cpu"
	"jns/kernels/scalar"
	"jns/kernels/tile"
)

// RequireEnv is the environment variable that lists, separated by commas, the sets that a test run must find.
const RequireEnv = "JNS_REQUIRE_SETS"

// Available lists the kernel sets of this machine and build, best first; the last is always "scalar".
func Available() []string { return cpu.Available() }

// Asked lists the sets that this machine has but that run only where they are named.
func Asked() []string { return cpu.Asked() }

// Refused says of sets that the processor has and that are not used why not.
func Refused() map[string]string { return cpu.Refused() }

// all adds the sets that must be named.
func all() []string { return append(cpu.Asked(), cpu.Available()...) }

// Resolve turns the choice of a user into the name of a set: "auto" or "" is the best one here (within JNS_KERNELS), "avx512" is short
// for "avx512vnni", any other name must be a set of this machine. The error wraps cpu.ErrSet.
func Resolve(name string) (string, error) {
	switch name {
	case "", "auto":
		sets, err := cpu.Selected()
		if err != nil {
			return "", err
		}
		return sets[0], nil
	case "avx512":
		name = cpu.AVX512VNNI
	}
	if have := all(); !slices.Contains(have, name) {
		if why := cpu.Refused()[name]; why != "" {
			return "", fmt.Errorf("%w: %s: %s; choose auto or one of %s", cpu.ErrSet, name, why, strings.Join(have, ", "))
		}
		return "", fmt.Errorf("%w: %q is not a set of this machine; choose auto or one of %s", cpu.ErrSet, name, strings.Join(have, ", "))
	}
	return name, nil
}

// MissingSets lists the sets that JNS_REQUIRE_SETS names and this machine or build lacks.
func MissingSets() []string {
	var missing []string
	have := all()
	for name := range strings.SplitSeq(os.Getenv(RequireEnv), ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(have, name) {
			missing = append(missing, name)
		}
	}
	return missing
}

// BindMatMul gives the product of a layout in a set, or in the next lower one that has kernels for the layout; scalar has every layout.
// MatMul.Set and MatMul.Name say what was chosen. The error wraps cpu.ErrSet: the set is unknown or not available here.
func BindMatMul(l *tile.Layout, set string) (*MatMul, error) {
	have := all()
	i := slices.Index(have, set)
	if i < 0 {
		return nil, fmt.Errorf("%w: %q; available here: %s", cpu.ErrSet, set, strings.Join(have, ", "))
	}
	for _, s := range have[i:] {
		if m := bindSet(l, s); m != nil {
			return m, nil
		}
	}
	return &MatMul{Name: ScalarName(l), Set: cpu.Scalar, Func: scalar.MatMul(l)}, nil
}

// ScalarName is the kernel name of the scalar product of a layout.
func ScalarName(l *tile.Layout) string {
	act := "q8x"
	if l.Codec.Float() {
		act = "f32"
	}
	return fmt.Sprintf("gemm_%s_%s_%dx1_%s", l.Name, act, l.Rows, cpu.Scalar)
}
