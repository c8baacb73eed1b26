package compiler

import (
	"runtime"

	"github.com/klauspost/cpuid/v2"
)

// native is the target for the machine that compiles. It is used only when asked for by that name.
func native() string {
	has := func(f ...cpuid.FeatureID) bool { return cpuid.CPU.Supports(f...) }
	switch runtime.GOARCH {
	case "amd64":
		switch {
		case has(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.AVX512VNNI) && has(cpuid.AVXVNNI) && cpuid.CPU.VendorID == cpuid.AMD:
			return "zen5"
		case has(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.AVX512VNNI):
			return "x86-64-v4"
		case has(cpuid.AVX2, cpuid.FMA3, cpuid.AVXVNNI):
			return "x86-64-avxvnni"
		case has(cpuid.AVX2, cpuid.FMA3):
			return "x86-64-v3"
		}
	case "arm64":
		if runtime.GOOS == "darwin" {
			return "m2"
		}
		if has(cpuid.ASIMDDP) {
			return "arm64-dotprod"
		}
	}
	return "portable"
}
