//go:build unix

package restore

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"jns/format"
)

// TestManyGapsAreReadSoon: a source with a gap behind each of very many tensors is read gap by gap.
func TestManyGapsAreReadSoon(t *testing.T) {
	const n = 1 << 18
	gaps := make([]format.Gap, n)
	for i := range gaps {
		gaps[i] = format.Gap{Offset: uint64(64 * i), Length: 1, Data: []byte{1}}
	}
	r := &sourceReader{prefix: prefix{nil, 64 * n}, ctx: context.Background(), gaps: gaps}
	before := processorTime(t)
	var b [1]byte
	for i := range n {
		_, err := r.ReadAt(b[:], int64(64*i))
		require.NoError(t, err)
		require.EqualValues(t, 1, b[0])
	}
	require.Less(t, processorTime(t)-before, 5*time.Second)
}

// processorTime is what this process has used: other than the time of day it does not pass while others run.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(syscall.TimevalToNsec(u.Utime))
}
