package engine

import (
	"context"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/runtime/internal/kv"
)

// Where keys and values of the default context do not fit beside the weights' frames, a session has less room, and what ends there ends as at the end of any context. A context that was
// asked for is there, or refused before anything is computed.
func TestASessionHasTheRoomThatTheMemoryHolds(t *testing.T) {
	path := compiled(t, streamModels[0])
	smallBase(t)
	o := Options{Batch: 8, Threads: 2}
	o.Memory, _ = granted(t, path, o)
	e, err := Open(path, o)
	require.NoError(t, err)
	defer e.Close()
	require.NotNil(t, e.stream)
	room := e.Options().Context
	require.Less(t, room, 512)
	require.GreaterOrEqual(t, room, kv.Chunk)
	s := e.NewSession()
	defer s.Close()
	r, err := s.Generate(context.Background(), Request{Prompt: []int32{1, 2, 3}, MaxTokens: -1, Sample: Greedy(), IgnoreEOS: true})
	require.NoError(t, err)
	require.Equal(t, FinishLength, r.Finish)
	require.Equal(t, room, len(s.Tokens()))
	err = e.NewSession().Eval(context.Background(), make([]int32, room+1), nil, nil)
	require.ErrorIs(t, err, ErrContextFull)
	require.ErrorContains(t, err, "--memory")

	o.Context = 512
	_, err = Open(path, o)
	require.ErrorIs(t, err, ErrOption)
	o.Memory, _ = granted(t, path, o)
	asked, err := Open(path, o)
	require.NoError(t, err)
	defer asked.Close()
	require.Equal(t, 512, asked.Options().Context)
	full := asked.NewSession()
	defer full.Close()
	require.NoError(t, full.Eval(context.Background(), make([]int32, 512), nil, nil))
}

// A context that nobody asked for is no reason to refuse a run: what suffices for a short one suffices without --ctx.
func TestAContextThatWasNotAskedForShrinksBeforeARunIsRefused(t *testing.T) {
	smallBase(t)
	baseMemory = 4 << 20 // so that a quarter of the memory is more than what a short context takes
	for _, path := range streamModels {
		path = compiled(t, path)
		short := Options{Batch: 1, Context: leastContext, Threads: 2}
		short.Memory, _ = granted(t, path, short)
		e, err := Open(path, short)
		require.NoError(t, err)
		require.NoError(t, e.Close())
		for _, batch := range []int{0, 1} {
			e, err = Open(path, Options{Batch: batch, Memory: short.Memory, Threads: 2})
			require.NoError(t, err, "batch %d", batch)
			require.GreaterOrEqual(t, e.Options().Context, leastContext)
			p := e.stream.plan
			require.LessOrEqual(t, p.Arena+p.KV+p.Base+p.Resident+p.Frames, p.Granted)
			require.NoError(t, e.NewSession().Eval(context.Background(), make([]int32, leastContext), nil, nil))
			require.NoError(t, e.Close())
		}
	}
}

func TestTooLittleMemoryIsAnsweredWithWhatSuffices(t *testing.T) {
	for _, path := range streamModels {
		path = compiled(t, path)
		for _, o := range []Options{{Memory: 1}, {Memory: 9 << 10}, {Memory: 1 << 20}, {Memory: 29 << 20, Context: 512}} {
			_, err := Open(path, o)
			require.ErrorIs(t, err, ErrOption)
			m := regexp.MustCompile(`it needs (\d+) MiB`).FindStringSubmatch(err.Error())
			require.NotNil(t, m, err)
			n, err := strconv.ParseUint(m[1], 10, 64)
			require.NoError(t, err)
			o.Memory = (n - 1) << 20
			_, err = Open(path, o)
			require.ErrorIs(t, err, ErrOption)
			o.Memory = n << 20
			e, err := Open(path, o)
			require.NoError(t, err)
			require.NoError(t, e.Close())
		}
	}
}
