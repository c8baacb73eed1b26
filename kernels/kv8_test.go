//go:build unix

package kernels_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"jns/kernels"
	"jns/kernels/scalar"
	"jns/kernels/tile"
)

// kv8 fills the codes of a head's keys or values with numbers of all sizes and gives the numbers by position.
func kv8(codes []byte, n int, store func(unsafe.Pointer, []float32, int), r *rand.Rand) [][]float32 {
	rows := make([][]float32, kernels.KVChunk)
	for p := range rows {
		x := make([]float32, n)
		size := math.Ldexp(1, r.IntN(50)-35) // halves' subnormal numbers too
		for i := range x {
			x[i] = float32(r.NormFloat64() * size)
		}
		switch p {
		case 5:
			clear(x)
		case 6:
			x[n-1] = float32(math.Inf(1))
		case 7:
			x[0] = float32(math.NaN())
		case 8:
			x[n/2] = 3e38
		}
		store(unsafe.Pointer(&codes[0]), x, p)
		rows[p] = x
	}
	return rows
}

func kv8Bytes(n int) int { return kernels.KVChunk * (n + 2*((n+31)/32)) }

func TestPagesOfEightBitsExpandToTheSameHalvesInEverySet(t *testing.T) {
	for _, n := range []int{1, 8, 31, 32, 33, 64, 80, 96, 128, 200, 256} {
		r := rand.New(rand.NewPCG(8, uint64(n)))
		for _, keys := range []bool{true, false} {
			store, expand := scalar.StoreV8, scalar.ExpandV8
			if keys {
				store, expand = scalar.StoreK8, scalar.ExpandK8
			}
			codes := fenced(t, kv8Bytes(n))
			rows := kv8(codes, n, store, r)
			want := make([]uint16, n*kernels.KVChunk)
			expand(unsafe.Pointer(&want[0]), unsafe.Pointer(&codes[0]), n)
			for p, x := range rows {
				for b := 0; b < n; b += 32 {
					to := min(b+32, n)
					most, finite := 0.0, true
					for _, v := range x[b:to] {
						most = max(most, math.Abs(float64(v)))
						finite = finite && !math.IsNaN(float64(v)) && math.Abs(float64(v)) < 8e6
					}
					for i := b; i < to; i++ {
						at := p*n + i
						if keys {
							at = i*kernels.KVChunk + p
						}
						got := float64(tile.F16ToF32(want[at]))
						if !finite {
							require.False(t, got == got && math.Abs(got) < 1e30 && got != 0, "a number that is not finite must not look like one that is: %v", got)
							continue
						}
						// Half a step of the code, what the scale's rounding moves the largest, and the halves' own rounding.
						if most < 60000 {
							require.InDelta(t, float64(x[i]), got, most*(0.5/127+1.0/1024)+127*math.Ldexp(1, -24), "n %d, position %d, element %d", n, p, i)
						}
					}
				}
			}
			for _, set := range kernels.Available() {
				v := kernels.VecFor(set)
				f := v.ExpandV8
				if keys {
					f = v.ExpandK8
				}
				dst := fenced(t, 2*n*kernels.KVChunk)
				require.Empty(t, touching(func() { f(unsafe.Pointer(&dst[0]), unsafe.Pointer(&codes[0]), n) }))
				got := unsafe.Slice((*uint16)(unsafe.Pointer(&dst[0])), len(want))
				for i := range want {
					nan := want[i]&0x7fff > 0x7c00
					require.True(t, nan && got[i]&0x7fff > 0x7c00 || got[i] == want[i], "%s keys %v n %d at %d: %04x, want %04x", set, keys, n, i, got[i], want[i])
				}
			}
		}
	}
}

func BenchmarkExpandKV8(b *testing.B) {
	for _, set := range kernels.Available() {
		v := kernels.VecFor(set)
		b.Run(set, func(b *testing.B) {
			const n = 64
			codes, dst := make([]byte, kv8Bytes(n)), make([]byte, 2*n*kernels.KVChunk)
			b.SetBytes(int64(2 * len(codes)))
			for b.Loop() {
				v.ExpandK8(unsafe.Pointer(&dst[0]), unsafe.Pointer(&codes[0]), n)
				v.ExpandV8(unsafe.Pointer(&dst[0]), unsafe.Pointer(&codes[0]), n)
			}
		})
	}
}
