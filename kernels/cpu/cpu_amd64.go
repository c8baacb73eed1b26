//go:build amd64 && !purego

package cpu

import "github.com/klauspost/cpuid/v2"

// detect lists the sets besides Scalar. cpuid reports AVX features only where XCR0 says that the system saves their registers.
func detect() []string {
	var sets []string
	has := cpuid.CPU.Supports
	avx2 := has(cpuid.AVX, cpuid.AVX2, cpuid.FMA3, cpuid.F16C)
	if avx2 && has(cpuid.BMI2, cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.AVX512DQ, cpuid.AVX512VBMI, cpuid.AVX512VNNI, cpuid.GFNI) {
		sets = append(sets, AVX512VNNI)
	}
	if avx2 && has(cpuid.AVXVNNI) {
		sets = append(sets, AVXVNNI)
	}
	if avx2 {
		sets = append(sets, AVX2)
	}
	return sets
}

// Halves says whether the processor computes with halves in 512 bits, which changes no bit of a result.
func Halves() bool { return cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512FP16) }

// asked: single products with tile registers took 0.7 to 1.1 of the time of AVX-512 (Emerald Rapids), whole prompts of 512 tokens as long, so that they run where they are named.
func asked() []string {
	if have := detect(); len(have) > 0 && have[0] == AVX512VNNI && cpuid.CPU.Supports(cpuid.AMXTILE, cpuid.AMXINT8) && tiles() == nil {
		return []string{AMXINT8}
	}
	return nil
}

func refused() map[string]string {
	if !cpuid.CPU.Supports(cpuid.AMXTILE, cpuid.AMXINT8) {
		return nil
	}
	if err := tiles(); err != nil {
		return map[string]string{AMXINT8: err.Error()}
	}
	return nil
}
