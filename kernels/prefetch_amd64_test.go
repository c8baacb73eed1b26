//go:build amd64 && !purego

package kernels

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"jns/kernels/cpu"
	"jns/kernels/tile"
)

// Where weights are asked for ahead of time differs by processor, and float kernels have loops of their own for some of it: no bit of a result may depend on it.
func TestResultsDoNotDependOnWhatIsAskedForAhead(t *testing.T) {
	was := prefetching
	defer func() { prefetching = was }()
	const cols, tiles = 256, 7
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, set := range Available() {
		if set == cpu.Scalar {
			continue
		}
		layouts := []*tile.Layout{tile.F32x16, tile.F16x16, tile.BF16x16}
		for _, p := range avx512Products {
			layouts = append(layouts, p.layout)
		}
		for _, p := range slices.Concat(avx512Low, avx2Booked, avx512Booked) {
			layouts = append(layouts, p.layout)
		}
		for _, l := range layouts {
			m, err := BindMatMul(l, set)
			require.NoError(t, err)
			for _, c := range []int{cols, cols - 6} {
				if !l.Codec.Float() {
					c = cols
				}
				row := l.RowBytes(c)
				w := make([]byte, row*tiles)
				for i := range w {
					w[i] = byte(rnd.IntN(0x30)) // finite floats and halves
				}
				const n = 3
				x := make([]byte, n*4*cols)
				for i := range x {
					x[i] = byte(rnd.IntN(0x40))
				}
				run := func(a cpu.Ahead, n int) []float32 {
					prefetching = a
					y := make([]float32, n*tiles*16)
					m.Func(&MatMulArgs{
						W: unsafe.Pointer(&w[0]), WStride: uintptr(row), Tiles: tiles, Cols: c, X: unsafe.Pointer(&x[0]), XStride: 4 * cols, N: n,
						Y: unsafe.Pointer(&y[0]), YStride: tiles * 16 * 4,
					})
					return y
				}
				for _, n := range []int{1, 2, n} {
					want := run(cpu.Ahead{Near: 8 << 10, Far: 32 << 10}, n)
					for _, a := range []cpu.Ahead{{Near: 8 << 10, Far: 8 << 10, Joined: true}, {Near: 1 << 10, Far: 1 << 10, Joined: true}, {Near: 512, Far: 2048, Joined: true}, {}} {
						require.Equal(t, want, run(a, n), "%s %s, %d columns, %d rows, %+v", l.Name, set, c, n, a)
					}
				}
			}
		}
	}
}
