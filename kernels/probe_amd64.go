//go:build amd64 && !purego

package kernels

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"jns/kernels/amd64"
	"jns/kernels/cpu"
	"jns/kernels/tile"
)

func fillProbe(set string, p *Probe) {
	switch set {
	case cpu.AMXINT8:
		*p = Probe{set, func(b []byte) uint64 { return probeRead(b, amd64.Probe_read_avx512vnni) }, probeTiles}
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

// probeTiles: a round is four products of full tiles.
func probeTiles(n int) int {
	if n < 1 {
		return 0
	}
	amd64.Probe_dot_amxint8(&amd64.ProbeArgs{N: n})
	return n * 4 * 16 * 16 * 64
}

// probeDot: a round is twelve vectors.
func probeDot(n, width int, f func(*amd64.ProbeArgs)) int {
	if n < 1 {
		return 0
	}
	f(&amd64.ProbeArgs{N: n})
	return n * 12 * width
}

// peak: AVX2 has its own way for every width of codes; with VPDPBUSD there is one.
func peak(l *tile.Layout, set string) func(n int) int {
	if set != cpu.AVX2 {
		return nil
	}
	var f func(*amd64.ProbeArgs)
	switch name, _ := ParseName(promptKernel(l, set)); name.Tile[:min(2, len(name.Tile))] {
	case "u4":
		f = amd64.Probe_dot4_avx2
	case "u5":
		f = amd64.Probe_dot5_avx2
	case "u6":
		f = amd64.Probe_dot6_avx2
	case "u7":
		f = amd64.Probe_dot7_avx2
	case "s1":
		f = amd64.Probe_dot16_avx2
	default:
		return nil
	}
	return func(n int) int {
		if n < 1 {
			return 0
		}
		f(&amd64.ProbeArgs{N: n})
		return n * 32 * 32
	}
}

func promptKernel(l *tile.Layout, set string) string {
	p := productFor(l, set)
	if p == nil {
		return ""
	}
	s := p.panels
	if p.tiles != nil {
		s = p.tiles
	}
	k := slices.Concat(s.wide, s.one)[0]
	name := runtime.FuncForPC(reflect.ValueOf(k.run).Pointer()).Name()
	return strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
}
