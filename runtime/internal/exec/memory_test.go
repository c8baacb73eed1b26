package exec_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"jns/format"
	"jns/format/check"
	"jns/format/formattest"
	"jns/runtime/internal/exec"
	"jns/runtime/internal/sched"
)

// memory is a container in memory as exec takes it.
type memory struct{ formattest.Memory }

func (m memory) Range(off, n uint64) ([]byte, error) { return m.Bytes(int64(off), int64(n)), nil }

// always is one team for every run.
type always struct{ team *sched.Team }

func (a always) Workers() int                 { return a.team.Workers() }
func (a always) Team(int) (*sched.Team, bool) { return a.team, false }
func (always) Took(int, time.Duration)        {}

// A program may choose among many experts many times; the memory for it must not grow with the number of times.
func TestRoutesShareTheirMemory(t *testing.T) {
	d := formattest.Draft(true)
	p := d.Program
	buffer := func(typ format.ElemType, n, size uint64) uint32 {
		p.Buffers = append(p.Buffers, format.Buffer{Type: typ, Region: format.RegionPerRow, Len: uint32(n), Offset: p.PerRow})
		p.PerRow += (n*size + 63) &^ 63
		return uint32(len(p.Buffers) - 1)
	}
	const experts, routes = 1 << 16, 50
	ops := p.Ops[:1:1] // the row lookup
	in := p.Ops[0].Params.(*format.RowsParams).Out
	op := func(x format.Params) { ops = append(ops, format.Op{Kind: x.Kind(), Version: 1, Params: x}) }
	for _, s := range [][2]uint32{{16, 17 * 16}, {136, 137 * 136}, {8192, experts}} { // overlapping slices make a small buffer large
		out := buffer(format.ElemF32, uint64(s[1]), 4)
		op(&format.SliceParams{In: in, Out: out, Width: s[0], Stride: 1})
		in = out
	}
	chosen := buffer(format.ElemRoute, 1, 8)
	for range routes {
		op(&format.RouteParams{Func: format.RouteSigmoid, In: in, Out: chosen, Bias: format.None, Experts: experts, Top: 1, Scale: 1, Groups: 1, TopGroups: 1})
	}
	p.Ops = append(ops, p.Ops[1:]...)
	file, _, err := formattest.Build(d)
	require.NoError(t, err)
	c, err := format.Open(file, int64(len(file)))
	require.NoError(t, err)
	require.NoError(t, check.Program(c.Program, c.Tensors, formattest.Size))

	team := sched.NewTeam(sched.Alike(2).Plan(sched.PolicyAuto, 0).Prefill[0])
	defer team.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, err := exec.New(exec.Config{Set: "scalar", Teams: always{team}, Batch: 1, Program: c.Program, Tensors: c.Tensors, Slots: c.Slots, Bytes: memory{file}})
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
	cache := m.Store().NewCache(1)
	_, err = cache.Extend(1)
	require.NoError(t, err)
	require.NoError(t, m.Run(exec.Batch{{Token: 1, Cache: cache, Logits: true}}))
	_, err = m.Logits(0)
	require.NoError(t, err)
}
