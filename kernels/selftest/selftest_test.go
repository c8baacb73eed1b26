package selftest

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/kernels"
	"jns/kernels/cpu"
	"jns/kernels/tile"
)

func TestThisMachineHasTheBitsOfScalar(t *testing.T) {
	sets, err := Sets("auto")
	require.NoError(t, err)
	seen := map[string]int{}
	require.NoError(t, Run(context.Background(), sets, func(r Result) error {
		require.Empty(t, r.Difference, r.Kernel)
		require.Positive(t, r.Cases)
		seen[r.Set]++
		return nil
	}))
	for _, set := range sets {
		require.Positive(t, seen[set], set)
	}
}

// A kernel that gets one number wrong, and only for three rows, is found and named.
func TestABrokenKernelIsNamed(t *testing.T) {
	l := tile.Q4_Kx16
	good, err := kernels.BindMatMul(l, cpu.Scalar)
	require.NoError(t, err)
	bad := *good
	bad.Set, bad.Name, bad.Variants = "broken", "gemv_of_one", []kernels.Variant{{From: 1, Name: "gemv_of_one"}, {From: 3, Name: "gemv_of_three"}}
	bad.Func = func(a *kernels.MatMulArgs) {
		good.Func(a)
		if a.N == 3 {
			y := (*float32)(a.Y)
			*y = math.Float32frombits(math.Float32bits(*y) ^ 1)
		}
	}
	var all []Result
	require.NoError(t, products(context.Background(), l, []*kernels.MatMul{good, &bad}, func(r Result) error { all = append(all, r); return nil }))
	require.Len(t, all, 2)
	require.Empty(t, all[0].Difference)
	require.Equal(t, "gemv_of_three", all[1].Kernel)
	require.Contains(t, all[1].Difference, "n=3: output [0][0]")
}

func TestABrokenVectorFunctionIsNamed(t *testing.T) {
	v := *kernels.VecFor(cpu.Scalar)
	v.Set = "broken"
	norm := v.RMSNorm
	v.RMSNorm = func(dst, x, w []float32, eps float32) {
		norm(dst, x, w, eps)
		if len(dst) == 17 {
			dst[16] = 1
		}
	}
	var found []Result
	require.NoError(t, vectors(context.Background(), &v, func(r Result) error {
		if r.Difference != "" {
			found = append(found, r)
		}
		return nil
	}))
	require.Len(t, found, 1)
	require.Equal(t, "rms_norm", found[0].Kernel)
	require.Contains(t, found[0].Difference, "n=17")
}

func TestAnInterruptionEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, Run(ctx, []string{cpu.Scalar}, func(Result) error { return nil }), context.Canceled)
}
