package kernels

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"jns/kernels/cpu"
)

// Runs of every set against single steps of package scalar, over any numbers at all: every position's result, the state behind the last, nothing beside them.
func TestRunsOfRecurrentLayersHaveTheBitsOfStepsOfScalar(t *testing.T) {
	ref := VecFor(cpu.Scalar)
	eachVec(t, func(t *testing.T, v *Vec) {
		rapid.Check(t, func(t *rapid.T) {
			rows, cols := rapid.IntRange(1, 20).Draw(t, "rows"), rapid.IntRange(1, 200).Draw(t, "cols")
			if rapid.Bool().Draw(t, "whole tiles") {
				rows, cols = (rows+3)&^3, (cols+15)&^15
			}
			n := rapid.IntRange(1, RunMax).Draw(t, "n")
			kind := rapid.IntRange(0, 2).Draw(t, "kind")
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			gap := rapid.IntRange(0, 40).Draw(t, "gap")
			at := func(x []float32) unsafe.Pointer { return unsafe.Pointer(&x[0]) }
			same := func(name string, height int, a StateRun, run func(v *Vec, a *StateRun)) {
				s := fill(r, kind, height*cols)
				x := fill(r, kind, n*(cols+gap))
				want, yWant := slices.Clone(s), make([]float32, n*(cols+gap))
				y, check := guarded(n * (cols + gap))
				copy(yWant, y)
				a.N, a.Rows, a.Cols, a.X, a.XStride, a.YStride, a.SStride = n, height, cols, at(x), uintptr(4*(cols+gap)), uintptr(4*(cols+gap)), uintptr(4*cols)
				scratch := make([]float32, height*RunLanes)
				a.T = at(scratch)
				b := a
				a.S, a.Y = at(want), at(yWant)
				run(ref, &a)
				b.S, b.Y = at(s), at(y)
				run(v, &b)
				requireBits(t, want, s, "%s: state", name)
				requireBits(t, yWant, y, "%s", name) // the gaps with their poison too
				check(t)
			}
			k, q := fill(r, kind, n*(rows+gap)), fill(r, kind, n*(rows+gap))
			g, beta := fill(r, kind, n*rows), fill(r, kind, n)
			a := StateRun{K: at(k), Q: at(q), KStride: uintptr(4 * (rows + gap)), QStride: uintptr(4 * (rows + gap)), G: at(g), GStride: 4, Beta: at(beta)}
			same("scan", rows, a, func(v *Vec, a *StateRun) { v.ScanRun(a) })
			same("delta of one decay", rows, a, func(v *Vec, a *StateRun) { v.DeltaRun(a) })
			a.GStride, a.GStep = uintptr(4*rows), 4
			same("delta", rows, a, func(v *Vec, a *StateRun) { v.DeltaRun(a) })

			taps := rapid.IntRange(2, 5).Draw(t, "taps")
			w, bias := fill(r, kind, taps*cols), fill(r, kind, cols)
			same("conv", taps-1, StateRun{K: at(w), Q: at(bias)}, func(v *Vec, a *StateRun) { v.ConvRun(a) })
			same("conv without bias", taps-1, StateRun{K: at(w)}, func(v *Vec, a *StateRun) { v.ConvRun(a) })
		})
	})
}

// The definition: a run is one step after the other.
func TestARunIsOneStepAfterTheOther(t *testing.T) {
	v := VecFor(cpu.Scalar)
	r := rand.New(rand.NewPCG(2, 2))
	const rows, cols, n = 3, 5, 4
	s, x, k, q := fill(r, 0, rows*cols), fill(r, 0, n*cols), fill(r, 0, n*rows), fill(r, 0, n*rows)
	g, beta, d := fill(r, 0, n), fill(r, 0, n), make([]float32, rows*RunLanes)
	at := func(x []float32) unsafe.Pointer { return unsafe.Pointer(&x[0]) }
	y, yWant := make([]float32, n*cols), make([]float32, n*cols)
	a := StateRun{N: n, Rows: rows, Cols: cols, SStride: 4 * cols, X: at(x), XStride: 4 * cols, Y: at(y), YStride: 4 * cols, K: at(k), KStride: 4 * rows, Q: at(q), QStride: 4 * rows,
		G: at(g), GStride: 4, Beta: at(beta), T: at(d)}
	for name, c := range map[string]struct {
		run  func(*StateRun)
		step func(s []float32, i int, y []float32)
	}{
		"scan": {v.ScanRun, func(s []float32, i int, y []float32) {
			v.ScanStep(s, x[i*cols:][:cols], k[i*rows:][:rows], q[i*rows:][:rows], g[i], y)
		}},
		"delta": {v.DeltaRun, func(s []float32, i int, y []float32) {
			v.DeltaStep(s, q[i*rows:][:rows], k[i*rows:][:rows], x[i*cols:][:cols], g[i:i+1], beta[i], make([]float32, cols), y)
		}},
	} {
		got, want := slices.Clone(s), slices.Clone(s)
		a.S = at(got)
		c.run(&a)
		for i := range n {
			c.step(want, i, yWant[i*cols:][:cols])
		}
		requireBits(t, want, got, "%s: state", name)
		requireBits(t, yWant, y, "%s", name)
	}
}

func BenchmarkRecurrentRuns(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const rows, n = 128, RunMax
	at := func(x []float32) unsafe.Pointer { return unsafe.Pointer(&x[0]) }
	for _, set := range cpu.Available() {
		v := VecFor(set)
		if set == cpu.AVXVNNI || set == cpu.Scalar {
			continue
		}
		for _, c := range []struct {
			name string
			cols int
			run  func(*StateRun)
		}{{"scan", 64, v.ScanRun}, {"scan by steps", 64, v.scanSteps}, {"delta", 128, v.DeltaRun}, {"delta by steps", 128, v.deltaSteps}} {
			b.Run(c.name+"/"+set, func(b *testing.B) {
				s, x, y := alignedFloats(rows*c.cols), alignedFloats(n*c.cols), alignedFloats(n*c.cols + 512)[512:]
				k, q, g, beta := fill(r, 0, n*rows), fill(r, 0, n*rows), make([]float32, n), make([]float32, n)
				for i := range g {
					g[i], beta[i] = 0.5, 0.01
				}
				a := StateRun{S: at(s), SStride: uintptr(4 * c.cols), Rows: rows, Cols: c.cols, N: n, X: at(x), XStride: uintptr(4 * c.cols), Y: at(y), YStride: uintptr(4 * c.cols),
					K: at(k), KStride: 4 * rows, Q: at(q), QStride: 4 * rows, G: at(g), GStride: 4, Beta: at(beta), T: at(alignedFloats(rows * RunLanes))}
				for b.Loop() {
					c.run(&a)
				}
			})
		}
	}
}

// alignedFloats begins at a border of 64 bytes.
func alignedFloats(n int) []float32 {
	x := make([]float32, n+16)
	skip := int(-uintptr(unsafe.Pointer(&x[0]))&63) / 4
	return x[skip:][:n]
}
