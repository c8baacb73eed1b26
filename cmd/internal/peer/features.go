package main

import (
	"os"
	"strings"
)

// features are names in the peer's system info beside the flags of /proc/cpuinfo. Only those that its kernels use are listed.
var features = []struct{ name, flag string }{
	{"SSE3", "pni"}, {"SSSE3", "ssse3"}, {"AVX", "avx"}, {"AVX_VNNI", "avx_vnni"}, {"AVX2", "avx2"}, {"F16C", "f16c"}, {"FMA", "fma"}, {"BMI2", "bmi2"},
	{"AVX512", "avx512f"}, {"AVX512_VBMI", "avx512vbmi"}, {"AVX512_VNNI", "avx512_vnni"}, {"AVX512_BF16", "avx512_bf16"}, {"AMX_INT8", "amx_int8"},
	{"NEON", "asimd"}, {"DOTPROD", "asimddp"}, {"MATMUL_INT8", "i8mm"}, {"SVE", "sve"},
}

// processor is the name and the flags of the first processor in the text of /proc/cpuinfo.
func processor(cpuinfo string) (name string, flags map[string]bool) {
	flags = map[string]bool{}
	for _, line := range strings.Split(cpuinfo, "\n") {
		key, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(key) {
		case "model name":
			if name == "" {
				name = strings.TrimSpace(value)
			}
		case "flags", "Features":
			for _, f := range strings.Fields(value) {
				flags[f] = true
			}
		}
		if strings.TrimSpace(line) == "" && len(flags) > 0 {
			break
		}
	}
	return name, flags
}

// thisProcessor reads the machine. Where there is no /proc/cpuinfo it knows nothing, and the check of the peer is left out.
func thisProcessor() (name string, flags map[string]bool) {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown", nil
	}
	return processor(string(text))
}

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
func missing(info string, flags map[string]bool) []string {
	on := parseInfo(info)
	var out []string
	for _, f := range features {
		if flags[f.flag] && !on[f.name] {
			out = append(out, f.name)
		}
	}
	return out
}
