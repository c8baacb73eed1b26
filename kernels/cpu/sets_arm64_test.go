//go:build !purego

package cpu

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The kernels in streaming mode are written for vectors of 512 bits; a machine with others, longer or shorter, keeps to NEON.
func TestStreamingKernelsNeedVectorsOf512Bits(t *testing.T) {
	f := Arm()
	t.Logf("%s: %s", f, strings.Join(Available(), " "))
	want := f.SME2 && f.SVL == 64 && f.I8MM && f.DotProd && runtime.GOOS == "linux"
	require.Equal(t, want, slices.Contains(Available(), SME2))
	require.Equal(t, runtime.GOOS == "darwin" && f.SME2 && f.SVL == 64, slices.Contains(Asked(), SME2))
}

// JNS_EXPECT_SETS lists all sets that the machine must have: none missing, and none too many.
func TestSetsAreThoseExpected(t *testing.T) {
	expect, ok := os.LookupEnv("JNS_EXPECT_SETS")
	if !ok {
		t.Skip("JNS_EXPECT_SETS is not set")
	}
	require.Equal(t, expect, strings.Join(Available(), ","))
}
