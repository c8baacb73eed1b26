package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"jns/kernels/cpu"
	"jns/kernels/scalar"
	"jns/kernels/tile"
)

func BenchmarkVec(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const n = 4096
	x, y, dst := fill(r, 0, n), fill(r, 0, n), make([]float32, n)
	logits := fill(r, 0, 256<<10)
	q, q2 := make([]byte, n/32*48), make([]byte, n/32*48)
	page := make([]uint16, 128*KVChunk)
	cos, sin := make([]float32, 64), make([]float32, 64)
	for i := range cos {
		cos[i] = 1 // repeated rotation must not grow or shrink
	}
	freq := make([]float64, 64)
	for i := range freq {
		freq[i] = 0.1 / float64(i+1)
	}
	for _, set := range cpu.Available() {
		v := VecFor(set)
		if set == cpu.AVXVNNI {
			continue
		}
		for _, c := range []struct {
			name  string
			bytes int
			run   func()
		}{
			{"Quantize", n * 4, func() { v.Quantize(q, x) }},
			{"QuantizeFine", n * 4, func() { v.QuantizeFine(q, q2, x) }},
			{"RMSNorm", n * 4, func() { v.RMSNorm(dst, x, y, 1e-5) }},
			{"LayerNorm", n * 4, func() { v.LayerNorm(dst, x, y, y, 1e-5) }},
			{"AddScaled", n * 4, func() { v.AddScaled(dst, x, y, 1) }},
			{"SiLU", n * 4, func() { v.ActMul(dst, x, y, ActSiLU) }},
			{"GELU", n * 4, func() { v.ActMul(dst, x, y, ActGELU) }},
			{"GELUErf", n * 4, func() { v.ActMul(dst, x, y, ActGELUErf) }},
			{"SoftCap", n * 4, func() { v.SoftCap(dst, x, 30) }},
			{"Softmax", n * 4, func() { v.Softmax(dst, x) }},
			{"RopeNeox128", 512, func() { v.Rope(x, cos, sin, true) }},
			{"RopePairs128", 512, func() { v.Rope(y, cos, sin, false) }},
			{"StoreK128", 512, func() { v.StoreK(unsafe.Pointer(&page[0]), x[:128], 5) }},
			{"StoreV128", 512, func() { v.StoreV(unsafe.Pointer(&page[0]), x[:128], 5) }},
			{"SinCos64", 256, func() { v.SinCos(dst[:64], dst[64:], 12345, freq, 1) }},
			{"ArgMax256k", len(logits) * 4, func() { v.ArgMax(logits) }},
		} {
			b.Run(fmt.Sprintf("%s/%s", c.name, set), func(b *testing.B) {
				b.SetBytes(int64(c.bytes))
				for b.Loop() {
					c.run()
				}
			})
		}
	}
}

func BenchmarkRow(b *testing.B) {
	const n = 1024
	r := rand.New(rand.NewPCG(1, 1))
	dst := make([]float32, n)
	for _, typ := range []tile.Type{tile.F16, tile.Q8_0, tile.Q4_0, tile.Q4_1, tile.Q4_K, tile.Q6_K} {
		c, _ := tile.CodecFor(typ)
		src := make([]byte, c.RowBytes(n))
		for i := range src {
			src[i] = byte(r.Uint32())
		}
		b.Run(c.Name, func(b *testing.B) {
			for b.Loop() {
				scalar.Row(dst, src, c, 1)
			}
		})
	}
}
