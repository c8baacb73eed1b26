package engine

import (
	"context"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler"
)

// steadyModels are small: what is measured is what the program does per token, not how fast.
var steadyModels = []string{"jns-tiny", "jns-tiny-moe"}

func steady(t *testing.T, name string, threads, room int) *Engine {
	out := filepath.Join(t.TempDir(), "m.jns")
	_, err := compiler.Compile(context.Background(), compiler.Options{Source: "../../testdata/models/tiny/" + name + ".gguf", Output: out})
	require.NoError(t, err)
	e, err := Open(out, Options{Context: room, Threads: threads})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

func TestATokenTakesNoAllocation(t *testing.T) {
	for _, name := range steadyModels {
		for _, threads := range []int{1, 2} {
			e := steady(t, name, threads, 512)
			s := e.NewSession()
			var id int32
			var sum float32
			ctx, one := context.Background(), []int32{1}
			each := func(_ int, l []float32) error { sum += l[0]; return nil }
			token := func() {
				one[0] = id
				id = (id + 7) % int32(e.Vocab())
				require.NoError(t, s.Eval(ctx, one, nil, each))
			}
			for range 65 { // into a page's middle: a page is 64 positions, and a new one is memory
				token()
			}
			require.Zero(t, testing.AllocsPerRun(60, token), "%s, %d threads", name, threads)
			require.NoError(t, s.Truncate(1)) // pages given back are used again, so that a page's border costs nothing either
			for range 100 {
				token()
			}
			s.Close()
		}
	}
}

func TestNoGarbageIsCollectedWhileAThousandTokensAreDecoded(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for _, name := range steadyModels {
		e := steady(t, name, 2, 1200)
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
