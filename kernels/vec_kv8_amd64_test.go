//go:build amd64 && !purego

package kernels

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"jns/kernels/cpu"
	"jns/kernels/tile"
)

// Every code times every scale: with arithmetic on halves and without, values and keys, against the definition.
func TestEveryCodeTimesEveryScaleIsTheHalfOfTheDefinition(t *testing.T) {
	type expand func(dst, codes unsafe.Pointer, n int)
	sets := map[string][2]expand{}
	for _, set := range cpu.Available() {
		switch set {
		case cpu.AVX2:
			sets["AVX2"] = [2]expand{wide(false).expandK8, wide(false).expandV8}
		case cpu.AVX512VNNI:
			sets["AVX-512"] = [2]expand{wide(true).expandK8, wide(true).expandV8}
			if cpu.Halves() {
				sets["AVX512-FP16"] = [2]expand{halvesK8, halvesV8}
			}
		}
	}
	const d = 32 // a block of a page: 64 scales, 32 codes each
	codes, dst := make([]byte, d*KVChunk+2*KVChunk), make([]uint16, d*KVChunk)
	scales := unsafe.Slice((*uint16)(unsafe.Pointer(&codes[d*KVChunk])), KVChunk)
	for name, f := range sets {
		for base := 0; base < 1<<16; base += KVChunk {
			for i := range scales {
				scales[i] = uint16(base + i)
			}
			for eighth := range 8 {
				for keys := range 2 {
					for p := range KVChunk {
						for i := range d {
							at := p*d + i
							if keys == 0 {
								at = i*KVChunk + p
							}
							codes[at] = byte(eighth*d + i)
						}
					}
					f[keys](unsafe.Pointer(&dst[0]), unsafe.Pointer(&codes[0]), d)
					for p := range KVChunk {
						scale := tile.F16ToF32(scales[p])
						for i := range d {
							at := p*d + i
							if keys == 0 {
								at = i*KVChunk + p
							}
							want := tile.F32ToF16(float32(int8(eighth*d+i)) * scale)
							if nan := want&0x7fff > 0x7c00; dst[at] != want && !(nan && dst[at]&0x7fff > 0x7c00) {
								require.Failf(t, "different bits", "%s, keys %v: code %d times scale %04x is %04x, want %04x", name, keys == 0, int8(eighth*d+i), scales[p], dst[at], want)
							}
						}
					}
				}
			}
		}
	}
	require.NotEmpty(t, sets)
}
