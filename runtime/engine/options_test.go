package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
)

func TestArenaFitsTheMemoryOrIsRefused(t *testing.T) {
	p := &format.Program{PerRow: 1 << 20, Fixed: 1 << 10, PerWorker: 1 << 10}
	o := Options{Batch: 512, Threads: 2}
	b, err := fitBatch(p, o, false, 8<<30)
	require.NoError(t, err)
	require.Equal(t, 512, b)
	b, err = fitBatch(p, o, false, 1<<30)
	require.NoError(t, err)
	require.Equal(t, 128, b)
	_, err = fitBatch(p, o, true, 1<<30)
	require.ErrorIs(t, err, ErrOption)
	b, err = fitBatch(p, o, false, 1<<20)
	require.NoError(t, err, "the plan of the memory refuses it, and says what suffices")
	require.Equal(t, 1, b)
	p.Ropes = []format.Rope{{Freqs: make([]float64, 1<<17)}} // as much again
	b, err = fitBatch(p, o, false, 1<<30)
	require.NoError(t, err)
	require.Equal(t, 64, b)
}
