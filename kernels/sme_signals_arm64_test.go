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
	c := kerneltest.New(tile.Q4_Kx16, 64, 1024, 40, kerneltest.Plain, 1)
	want := c.Run(c.Scalar())

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
	for start := time.Now(); time.Since(start) < long; {
		require.Empty(t, c.Diff(want, c.Run(m)))
	}
	stop.Store(true)
	wait.Wait()
}
