package kernels_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/kernels"
)

func TestProbesReadEveryByteOfWholeRoundsAndCountTheirProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, set := range kernels.Available() {
		p := kernels.ProbeFor(set)
		for _, n := range []int{0, 1, 1023, 1024, 1025, 5 * 1024, 9*1024 + 1023} {
			b := make([]byte, n)
			want := uint64(0)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			for i := 0; i+8 <= n/kernels.ProbeBytes*kernels.ProbeBytes; i += 8 {
				want ^= binary.LittleEndian.Uint64(b[i:])
			}
			require.Equal(t, want, p.Read(b), "%s, %d bytes", set, n)
		}
		if p.Products != nil {
			require.Zero(t, p.Products(0))
			require.Equal(t, 3*p.Products(1), p.Products(3), set)
		}
	}
}
