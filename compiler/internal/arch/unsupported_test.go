package arch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler/internal/gguf"
)

func TestRefusalsNameTheArchitectureAndWhatItNeeds(t *testing.T) {
	for name, what := range missing {
		_, known := find(name)
		require.False(t, known, "%s is known", name)
		err := notKnown(name)
		require.ErrorIs(t, err, gguf.ErrUnsupported)
		require.ErrorContains(t, err, `"`+name+`"`)
		require.ErrorContains(t, err, what)
	}
	err := notKnown("made-up")
	require.ErrorIs(t, err, gguf.ErrUnsupported)
	require.ErrorContains(t, err, `"made-up"`)
	require.ErrorContains(t, err, "known are: afmoe,")
}
