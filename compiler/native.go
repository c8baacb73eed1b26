package compiler

import (
	"runtime"
	"slices"

	"jns/kernels/cpu"
)

// Native lists the targets that suit this machine, the best first. Options.Target "native" means the first.
func Native() []string {
	var out []string
	sets := cpu.Available()
	for _, t := range []struct{ set, target string }{
		{cpu.AVX512VNNI, "x86-64-v4"}, {cpu.AVXVNNI, "x86-64-avxvnni"}, {cpu.AVX2, "x86-64-v3"},
		{cpu.SME2, "m4"}, {cpu.I8MM, "arm64-i8mm"},
	} {
		if slices.Contains(sets, t.set) {
			out = append(out, t.target)
		}
	}
	if runtime.GOARCH == "arm64" {
		out = append(out, "arm64-dotprod")
	}
	return append(out, "portable")
}
