package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/cmd/internal/peer/child"
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

func TestTypesAreOfOneModelAndWhatThePeerRefusesIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	model, peer := filepath.Join(dir, "m-Q4_1.gguf"), filepath.Join(dir, "peer")
	require.NoError(t, os.WriteFile(model, []byte("x"), 0o600))
	// A peer that refuses file type 7 and leaves half a file behind, and counts its runs.
	require.NoError(t, os.WriteFile(peer, []byte("#!/bin/sh\necho $5 >>"+dir+"/runs\ncp $2 $3\nif [ $5 = 7 ]; then echo no >&2; exit 1; fi\n"), 0o700))
	o, err := parse([]string{"-types", "q8_0, IQ4_XS,F16", model})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "types"), o.typesDir)
	for range 2 { // the second time only what is missing is tried
		var refused []string
		paths, err := makeTypes(t.Context(), peer, model, o.typesDir, o.types, func(name, _ string) { refused = append(refused, name) })
		require.NoError(t, err)
		require.Equal(t, []string{filepath.Join(o.typesDir, "m-IQ4_XS.gguf"), filepath.Join(o.typesDir, "m-F16.gguf")}, paths)
		require.Equal(t, []string{"Q8_0"}, refused)
		left, err := filepath.Glob(filepath.Join(o.typesDir, "*.part"))
		require.NoError(t, err)
		require.Empty(t, left)
	}
	runs, err := os.ReadFile(filepath.Join(dir, "runs"))
	require.NoError(t, err)
	require.Equal(t, "7\n30\n1\n7\n", string(runs))
	_, err = makeTypes(t.Context(), peer, model, o.typesDir, o.types[:1], func(string, string) {})
	require.Error(t, err)
	for _, bad := range [][]string{{"-types", "Q9_9", model}, {"-types", "all", model, model}, {"-types", "all", "-models", filepath.Join(dir, "none")}} {
		_, err := parse(bad)
		require.Error(t, err, bad)
	}
	all, err := chooseTypes("all")
	require.NoError(t, err)
	require.Len(t, all, len(fileTypes))
}

func TestFlagsNameTheRunsAndModelsAreFoundSmallestFirst(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.gguf"), make([]byte, 9), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.gguf"), make([]byte, 3), 0o600))
	o, err := parse([]string{"-models", dir, "-threads", "1, 4", "-quick"})
	require.NoError(t, err)
	require.Equal(t, []int{1, 4}, o.threads)
	require.Equal(t, 3, o.pairs)
	require.Equal(t, 128, o.prompt)
	require.Equal(t, []string{filepath.Join(dir, "b.gguf"), filepath.Join(dir, "a.gguf")}, o.models)
	o, err = parse([]string{"-models", dir, "-quick", "-p", "512"})
	require.NoError(t, err)
	require.Equal(t, []int{3, 512, 32}, []int{o.pairs, o.prompt, o.n})
	for _, bad := range [][]string{{"-threads", "0"}, {"-threads", "x"}, {"-pairs", "0"}, {"-models", filepath.Join(dir, "none")}} {
		_, err := parse(bad)
		require.Error(t, err, bad)
	}
}

func TestTheLeadOverAThirdProgramIsLiveOrStored(t *testing.T) {
	r := row{Model: "m", What: "pp512", Threads: 1, Peer: []float64{100, 50, 100}, Ours: []float64{400, 200, 400}, Third: []float64{200, 100, 200}, Goal: 3, AtLeast: true}.finish()
	require.Equal(t, &lead{From: "live", Third: 2, Lead: 2, Goal: goalLead, Met: true}, r.Lead)
	require.True(t, report{Rows: []row{r}}.met())
	r = row{Model: "gemma-3-270m-Q4_K_M", What: "tg128", Threads: 2, Peer: []float64{1}, Ours: []float64{2}, Goal: 1.8, AtLeast: true}.finish()
	require.True(t, r.Met)
	require.Equal(t, "stored", r.Lead.From)
	require.InDelta(t, 2/1.6, r.Lead.Lead, 1e-9)
	require.False(t, report{Rows: []row{r}}.met(), "a lead below its goal is a goal that is not met")
	require.Nil(t, row{Model: "gemma-3-270m-Q4_K_M", What: "first", Threads: 1, Peer: []float64{1}, Ours: []float64{0}}.finish().Lead)
	require.Nil(t, row{Model: "gemma-3-270m-Q4_K_M", What: "pp512", Threads: 4, Peer: []float64{1}, Ours: []float64{0}}.finish().Lead)
}

func TestACrashOfThePeerIsNoMeasurement(t *testing.T) {
	dir := t.TempDir()
	peer := filepath.Join(dir, "peer")
	// It is ended by a signal at its first run.
	require.NoError(t, os.WriteFile(peer, []byte("#!/bin/sh\nif [ ! -e "+dir+"/ran ]; then touch "+dir+"/ran; kill -ILL $$; fi\nif [ \"$1\" = bad ]; then exit 3; fi\necho ok\n"), 0o700))
	var r runner
	res, err := r.again(t.Context(), func() (child.Result, error) { return child.Run(t.Context(), peer, "first") })
	require.NoError(t, err)
	require.Equal(t, "ok\n", string(res.Stdout))
	_, err = r.again(t.Context(), func() (child.Result, error) { return child.Run(t.Context(), peer, "bad") })
	require.Error(t, err)
}
