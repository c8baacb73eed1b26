package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const info = "CPU : SSE3 = 1 | AVX = 1 | AVX2 = 1 | F16C = 0 | FMA = 1 | AVX512 = 1 | REPACK = 1 | "

func TestAPeerWithoutAFeatureOfTheProcessorIsFound(t *testing.T) {
	name, flags := processor("processor\t: 0\nmodel name\t: A CPU\nflags\t\t: pni avx2 avx512f\n\nprocessor\t: 1\nmodel name\t: other\nflags\t\t: f16c\n")
	require.Equal(t, "A CPU", name)
	require.Equal(t, map[string]bool{"pni": true, "avx2": true, "avx512f": true}, flags)
	require.Empty(t, missing(info, flags))
	require.Equal(t, []string{"F16C", "AVX512_VNNI"}, missing(info, map[string]bool{"avx2": true, "f16c": true, "avx512_vnni": true}))
	require.Equal(t, []string{"AVX2"}, missing("", flags)[1:2])
	require.Empty(t, missing("", nil))
}

func TestQuartilesInterpolateBetweenSortedValues(t *testing.T) {
	require.Equal(t, quartiles{2, 3, 4}, summarise([]float64{5, 3, 1, 4, 2}))
	require.Equal(t, quartiles{1.75, 2.5, 3.25}, summarise([]float64{4, 3, 2, 1}))
	require.Equal(t, quartiles{7, 7, 7}, summarise([]float64{7}))
	require.True(t, math.IsNaN(summarise(nil).Median))
}

func TestRatiosAreTakenWithinPairs(t *testing.T) {
	// Both sides slow down together in the second pair: the ratio does not see it.
	r := row{Peer: []float64{100, 50, 100}, Ours: []float64{200, 100, 210}, Goal: 2, AtLeast: true}.finish()
	require.Equal(t, 2.0, r.Ratio.Median)
	require.True(t, r.Met)
	require.False(t, row{Peer: []float64{1}, Ours: []float64{0.31}, Goal: goalFirst}.finish().Met)
	require.False(t, report{Rows: []row{r, {}}}.met())
}

func TestAnAnswerWithoutTheMeasurementIsAnError(t *testing.T) {
	var o map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(`{"pp512":{"tps_median":12.5},"tg128":{"tps_median":0},"machine":{}}`), &o))
	v, err := oursValue(o, "pp512")
	require.NoError(t, err)
	require.Equal(t, 12.5, v)
	for _, name := range []string{"tg128", "pp64", "machine"} {
		_, err := oursValue(o, name)
		require.Error(t, err, name)
	}
}

func TestFlagsNameTheRunsAndModelsAreFoundSmallestFirst(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.gguf"), make([]byte, 9), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.gguf"), make([]byte, 3), 0o600))
	o, err := parse([]string{"-models", dir, "-threads", "1, 4", "-quick"})
	require.NoError(t, err)
	require.Equal(t, []int{1, 4}, o.threads)
	require.Equal(t, 3, o.pairs)
	require.Equal(t, []string{filepath.Join(dir, "b.gguf"), filepath.Join(dir, "a.gguf")}, o.models)
	for _, bad := range [][]string{{"-threads", "0"}, {"-threads", "x"}, {"-pairs", "0"}, {"-models", filepath.Join(dir, "none")}} {
		_, err := parse(bad)
		require.Error(t, err, bad)
	}
}
