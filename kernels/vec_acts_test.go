package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"jns/kernels/cpu"
)

// The activations past those that the amd64 sets have functions for, and the others that need no table of cases.
func TestEveryActivationHasTheBitsOfScalar(t *testing.T) {
	ref := VecFor(cpu.Scalar)
	eachVec(t, func(t *testing.T, v *Vec) {
		r := rand.New(rand.NewPCG(1, 1))
		for n := 0; n <= 100; n += 1 + n/9 {
			for kind := range 3 {
				a, b := fill(r, kind, n), fill(r, kind, n)
				for act := ActSiLU; act <= ActTanh; act++ {
					want, got := make([]float32, n), make([]float32, n)
					ref.ActMul(want, a, b, act)
					v.ActMul(got, a, b, act)
					requireBits(t, want, got, "act %d gated, n=%d kind=%d", act, n, kind)
					if act == ActSwigluOAI {
						continue // needs up
					}
					ref.ActMul(want, a, nil, act)
					v.ActMul(got, a, nil, act)
					requireBits(t, want, got, "act %d, n=%d kind=%d", act, n, kind)
				}
				want, got := fill(r, kind, n), make([]float32, n)
				copy(got, want)
				ref.MulAdd(want, a, b)
				v.MulAdd(got, a, b)
				requireBits(t, want, got, "MulAdd, n=%d kind=%d", n, kind)
			}
		}
	})
}

func TestRecurrentStepsHaveTheBitsOfScalar(t *testing.T) {
	ref := VecFor(cpu.Scalar)
	eachVec(t, func(t *testing.T, v *Vec) {
		r := rand.New(rand.NewPCG(2, 1))
		for _, n := range []int{1, 4, 7, 16, 19, 32, 64, 80} {
			for _, k := range []int{1, 2, 5, 16} {
				what := fmt.Sprintf("n=%d k=%d", n, k)
				s, x, b, c := fill(r, 0, n*k), fill(r, 0, n), fill(r, 0, k), fill(r, 0, k)
				s2 := append([]float32(nil), s...)
				y, y2 := make([]float32, n), make([]float32, n)
				ref.ScanStep(s, x, b, c, 0.75, y)
				v.ScanStep(s2, x, b, c, 0.75, y2)
				requireBits(t, s, s2, "ScanStep state %s", what)
				requireBits(t, y, y2, "ScanStep %s", what)

				decay, d, d2 := fill(r, 0, k), make([]float32, n), make([]float32, n)
				for _, g := range [][]float32{decay, decay[:1]} {
					ref.DeltaStep(s, b, c, x, g, 0.5, d, y)
					v.DeltaStep(s2, b, c, x, g, 0.5, d2, y2)
					requireBits(t, s, s2, "DeltaStep state %s", what)
					requireBits(t, y, y2, "DeltaStep %s", what)
				}
				aa := fill(r, 0, n*k)
				ref.ScanChannels(s, aa, n, x, d, b, c, y)
				v.ScanChannels(s2, aa, n, x, d, b, c, y2)
				requireBits(t, s, s2, "ScanChannels state %s", what)
				requireBits(t, y, y2, "ScanChannels %s", what)
			}
		}
	})
}
