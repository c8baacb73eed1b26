package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler"
	"jns/runtime/internal/store"
)

// steadyModels are small: what is measured is what the program does per token, not how fast.
var steadyModels = []string{"jns-tiny", "jns-tiny-moe"}

func steadyFile(t *testing.T, name string) string {
	out := filepath.Join(t.TempDir(), "m.jns")
	_, err := compiler.Compile(context.Background(), compiler.Options{Source: "../../testdata/models/tiny/" + name + ".gguf", Output: out})
	require.NoError(t, err)
	return out
}

func steady(t *testing.T, name string, o Options) *Engine {
	e, err := Open(steadyFile(t, name), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

func TestATokenTakesNoAllocation(t *testing.T) {
	for _, name := range steadyModels {
		for _, threads := range []int{1, 2} {
			for _, kv := range []string{KVF16, KVQ8} {
				e := steady(t, name, Options{Context: 512, Threads: threads, KV: kv})
				requireNoAllocation(t, e, fmt.Sprintf("%s, %d threads, %s", name, threads, kv))
			}
		}
	}
}

// Where experts, or dense matrices, are read as they are wanted, whatever reads them.
func TestAStreamedTokenTakesNoAllocation(t *testing.T) {
	for _, name := range steadyModels {
		smallBase(t)
		path, o := steadyFile(t, name), Options{Context: 512, Batch: 8}
		least, all := granted(t, path, o)
		for i, io := range []string{"pread", "mmap", "uring"} {
			o := o
			o.Threads, o.Memory, o.IO, o.KV = 1+i%2, least+uint64(i)*(all-least)/4, io, []string{KVF16, KVQ8}[i%2]
			e, err := Open(path, o)
			if io == "uring" && errors.Is(err, store.ErrBackend) {
				t.Logf("no io_uring here: %v", err)
				continue
			}
			require.NoError(t, err)
			requireNoAllocation(t, e, fmt.Sprintf("%s by %s in %d bytes", name, io, o.Memory))
			r := e.StreamReceipt()
			require.NotNil(t, r)
			require.Positive(t, r.Cache.Tokens.Bytes)
			require.NoError(t, e.Close())
		}
	}
}

// requireNoAllocation counts what tokens allocate, one by one: not even one in many may.
func requireNoAllocation(t *testing.T, e *Engine, what string) {
	t.Helper()
	s := e.NewSession()
	defer s.Close()
	var id int32
	var sum float32
	ctx, one := context.Background(), []int32{1}
	each := func(_ int, l []float32) error { sum += l[0]; return nil }
	token := func() {
		one[0] = id
		id = (id + 7) % int32(e.Vocab())
		if err := s.Eval(ctx, one, nil, each); err != nil {
			t.Fatal(err)
		}
	}
	for range 65 { // into a page's middle: a page is 64 positions, and a new one is memory
		token()
	}
	require.Zero(t, testing.AllocsPerRun(60, token), what)
	require.NoError(t, s.Truncate(1)) // pages given back are used again, so that a page's border costs nothing either
	for range 100 {
		token()
	}
	if e.StreamReceipt() == nil && !raceDetector { // which makes pools drop a quarter of what is given back
		requireFewBytes(t, s, token, what)
	}
}

// requireFewBytes counts what a thousand tokens allocate together, which AllocsPerRun, a mean in whole numbers, does not see. A few pieces are the Go runtime's own, of its collector, its
// timers and, where the machine is busy, of threads that it starts: what tokens allocate comes every time, so the best of three counts.
func requireFewBytes(t *testing.T, s *Session, token func(), what string) {
	t.Helper()
	const few = 16000
	least := uint64(math.MaxUint64)
	for round := 0; round < 3 && least >= few; round++ {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range 1000 {
			if i%100 == 0 {
				require.NoError(t, s.Truncate(1))
			}
			token()
		}
		runtime.ReadMemStats(&after)
		bytes := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: 1000 tokens allocated %d bytes in %d pieces", what, bytes, after.Mallocs-before.Mallocs)
		least = min(least, bytes)
	}
	require.Less(t, least, uint64(few), what)
}

func TestNoGarbageIsCollectedWhileAThousandTokensAreDecoded(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for _, name := range steadyModels {
		e := steady(t, name, Options{Context: 1200, Threads: 2})
		for _, generate := range []bool{false, true} {
			s := e.NewSession()
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if generate {
				r, err := s.Generate(context.Background(), Request{Prompt: []int32{1}, MaxTokens: 1000, IgnoreEOS: true, Sample: DefaultSampling()})
				require.NoError(t, err)
				require.Len(t, r.Tokens, 1000)
			} else {
				one, each := []int32{0}, func(int, []float32) error { return nil }
				for i := range 1000 {
					one[0] = int32(i % e.Vocab())
					require.NoError(t, s.Eval(context.Background(), one, nil, each))
				}
			}
			runtime.ReadMemStats(&after)
			require.Equal(t, before.NumGC, after.NumGC, "%s, generate %v: %d bytes allocated in %d pieces", name, generate, after.TotalAlloc-before.TotalAlloc, after.Mallocs-before.Mallocs)
			t.Logf("%s, generate %v: %d bytes allocated in %d pieces", name, generate, after.TotalAlloc-before.TotalAlloc, after.Mallocs-before.Mallocs)
			s.Close()
		}
	}
}
