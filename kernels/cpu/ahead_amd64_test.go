//go:build amd64 && !purego

package cpu

import (
	"testing"

	"github.com/klauspost/cpuid/v2"
	"github.com/stretchr/testify/require"
)

func TestWeightsAreAskedForAsWasMeasuredOfAProcessor(t *testing.T) {
	intel := Ahead{Near: 8 << 10, Far: 32 << 10}
	require.Equal(t, intel, aheadOf(cpuid.Intel, 6), "where the figures of Intel come from")
	require.Equal(t, intel, aheadOf(cpuid.AMD, 25), "nothing is known of Zen 4")
	require.Equal(t, intel, aheadOf(cpuid.Intel, 26), "a family is its vendor's")
	require.Equal(t, Ahead{Near: 8 << 10, Far: 8 << 10, Joined: true, Once: true}, aheadOf(cpuid.AMD, 26), "Zen 5")
	for _, a := range aheads {
		require.LessOrEqual(t, a.Near, a.Far)
		require.Positive(t, a.Near)
	}
}
