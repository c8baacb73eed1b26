//go:build linux && !purego

package kernels_test

import (
	"bytes"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"jns/kernels"
	"jns/kernels/cpu"
	"jns/kernels/kerneltest"
	"jns/kernels/tile"
)

// Signals of the profiler and of the collector arrive while a kernel is in streaming mode, with sums and outputs in ZA. JNS_STRESS sets the duration.
func TestStreamingKernelsSurviveSignals(t *testing.T) {
	m, err := kernels.BindMatMul(tile.Q4_Kx16, cpu.SME2)
	if err != nil {
		t.Skip(err)
	}
	long := 2 * time.Second
	if s := os.Getenv("JNS_STRESS"); s != "" {
		long, err = time.ParseDuration(s)
		require.NoError(t, err)
	}
	var cases []*kerneltest.Case
	var want [][]float32
	for _, n := range []int{1, 3, 40} { // products of few rows, and panels
		c := kerneltest.New(tile.Q4_Kx16, 80, 1024, n, kerneltest.Plain, 1)
		cases, want = append(cases, c), append(want, c.Run(c.Scalar()))
	}

	var profile bytes.Buffer
	runtime.SetCPUProfileRate(1000)
	require.NoError(t, pprof.StartCPUProfile(&profile))
	defer pprof.StopCPUProfile()
	var stop atomic.Bool
	var wait sync.WaitGroup
	wait.Go(func() {
		for !stop.Load() {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
	})
	runs := 0
	for start := time.Now(); time.Since(start) < long; runs++ {
		for i, c := range cases {
			require.Empty(t, c.Diff(want[i], c.Run(m)))
		}
	}
	stop.Store(true)
	wait.Wait()
	t.Logf("%d runs, the same bits every time", runs)
}
