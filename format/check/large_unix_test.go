//go:build unix

package check_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"jns/format"
	"jns/format/check"
)

// TestTheLargestProgramsAreProvedSoon proves a program as large as the limits allow, in which every operation writes as many buffers as it can while all others hold something.
func TestTheLargestProgramsAreProvedSoon(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	d := newDraft()
	var outs, rows []uint32
	for len(d.p.Buffers) < check.MaxBuffers-1 {
		outs = append(outs, d.buffer(1))
	}
	for range (check.MaxOps - 2) * check.MaxParts / check.MaxUses {
		rows = append(rows, d.matrix(1, 64))
	}
	n := 0
	for len(d.p.Ops) < check.MaxOps-1 {
		m := &format.MatMulParams{}
		for range check.MaxParts {
			m.Parts = append(m.Parts, format.MatMulPart{W: rows[n/check.MaxUses], Bias: format.None, Out: outs[n%len(outs)], Residual: format.None, Scale: 1})
			n++
		}
		d.op(m)
	}
	before := processorTime(t)
	require.NoError(t, d.proved(0))
	require.Less(t, processorTime(t)-before, 5*time.Second)
}

// processorTime is what this process has used: other than the time of day it does not pass while others run.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(syscall.TimevalToNsec(u.Utime))
}
