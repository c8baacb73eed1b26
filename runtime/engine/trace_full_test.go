package engine

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format/routing"
)

// A run goes on when its trace is full, and the trace can be read: it has the run's beginning.
func TestARunIsLongerThanATraceCanBe(t *testing.T) {
	if testing.Short() {
		t.Skip("writes eight million records")
	}
	smallBase(t)
	path := steadyFile(t, "jns-tiny-moe")
	o := Options{Context: 64, Batch: 8, Threads: 1}
	o.Memory, _ = granted(t, path, o)
	var b bytes.Buffer
	o.Record = &b
	e, err := Open(path, o)
	require.NoError(t, err)
	s := e.NewSession()
	defer s.Close()
	require.NoError(t, s.Eval(context.Background(), []int32{1, 2}, nil, nil))
	require.False(t, e.TraceFull())
	for range routing.MaxRecords - 4 {
		e.stream.trace.Pass(1)
	}
	require.NoError(t, s.Eval(context.Background(), []int32{3}, nil, func(int, []float32) error { return nil }))
	require.True(t, e.TraceFull())
	require.NoError(t, e.Close())
	require.True(t, e.TraceFull(), "it is still known")
	tr, err := ReadTrace(&b)
	require.NoError(t, err)
	_, _, passes := tr.Slots()
	require.Greater(t, passes, routing.MaxRecords/2)
}
