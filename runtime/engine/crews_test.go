package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"jns/compiler"
	"jns/runtime/internal/sched"
)

// unlike makes this machine one of two kinds of processors by a file that says so, and gives the run a cache directory of its own.
func unlike(t *testing.T) (cache string) {
	ids := sched.Allowed()
	if len(ids) < 2 {
		t.Skip("needs two processors on a system that binds threads")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "cores.json")
	var words []string
	for i, id := range ids {
		kind := `"name": "slow", "class": "little", "speed": 0.3`
		if i == 0 {
			kind = `"name": "fast", "class": "big", "speed": 1`
		}
		words = append(words, fmt.Sprintf(`"%d": {%s}`, id, kind))
	}
	require.NoError(t, os.WriteFile(file, []byte(`{"processors": {`+strings.Join(words, ", ")+`}}`), 0o644))
	t.Setenv("JNS_CORES", file)
	t.Setenv("XDG_CACHE_HOME", dir)
	return filepath.Join(dir, "jns", "pools")
}

func TestNoBitDependsOnWhoWorks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.jns")
	_, err := compiler.Compile(context.Background(), compiler.Options{Source: "../../testdata/models/tiny/jns-tiny-moe.gguf", Output: path})
	require.NoError(t, err)
	want, r, _ := longRun(t, path, Options{Context: 512, Threads: 1})
	require.Equal(t, "auto", r.Pools.Policy)
	unlike(t)
	for _, policy := range Schedules() {
		for _, threads := range []int{0, 3} { // the second is more than many machines have
			if threads != 0 && policy != "auto" {
				continue
			}
			got, r, _ := longRun(t, path, Options{Context: 512, Threads: threads, Schedule: policy})
			require.Equal(t, want, got, "%s, %d threads", policy, threads)
			require.Equal(t, policy, r.Pools.Policy)
			require.Equal(t, max(r.Pools.Prefill.Workers, r.Pools.Decode.Workers), r.Threads)
			if policy == "big" {
				require.Equal(t, "1 × fast", r.Pools.Decode.Name)
			}
		}
	}
	_, err = Open(path, Options{Schedule: "odd"})
	require.ErrorIs(t, err, ErrOption)
	t.Setenv("JNS_CORES", "nowhere")
	_, err = Open(path, Options{})
	require.ErrorIs(t, err, ErrOption)
}

func TestFastestPoolIsMeasuredOnceAndKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.jns")
	_, err := compiler.Compile(context.Background(), compiler.Options{Source: "../../testdata/models/tiny/jns-tiny.gguf", Output: path})
	require.NoError(t, err)
	dir := unlike(t)
	decode := func(n int) PoolReceipt {
		e, err := Open(path, Options{Context: 512})
		require.NoError(t, err)
		defer func() { require.NoError(t, e.Close()) }()
		s := e.NewSession()
		defer s.Close()
		for i := range n {
			require.NoError(t, s.Eval(context.Background(), []int32{int32(i)}, nil, func(int, []float32) error { return nil }))
		}
		return e.Receipt().Pools.Decode
	}
	r := decode(0)
	require.Equal(t, "to begin with; not yet measured", r.Why)
	require.NoDirExists(t, dir)
	r = decode(3)
	require.Equal(t, "to begin with; not yet measured", r.Why)
	require.DirExists(t, dir, "the next run goes on")
	r = decode(40)
	require.Contains(t, r.Why, "measured: the fastest of ")
	require.GreaterOrEqual(t, len(r.Tried), 2)
	for name, s := range r.Tried {
		require.Positive(t, s, name)
	}
	kept := func() string {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		require.NoError(t, err)
		require.Len(t, files, 1, "one file, and nothing half written beside it")
		return files[0]
	}
	again := decode(1)
	require.Contains(t, again.Why, "measured in an earlier run")
	require.Equal(t, r.Name, again.Name)
	for _, damage := range []string{"", "{", `{"version":1,"key":"another"}`, `{"version":3}`, strings.Repeat(" ", 1<<20)} {
		require.NoError(t, os.WriteFile(kept(), []byte(damage), 0o644))
		require.Equal(t, "to begin with; not yet measured", decode(1).Why)
	}
}

func TestBatchesFindTheirPhase(t *testing.T) {
	unlike(t)
	c, err := newCrews("auto", 0, <-look())
	require.NoError(t, err)
	defer c.close()
	one, timed := c.Team(1)
	require.True(t, timed)
	few, timed := c.Team(manyRows - 1)
	require.False(t, timed, "neither a token nor a prompt")
	require.Same(t, one, few)
	many, _ := c.Team(512)
	require.NotSame(t, one, many)
	for range 100 {
		_, timed = c.Team(1)
		c.Took(1, time.Millisecond)
	}
	require.False(t, timed)
	require.NotContains(t, c.phases[decoding].teams[1:], one, "a choice that lost has ended")
	require.LessOrEqual(t, len(c.teams), 3)
	c.decide("because")
	require.Equal(t, "because", c.receipt().Decode.Why)
}

// However many of a team's workers turn out, no bit changes.
func TestWorkersThatAreLeftOutChangeNoBit(t *testing.T) {
	for _, name := range steadyModels {
		path := steadyFile(t, name)
		logits := func(threads int, before func(e *Engine, token int)) (all [][]float32) {
			e, err := Open(path, Options{Context: 2048, Threads: threads})
			require.NoError(t, err)
			defer func() { require.NoError(t, e.Close()) }()
			s := e.NewSession()
			defer s.Close()
			each := func(_ int, l []float32) error { all = append(all, slices.Clone(l)); return nil }
			for i := range 60 {
				before(e, i)
				ids := make([]int32, 1)
				if i%10 == 1 {
					ids = make([]int32, 160) // a prompt between tokens
				}
				for k := range ids {
					ids[k] = int32((i + k) % 50)
				}
				require.NoError(t, s.Eval(context.Background(), ids, nil, each))
			}
			return all
		}
		want := logits(1, func(*Engine, int) {})
		counts := map[int]int{}
		got := logits(3, func(e *Engine, token int) {
			team, _ := e.crews.Team(1)
			counts[team.AtWork()]++
			if token%20 != 10 {
				return
			}
			for tries := 0; tries < 20 && team.AtWork() == team.Workers(); tries++ {
				require.NoError(t, team.Do(1, func(w int) {
					if w == 1 {
						time.Sleep(100 * time.Millisecond)
					}
					team.Barrier()
				}))
				require.NoError(t, team.Do(1, func(int) {}))
			}
		})
		require.Equal(t, want, got)
		require.GreaterOrEqual(t, len(counts), 2, "some tokens were computed by fewer workers")
	}
}
