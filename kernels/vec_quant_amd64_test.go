//go:build amd64 && !purego

package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/kernels/cpu"
	"jns/kernels/scalar"
	"jns/kernels/tile"
)

// Not every processor with AVX-512 quantises by four blocks, but every one can: so they are tested wherever they run. Special blocks stand at every place of a group, alone and with others.
func TestQuantisingByFourBlocksHasTheBitsOfScalar(t *testing.T) {
	if !slices.Contains(cpu.Available(), cpu.AVX512VNNI) {
		t.Skip("no AVX-512")
	}
	specials := []func(x []float32){
		func(x []float32) { clear(x) },
		func(x []float32) { x[17] = float32(math.Inf(-1)) },
		func(x []float32) { x[3] = float32(math.NaN()) },
		func(x []float32) { // the smallest that is no zero block, and the next below
			clear(x)
			x[31] = -math.Float32frombits(scalar.Q8XMin)
		},
		func(x []float32) {
			clear(x)
			x[0] = math.Float32frombits(scalar.Q8XMin - 1)
		},
		func(x []float32) { // rounding leaves nothing
			for i := range x {
				x[i] = float32(i*8 - 127)
			}
			x[0] = 127
		},
	}
	r := rand.New(rand.NewPCG(7, 7))
	for blocks := range 22 {
		for turn := range 200 {
			x := fill(r, turn%3, blocks*32)
			for b := range blocks {
				if turn%4 > 0 && r.IntN(3*(turn%4)) == 0 {
					specials[r.IntN(len(specials))](x[b*32 : b*32+32])
				}
			}
			size := tile.Q8XRowBytes(len(x)) + 16
			want, got, want2, got2 := make([]byte, size), make([]byte, size), make([]byte, size), make([]byte, size)
			scalar.Quantize(want, x)
			quantize4(got, x)
			require.Equal(t, want, got, "%d blocks", blocks)
			clear(got)
			scalar.QuantizeFine(want, want2, x)
			quantizeFine4(got, got2, x)
			require.Equal(t, want, got, "%d blocks", blocks)
			require.Equal(t, want2, got2, "%d blocks, the second row", blocks)
		}
	}
}
