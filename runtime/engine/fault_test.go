package engine

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"jns/runtime/internal/store"
)

// descriptors is the number of open files, 0 where the system does not tell.
func descriptors() int {
	l, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(l)
}

// nothingLeft fails unless, when the test ends, there are no more goroutines and open files than now.
func nothingLeft(t *testing.T) {
	t.Helper()
	goroutines, files := runtime.NumGoroutine(), descriptors()
	t.Cleanup(func() {
		for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
		require.LessOrEqual(t, runtime.NumGoroutine(), goroutines, "goroutines")
		require.LessOrEqual(t, descriptors(), files, "open files")
	})
}

func TestReadsThatComeOddlyGiveTheSameBits(t *testing.T) {
	for i, m := range streamModels[:2] { // a mixture, and a dense model whose matrices take turns
		path := compiled(t, m)
		smallBase(t)
		o := Options{Context: 64, Batch: 8, Threads: 2}
		want, _ := evaluated(t, path, o)
		o.Memory, _ = granted(t, path, o)
		short := func(n, bytes int) int {
			if n%3 == 0 {
				return bytes
			}
			return max(bytes/2&^4095, min(bytes, 100)) // whole blocks, or less than one
		}
		for name, f := range map[string]store.Fault{
			"short":       {Result: short},
			"reordered":   {Reorder: true},
			"delayed":     {Delay: 100 * time.Microsecond},
			"interrupted": {Result: func(n, bytes int) int { return [...]int{-int(syscall.EINTR), bytes, -int(syscall.EAGAIN), bytes}[n%4] }},
			"refused":     {Result: func(n, bytes int) int { return [...]int{-int(syscall.EOPNOTSUPP), bytes, -int(syscall.EPERM)}[n%3] }},
			"all of it":   {Result: short, Reorder: true, Delay: 50 * time.Microsecond},
		} {
			if i == 1 && name != "all of it" {
				continue
			}
			for _, io := range []string{"uring", "pread", "mmap"} {
				t.Run(name+" "+io, func(t *testing.T) {
					nothingLeft(t)
					o := o
					o.IO = io
					e, err := Open(path, o)
					require.NoError(t, err)
					e.stream.backend.Inject(f)
					got, err := evaluate(e)
					require.NoError(t, err)
					require.True(t, equal(want, got))
					require.NoError(t, e.Close())
				})
			}
		}
	}
}

// Whichever read fails, the run ends with an error that says so, and the same engine gives the right bits afterwards.
func TestAnyReadThatFailsIsAnErrorAndNoWrongToken(t *testing.T) {
	path := compiled(t, streamModels[0])
	smallBase(t)
	o := Options{Context: 64, Batch: 8, Threads: 2}
	want, _ := evaluated(t, path, o)
	o.Memory, _ = granted(t, path, o)
	for i, io := range []string{"uring", "pread", "mmap"} {
		t.Run(io, func(t *testing.T) {
			nothingLeft(t)
			o := o
			o.IO = io
			e, err := Open(path, o)
			require.NoError(t, err)
			_, err = evaluate(e)
			require.NoError(t, err)
			reads := int(e.Receipt().Stream.Cache.Reads)
			require.Greater(t, reads, 50)
			r := rand.New(rand.NewPCG(6, uint64(i)))
			for range 8 {
				bad, seen := int64(r.IntN(reads/2)), atomic.Int64{} // two queues count
				e.stream.backend.Inject(store.Fault{Reorder: bad%2 == 0, Result: func(_, bytes int) int {
					if seen.Add(1) == bad+1 {
						return -int(syscall.EIO)
					}
					return bytes
				}})
				_, err := evaluate(e)
				require.True(t, err != nil || seen.Load() <= bad, "read %d", bad)
				if err != nil {
					require.ErrorIs(t, err, store.ErrRead)
					require.ErrorIs(t, err, syscall.EIO)
					require.NotErrorIs(t, err, ErrPanic)
				}
				e.stream.backend.Inject(store.Fault{})
				got, err := evaluate(e)
				require.NoError(t, err)
				require.True(t, equal(want, got), "after read %d", bad)
			}
			require.NoError(t, e.Close())
		})
	}
}

// A run that is given up while reads are under way leaves nothing behind.
func TestAnInterruptedRunLeavesNothingBehind(t *testing.T) {
	path := compiled(t, streamModels[0])
	smallBase(t)
	nothingLeft(t)
	o := Options{Context: 64, Batch: 8, Threads: 2}
	o.Memory, _ = granted(t, path, o)
	e, err := Open(path, o)
	require.NoError(t, err)
	e.stream.backend.Inject(store.Fault{Delay: time.Millisecond})
	ctx, cancel := context.WithCancel(context.Background())
	s := e.NewSession()
	n := 0
	_, err = s.Generate(ctx, Request{Prompt: []int32{1, 2, 3}, MaxTokens: 60, Sample: Greedy(), IgnoreEOS: true, Token: func(int32) error {
		if n++; n == 3 {
			cancel()
		}
		return nil
	}})
	require.ErrorIs(t, err, context.Canceled)
	s.Close()
	require.NoError(t, e.Close())
}
