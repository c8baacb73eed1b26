package scalar

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/kernels/tile"
)

func TestRowIsWhatTheCodecSaysTimesScale(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	bits := func(v float32) uint32 {
		if v != v {
			return 0x7fc00000
		}
		return math.Float32bits(v)
	}
	for _, c := range tile.Codecs() {
		t.Run(c.Name, func(t *testing.T) {
			for _, scale := range []float32{1, 30.125, -0.001, 0} {
				n := 3 * max(c.Elems, 16)
				src := make([]byte, c.RowBytes(n))
				for i := range src {
					src[i] = byte(r.Uint32())
				}
				want, got := make([]float32, n), make([]float32, n)
				if c.Float() {
					c.Floats(want, src)
				}
				var b tile.Block
				for i := range want {
					if !c.Float() {
						j := i % c.Elems
						c.Decode(&b, src[i/c.Elems*c.Bytes:])
						want[i] = float32(b.Scale[j/c.Group] * float32(b.Code[j]))
						if c.OffGroup != 0 {
							want[i] += b.Off[j/c.OffGroup]
						}
					}
					want[i] = float32(want[i] * scale)
				}
				Row(got, src, c, scale)
				for i := range want {
					require.Equal(t, bits(want[i]), bits(got[i]), "element %d, scale %g", i, scale)
				}
			}
		})
	}
}
