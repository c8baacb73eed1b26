package main

import (
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// features are the names in the peer's system info beside what the processor calls them. Only those that its kernels use are listed.
var features = []struct {
	name string
	id   cpuid.FeatureID
}{
	{"SSE3", cpuid.SSE3}, {"SSSE3", cpuid.SSSE3}, {"AVX", cpuid.AVX}, {"AVX_VNNI", cpuid.AVXVNNI}, {"AVX2", cpuid.AVX2}, {"F16C", cpuid.F16C},
	{"FMA", cpuid.FMA3}, {"BMI2", cpuid.BMI2}, {"AVX512", cpuid.AVX512F}, {"AVX512_VBMI", cpuid.AVX512VBMI}, {"AVX512_VNNI", cpuid.AVX512VNNI},
	{"AVX512_BF16", cpuid.AVX512BF16}, {"AMX_INT8", cpuid.AMXINT8},
	{"NEON", cpuid.ASIMD}, {"DOTPROD", cpuid.ASIMDDP}, {"SVE", cpuid.SVE},
}

// hasFeature asks the processor.
func hasFeature(id cpuid.FeatureID) bool { return cpuid.CPU.Has(id) }

// parseInfo reads "CPU : SSE3 = 1 | AVX2 = 1 | " into names that are on.
func parseInfo(info string) map[string]bool {
	on := map[string]bool{}
	for _, part := range strings.Split(info, "|") {
		name, value, ok := strings.Cut(part, "=")
		if !ok || strings.TrimSpace(value) == "0" {
			continue
		}
		fields := strings.Fields(name)
		if len(fields) > 0 {
			on[fields[len(fields)-1]] = true
		}
	}
	return on
}

// missing lists the features that the processor has and the peer was not built for.
func missing(info string, has func(cpuid.FeatureID) bool) []string {
	on := parseInfo(info)
	var out []string
	for _, f := range features {
		if has(f.id) && !on[f.name] {
			out = append(out, f.name)
		}
	}
	return out
}

// machine names the processor for the report.
func machine() string {
	if n := cpuid.CPU.BrandName; n != "" {
		return n
	}
	return cpuid.CPU.VendorString
}
