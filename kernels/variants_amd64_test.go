//go:build amd64 && !purego

package kernels

import (
	"testing"

	"github.com/stretchr/testify/require"

	"jns/kernels/amd64"
)

// The names of receipts are those of kernels that there are, whatever this machine has: one activation row is multiplied by the kernel for one, and more than a few by panels.
func TestVariantsNameKernels(t *testing.T) {
	n := 0
	for _, s := range sets {
		for i := range s.products {
			p := &s.products[i]
			m := &MatMul{Name: p.name, Variants: p.variants(s.name)}
			require.NotEmpty(t, m.Variants)
			for k, v := range m.Variants[:len(m.Variants)-1] {
				require.Positive(t, amd64.Costs[v.Name].InstructionsPerTile, "%s has no cost, so there is no such kernel", v.Name)
				require.Equal(t, k, m.Variant(v.From))
				require.LessOrEqual(t, v.From, p.few)
				n++
			}
			require.Equal(t, 1, m.Variants[0].From)
			require.Equal(t, p.name, m.Variants[m.Variant(p.few+1)].Name)
			if len(p.gemv) > 0 {
				require.NotEqual(t, p.name, m.Variants[m.Variant(p.few)].Name)
			}
		}
	}
	require.Greater(t, n, 100)
}
