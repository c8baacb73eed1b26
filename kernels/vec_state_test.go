package kernels

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"jns/kernels/cpu"
)

// Steps of recurrent layers of every set against those of package scalar: states, results, and any numbers at all.
func TestRecurrentStepsOverAnyNumbersHaveTheBitsOfScalar(t *testing.T) {
	ref := VecFor(cpu.Scalar)
	eachVec(t, func(t *testing.T, v *Vec) {
		rapid.Check(t, func(t *rapid.T) {
			rows, n := rapid.IntRange(1, 20).Draw(t, "rows"), rapid.IntRange(1, 300).Draw(t, "n")
			if rapid.Bool().Draw(t, "whole vectors") {
				n = (n + 15) &^ 15
			}
			kind := rapid.IntRange(0, 2).Draw(t, "kind")
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			f := func(n int) []float32 { return fill(r, kind, n) }
			s, x, x2 := f(rows*n), f(n), f(n)
			a, b, c, d, e := f(rows), f(rows), f(rows), f(rows), f(rows)
			wide, one := f(rows*n), f(1)[0]
			same := func(name string, run func(v *Vec, s, scratch, y []float32)) {
				want, got := slices.Clone(s), slices.Clone(s)
				y, check := guarded(n)
				yWant := make([]float32, n)
				run(ref, want, make([]float32, n), yWant)
				run(v, got, make([]float32, n), y)
				requireBits(t, want, got, "%s: state", name)
				requireBits(t, yWant, y, "%s", name)
				check(t)
			}
			same("ScanStep", func(v *Vec, s, _, y []float32) { v.ScanStep(s, x, a, b, one, y) })
			same("ScanChannels", func(v *Vec, s, _, y []float32) { v.ScanChannels(s, wide, n, x2, x, a, b, y) })
			same("DeltaStep", func(v *Vec, s, d, y []float32) { v.DeltaStep(s, a, b, x, c, one, d, y) })
			same("DeltaStep of one decay", func(v *Vec, s, d, y []float32) { v.DeltaStep(s, a, b, x, c[:1], one, d, y) })
			same("WKVStep", func(v *Vec, s, scratch, y []float32) { v.WKVStep(s, a, b, c, x, d, e, scratch, y) })
			same("MulAdd", func(v *Vec, s, _, y []float32) {
				copy(y, x)
				v.MulAdd(y, x2, s[:n])
			})
			same("Exp", func(v *Vec, _, _, y []float32) { v.Exp(y, x) })
			require.Equal(t, ref.Dot(a, b) != ref.Dot(a, b), v.Dot(a, b) != v.Dot(a, b))
		})
	})
}
