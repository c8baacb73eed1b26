package kernels

import (
	"testing"

	"github.com/stretchr/testify/require"

	"jns/kernels/cpu"
)

func TestAutoIsWhatTheFastestCoresPrefer(t *testing.T) {
	t.Setenv(cpu.Env, "")
	have := Available()
	best, err := AutoFor(nil)
	require.NoError(t, err)
	require.Equal(t, have[0], best, "nothing is known of the cores")
	least := have[len(have)-1]
	set, err := AutoFor(map[int]Core{0: {Name: "a", Class: cpu.Little, Prefer: have[0]}, 1: {Name: "b", Class: cpu.Big, Prefer: least}})
	require.NoError(t, err)
	require.Equal(t, least, set)
	t.Setenv(cpu.Env, "sse9")
	_, err = AutoFor(nil)
	require.ErrorIs(t, err, cpu.ErrSet)
}
