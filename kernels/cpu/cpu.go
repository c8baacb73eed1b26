// Package cpu says which kernel sets the machine can run. It is the one place that looks at processor features, at what cores are, and at the environment
// variables JNS_KERNELS and JNS_CORES.
//
// Its nouns: a set, a name for the instructions that a family of kernels needs; a core, a microarchitecture. The package must not know kernels, only names.
package cpu

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// The sets, best first.
const (
	AMXINT8    = "amxint8"    // x86-64: AMX with bytes, which the system must grant; all of avx512vnni. Only where it is named
	AVX512VNNI = "avx512vnni" // AVX-512 F, BW, VL, DQ, VBMI and VNNI, with the state enabled by the system; BMI2; all of AVX2
	AVXVNNI    = "avxvnni"    // AVX2 and the VEX form of VPDPBUSD
	AVX2       = "avx2"       // AVX2 with FMA and F16C
	SME2       = "sme2"       // arm64: SME2 with streaming vectors of 512 bits; all of i8mm. On macOS only where it is named
	I8MM       = "i8mm"       // arm64: NEON with SMMLA; all of dotprod
	DotProd    = "dotprod"    // arm64: NEON with SDOT, half precision conversions (every core has those)
	Scalar     = "scalar"     // plain Go; every machine has it
)

// Sets lists all of them.
func Sets() []string {
	return []string{AMXINT8, AVX512VNNI, AVXVNNI, AVX2, SME2, I8MM, DotProd, Scalar}
}

// Env is the environment variable that restricts the sets: a comma-separated list of names.
const Env = "JNS_KERNELS"

// ErrSet is the error of a list of sets that names one unknown or not available here.
var ErrSet = errors.New("kernel set not available")

// Available lists the sets of this machine and build, best first; the last is always Scalar.
func Available() []string { return append(detect(), Scalar) }

// Refused says why a set whose instructions the processor has is not among those of Asked, by name; nil: there is none such.
func Refused() map[string]string { return refused() }

// Asked lists sets that this machine has but that run only where they are named; they go before those of Available.
func Asked() []string { return asked() }

// Selected is Available restricted to the names in JNS_KERNELS where that is set, which may also name those of Asked. Scalar remains as the last, since it is what kernels
// fall back on. The error wraps ErrSet.
func Selected() ([]string, error) {
	list := os.Getenv(Env)
	if strings.TrimSpace(list) == "" {
		return Available(), nil
	}
	return Restrict(append(Asked(), Available()...), list)
}

// Restrict keeps the sets of have that list names, and Scalar; an empty list keeps all.
func Restrict(have []string, list string) ([]string, error) {
	if strings.TrimSpace(list) == "" {
		return have, nil
	}
	keep := map[string]bool{Scalar: true}
	for _, name := range strings.Split(list, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(have, name) {
			return nil, fmt.Errorf("%w: %s names %q, but this machine has only %s; correct the list or unset the variable",
				ErrSet, Env, name, strings.Join(have, ", "))
		}
		keep[name] = true
	}
	return slices.DeleteFunc(slices.Clone(have), func(s string) bool { return !keep[s] }), nil
}
