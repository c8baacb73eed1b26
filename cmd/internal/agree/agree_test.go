package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestErrorsAreRelativeToTheDeviation(t *testing.T) {
	exact := []float32{-1, 1, -1, 1}
	require.InDelta(t, 1, deviation(exact), 1e-12)
	e, err := compare(exact, []float32{-1, 1, -1, 1.5}, deviation(exact))
	require.NoError(t, err)
	require.InDelta(t, 0.25, e.RMS, 1e-12)
	require.InDelta(t, 0.5, e.Max, 1e-12)
	double, err := compare([]float32{-2, 2, -2, 2}, []float32{-2, 2, -2, 3}, 2)
	require.NoError(t, err)
	require.Equal(t, e, double)
}

func TestLogitsThatAModelForbidsHideNoError(t *testing.T) {
	exact := []float32{-1, never, 1, never, -1, 1}
	require.InDelta(t, 1, deviation(exact), 1e-12)
	e, err := compare(exact, []float32{-1, never, 1, never, -1, 1.5}, deviation(exact))
	require.NoError(t, err)
	require.InDelta(t, 0.25, e.RMS, 1e-12)
	require.InDelta(t, 0.5, e.Max, 1e-12)
	for i := range exact {
		got := slices.Clone(exact)
		if got[i] = never; exact[i] == never {
			got[i] = -9
		}
		_, err := compare(exact, got, 1)
		require.ErrorContains(t, err, "the oracle's", "logit %d", i)
	}
}

func TestRunsThatGaveNoNumbersAreErrors(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		_, err := compare([]float32{1, 2}, []float32{1, bad}, 1)
		require.Error(t, err)
	}
	_, err := compare([]float32{1, 2}, []float32{1}, 1)
	require.Error(t, err)
	_, err = compare([]float32{1, 1}, []float32{1, 1}, 0)
	require.Error(t, err)
}

func TestTiesGoToTheLowestID(t *testing.T) {
	require.Equal(t, 1, best([]float32{1, 3, 3, 2}))
	require.Zero(t, margin([]float32{1, 3, 3, 2}))
	require.Equal(t, 1.0, margin([]float32{4, 1, 3}))
}

func TestTotalIsTheErrorOfTheStepsLaidSideBySide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 9).Draw(t, "width")
		var long []float32
		var steps []step
		for range rapid.IntRange(1, 5).Draw(t, "steps") {
			row := rapid.SliceOfN(rapid.Float32Range(-4, 4), width, width).Draw(t, "row")
			e, err := compare(make([]float32, width), row, 2)
			require.NoError(t, err)
			steps, long = append(steps, step{Ours: e}), append(long, row...)
		}
		all, err := compare(make([]float32, len(long)), long, 2)
		require.NoError(t, err)
		got := total(steps, ours)
		require.InDelta(t, all.RMS, got.RMS, 1e-9)
		require.InDelta(t, all.Max, got.Max, 1e-9)
	})
}

// steps of the given errors, all with a wide margin and the right choice.
func stepsOf(n int, o, th float64, full bool) []step {
	s := make([]step, n)
	for i := range s {
		s[i] = step{Ours: errs{o, o}, Theirs: errs{th, th}, Paired: true, Full: full, Margin: 1, Same: true, TheirsSame: true}
	}
	return s
}

func TestRuleOneLimitsFilePromptAndMean(t *testing.T) {
	file := func(p ...[]step) result {
		r := result{File: "f"}
		for _, s := range p {
			r.Prompts = append(r.Prompts, prompt{Name: "p", steps: s})
		}
		return r.judged(8, false)
	}
	require.Empty(t, file(stepsOf(16, 0.0109, 0.01, true)).Failures)
	require.Len(t, file(stepsOf(16, 0.0111, 0.01, true)).Failures, 1)
	// One prompt is far off, but the file as a whole is not.
	r := file(stepsOf(16, 0.016, 0.01, false), stepsOf(160, 0.009, 0.01, false))
	require.Len(t, r.Failures, 1)
	require.Contains(t, r.Failures[0], "1.600")
	// Too few top logits to say anything about a prompt; all logits of as few steps do.
	require.Empty(t, file(stepsOf(3, 0.016, 0.01, false), stepsOf(160, 0.009, 0.01, false)).Failures)
	require.Len(t, file(stepsOf(3, 0.016, 0.01, true), stepsOf(160, 0.009, 0.01, false)).Failures, 1)
	// Errors at the level of the oracle's own rounding are equal.
	require.Empty(t, file(stepsOf(16, 1e-6, 1e-8, true)).Failures)

	mean := func(ratios ...float64) report {
		var rep report
		for _, x := range ratios {
			rep.Files = append(rep.Files, file(stepsOf(16, 0.01*x, 0.01, true)))
		}
		rep.Files = append(rep.Files, result{Refused: "architecture"})
		return rep.judged(false)
	}
	require.Empty(t, mean(1.09, 0.9).Failures)
	require.Len(t, mean(1.09, 0.95).Failures, 1)
	require.Equal(t, 2, mean(1, 1).Judged)
	require.Len(t, report{Files: []result{{Refused: "x"}}}.judged(false).Failures, 1)
}

func TestTypicalRatioDoesNotSeeOneWildStep(t *testing.T) {
	s := stepsOf(5, 0.01, 0.02, true)
	s[3].Ours.RMS = 9
	require.InDelta(t, 0.5, typical(s), 1e-12)
	require.Zero(t, typical(nil))
}

func TestRuleTwoEndsAtTheFirstMarginBelowTheError(t *testing.T) {
	at := func(margin float64, same bool) step { return step{Margin: margin, Same: same} }
	g := judgeGreedy([]step{at(0.5, true), at(0.1, false), at(0.5, false)}, 0.2)
	require.Empty(t, g.Wrong)
	require.Equal(t, greedy{Checked: 1, Same: 1, Steps: 3, Widest: 0.5}, g)
	g = judgeGreedy([]step{at(0.5, true), at(0.2, false), at(0.5, true)}, 0.2)
	require.Len(t, g.Wrong, 1)
	require.Equal(t, 2, g.Same)
}

func TestRuleThreeLooksAtTheLargestError(t *testing.T) {
	r := result{Prompts: []prompt{{steps: []step{{Ours: errs{0.001, 0.0049}, Margin: 1, Same: true}}}}}
	require.Empty(t, r.judged(8, true).Failures)
	r.Prompts[0].steps[0].Ours.Max = 0.0051
	require.Len(t, r.judged(8, true).Failures, 1)
}

func TestOnlyStepsWithEqualHistoryAreCompared(t *testing.T) {
	top := [][2]float64{{0, 4}, {1, 2}, {2, 1}}
	a := run{PromptIDs: []int{1}, Generated: []int{0, 0, 0}, Steps: [][][2]float64{top, top, top}}
	b := a
	b.Generated = []int{0, 1, 0} // step 1 still has the same history, step 2 has not
	require.Equal(t, 3, sameHistory(a, a))
	require.Equal(t, 2, sameHistory(a, b))
	row := []float32{4, 2, 1.5, -7}
	full := []float32{4, 2, 1, -7}
	steps, err := storedSteps(a, b, [][]float32{full}, [][]float32{full}, [][]float32{row, row, row})
	require.NoError(t, err)
	require.Equal(t, []bool{true, true, false}, []bool{steps[0].Paired, steps[1].Paired, steps[2].Paired})
	require.Equal(t, []bool{true, false, false}, []bool{steps[0].Full, steps[1].Full, steps[2].Full})
	require.Zero(t, steps[0].Theirs.Max)
	require.InDelta(t, 0.5/deviation(full), steps[0].Ours.Max, 1e-9)
	require.InDelta(t, 0.5/deviation(row), steps[1].Ours.Max, 1e-9)
	require.Positive(t, steps[2].Ours.Max)
	_, err = storedSteps(a, b, nil, nil, [][]float32{row})
	require.Error(t, err)
}

func TestTopLogitsCountOnlyWhereAllThreeHaveThem(t *testing.T) {
	exact := [][2]float64{{0, 4}, {1, 3}, {2, 2}}
	peer := [][2]float64{{0, 5}, {1, 3}, {3, 2.5}} // id 2 is not among its top
	var s step
	require.NoError(t, s.top(exact, peer, []float32{4, 3.5, 0, 2, 1, -9}))
	scale := deviation([]float32{4, 3.5, 0, 2, 1, -9})
	require.True(t, s.Paired)
	require.InDelta(t, 1/scale, s.Theirs.Max, 1e-9)
	require.InDelta(t, 0.5/scale, s.Ours.Max, 1e-9, "id 2, where we are far off, is not comparable")
	var few step
	require.NoError(t, few.top(exact, [][2]float64{{0, 5}, {7, 3}}, []float32{4, 3.5, 0, 2, 1, -9}))
	require.False(t, few.Paired)
}

func TestReferencesAreReadWithTheirLogits(t *testing.T) {
	dir := t.TempDir()
	text := `{"runs":[{"name":"a","prompt":"","prompt_ids":[1,2],"generated_ids":[0,1],"steps":[[[0,2.5],[1,1]],[[1,2],[0,1]]]}]}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m.exact.json"), []byte(text), 0o600))
	var b bytes.Buffer
	require.NoError(t, binary.Write(&b, binary.LittleEndian, []float32{2.5, 1, 1, 2}))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m.exact.logits2.f32"), b.Bytes(), 0o600))
	ref, err := readReference(dir, "m", "exact")
	require.NoError(t, err)
	require.Equal(t, [][]float32{{2.5, 1}, {1, 2}}, ref.full)
	require.NoError(t, os.Rename(filepath.Join(dir, "m.exact.logits2.f32"), filepath.Join(dir, "m.exact.logits3.f32")))
	_, err = readReference(dir, "m", "exact")
	require.Error(t, err)
	_, err = readReference(dir, "m", "llamacpp")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m.exact.json"), []byte(`{"runs":[{"prompt_ids":[1],"generated_ids":[1],"steps":[]}]}`), 0o600))
	_, err = readReference(dir, "m", "exact")
	require.Error(t, err)
}

func TestFlags(t *testing.T) {
	_, err := parse([]string{"-prompt", "x"})
	require.ErrorContains(t, err, "-peer")
	_, err = parse([]string{"-ids", "1,x"})
	require.Error(t, err)
	o, err := parse([]string{"-peer", "p", "-ids", "1, 2", "-prompt", "a", "-prompt", "b", "f.gguf"})
	require.NoError(t, err)
	require.Equal(t, [][]int{{1, 2}}, o.ids)
	require.Equal(t, []string{"a", "b"}, o.prompts)
	require.Equal(t, []string{"f.gguf"}, o.files)
}
