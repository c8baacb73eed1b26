//go:build !purego

package kernels

import (
	"testing"

	"github.com/stretchr/testify/require"

	"jns/kernels/arm64"
	"jns/kernels/cpu"
	"jns/kernels/tile"
)

// Every kernel that a product of any set runs has a cost, or parts that have one, whatever this machine has.
func TestEveryKernelHasACost(t *testing.T) {
	var all []*MatMul
	for set := range setNames {
		for i := range products {
			all = append(all, products[i].bind(set))
		}
		for i := range floats {
			if m := floats[i].bind(set); m != nil {
				all = append(all, m)
			}
		}
	}
	named := map[string]bool{}
	for _, m := range all {
		for _, v := range m.Variants {
			names := []string{v.Name}
			if parts, ok := arm64.Parts[v.Name]; ok {
				names = parts[:]
			}
			for _, name := range names {
				named[name] = true
				c := arm64.Costs[name]
				require.Positive(t, c.InstructionsPerTile, name)
				require.Positive(t, c.BytesPerTile, name)
				require.Positive(t, c.WeightsPerTile, name)
			}
		}
	}
	require.Greater(t, len(named), 100)
	for name := range arm64.Costs {
		_, err := ParseName(name)
		require.NoError(t, err)
	}
}

// What SME2 leaves to NEON is what the reason is given for, and nothing else.
func TestOnlyBooksByIndexAreLeftToNEON(t *testing.T) {
	for i := range products {
		p := &products[i]
		m := p.bind(sme2)
		left := p.layout == tile.IQ2_XXSx16 || p.layout == tile.IQ3_XXSx16
		require.Equal(t, left, m.Reason != "", p.layout.Name)
		require.Empty(t, p.bind(i8mm).Reason)
		for _, v := range m.Variants {
			if n, err := ParseName(v.Name); !left || v.From >= smeFew {
				require.NoError(t, err)
				require.Equal(t, cpu.SME2, n.Set, v.Name)
			}
		}
	}
}
