package compiler

import (
	"runtime"
	"slices"

	"jns/kernels/cpu"
)

// native is the target for the machine that compiles. It is used only when asked for by that name.
func native() string {
	sets := cpu.Available()
	for _, t := range []struct{ set, target string }{
		{cpu.AVX512VNNI, "x86-64-v4"}, {cpu.AVXVNNI, "x86-64-avxvnni"}, {cpu.AVX2, "x86-64-v3"},
		{cpu.SME2, "m4"}, {cpu.I8MM, "arm64-i8mm"},
	} {
		if slices.Contains(sets, t.set) {
			return t.target
		}
	}
	if runtime.GOARCH == "arm64" {
		return "arm64-dotprod"
	}
	return "portable"
}
