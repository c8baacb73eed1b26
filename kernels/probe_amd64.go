//go:build amd64 && !purego

package kernels

import (
	"unsafe"

	"jns/kernels/amd64"
	"jns/kernels/cpu"
)

func fillProbe(set string, p *Probe) {
	switch set {
	case cpu.AVX512VNNI:
		*p = Probe{set, func(b []byte) uint64 { return probeRead(b, amd64.Probe_read_avx512vnni) },
			func(n int) int { return probeDot(n, 64, amd64.Probe_dot_avx512vnni) }}
	case cpu.AVXVNNI:
		*p = Probe{set, func(b []byte) uint64 { return probeRead(b, amd64.Probe_read_avx2) },
			func(n int) int { return probeDot(n, 32, amd64.Probe_dot_avxvnni) }}
	case cpu.AVX2:
		*p = Probe{set, func(b []byte) uint64 { return probeRead(b, amd64.Probe_read_avx2) },
			func(n int) int { return probeDot(n, 32, amd64.Probe_dot_avx2) }}
	}
}

func probeRead(b []byte, f func(*amd64.ProbeArgs)) uint64 {
	a := amd64.ProbeArgs{A: unsafe.Pointer(unsafe.SliceData(b)), N: len(b) / ProbeBytes}
	if a.N == 0 {
		return 0
	}
	f(&a)
	return a.R
}

// probeDot: a round is twelve vectors.
func probeDot(n, width int, f func(*amd64.ProbeArgs)) int {
	if n < 1 {
		return 0
	}
	f(&amd64.ProbeArgs{N: n})
	return n * 12 * width
}
