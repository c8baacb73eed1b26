package cpu

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScalarIsAlwaysLast(t *testing.T) {
	have := Available()
	require.Equal(t, Scalar, have[len(have)-1])
}

func TestRestrictKeepsNamedSetsInOrderAndScalar(t *testing.T) {
	have := []string{AVX512VNNI, AVXVNNI, AVX2, Scalar}
	for list, want := range map[string][]string{
		"":                  have,
		"avx2":              {AVX2, Scalar},
		" avx2, avx512vnni": {AVX512VNNI, AVX2, Scalar},
		"scalar":            {Scalar},
	} {
		got, err := Restrict(have, list)
		require.NoError(t, err, list)
		require.Equal(t, want, got, list)
	}
	require.Len(t, have, 4)
}

func TestRestrictRefusesWhatTheMachineLacks(t *testing.T) {
	_, err := Restrict([]string{Scalar}, "avx2")
	require.ErrorIs(t, err, ErrSet)
	_, err = Restrict([]string{AVX2, Scalar}, "avx2,sse9")
	require.ErrorIs(t, err, ErrSet)
}

// JNS_REQUIRE_SETS turns a set that is missing where it must be present into a failure.
func TestRequiredSetsArePresent(t *testing.T) {
	list := os.Getenv("JNS_REQUIRE_SETS")
	if list == "" {
		t.Skip("JNS_REQUIRE_SETS is not set")
	}
	for name := range strings.SplitSeq(list, ",") {
		require.Contains(t, append(Asked(), Available()...), strings.TrimSpace(name))
	}
}
