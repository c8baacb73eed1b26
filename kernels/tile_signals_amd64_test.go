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

// Signals of the profiler and of the collector arrive while sums are in tile registers, on threads that take turns on the processors. JNS_STRESS sets the duration.
func TestTileRegistersSurviveSignals(t *testing.T) {
	m, err := kernels.BindMatMul(tile.Q4_Kx16, cpu.AMXINT8)
	if err != nil {
		t.Skip(err)
	}
	require.Equal(t, cpu.AMXINT8, m.Set)
	long := 2 * time.Second
	if s := os.Getenv("JNS_STRESS"); s != "" {
		long, err = time.ParseDuration(s)
		require.NoError(t, err)
	}
	c := kerneltest.New(tile.Q4_Kx16, 80, 1024, 120, kerneltest.Plain, 1)
	want := c.Run(c.Scalar())

	var profile bytes.Buffer
	runtime.SetCPUProfileRate(1000)
	require.NoError(t, pprof.StartCPUProfile(&profile))
	defer pprof.StopCPUProfile()
	var stop atomic.Bool
	var wait, workers sync.WaitGroup
	wait.Go(func() {
		for !stop.Load() {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
	})
	var runs atomic.Int64
	var diff atomic.Value
	for range 2 * runtime.NumCPU() {
		workers.Go(func() {
			runtime.LockOSThread() // more threads than processors: the system switches between their tiles
			defer runtime.UnlockOSThread()
			for start := time.Now(); time.Since(start) < long && diff.Load() == nil; runs.Add(1) {
				if d := c.Diff(want, c.Run(m)); d != "" {
					diff.Store(d)
				}
			}
		})
	}
	workers.Wait()
	stop.Store(true)
	wait.Wait()
	require.Nil(t, diff.Load())
	t.Logf("%d runs, the same bits every time", runs.Load())
}
