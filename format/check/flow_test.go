package check

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
)

// TestFlowForgetsWhatIsOverwritten compares a flow with a list that is gone through whole at every write.
func TestFlowForgetsWhatIsOverwritten(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		const n = 40
		f := &flow{}
		f.init(n)
		for i := range f.span {
			from := uint64(r.IntN(30)) * 64
			f.span[i] = span{format.Region(1 + r.IntN(2)), from, from + 64*uint64(1+r.IntN(6))}
		}
		var live []uint32
		for range 300 {
			b := uint32(r.IntN(n))
			live = slices.DeleteFunc(live, func(c uint32) bool { return f.span[c].meets(f.span[b]) })
			if r.IntN(4) == 0 {
				f.spoil(b)
			} else {
				f.write(b, false)
				live = append(live, b)
			}
			for c := range uint32(n) {
				require.Equal(t, slices.Contains(live, c), f.holds[c])
				require.Equal(t, f.holds[c], f.read(c, false) == nil)
			}
			require.ElementsMatch(t, live, f.live)
		}
	}
}
