package check_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
	"jns/format/check"
)

// attention is a program with an attention of four heads over all positions, which change made.
func attention(t *testing.T, change func(d *draft, p *format.AttentionParams)) error {
	t.Helper()
	d := newDraft()
	d.p.States = append(d.p.States, format.State{Kind: format.StateKV, KVHeads: 4, KeyDim: 16, ValDim: 16})
	d.op(&format.KVAppendParams{K: 0, V: 0})
	p := &format.AttentionParams{Q: 0, Out: d.buffer(64), Heads: 4, Scale: 0.25, Sinks: format.None, All: true}
	change(d, p)
	d.op(p)
	d.p.Ops[len(d.p.Ops)-1].Version = 2
	return d.proved(p.Out)
}

func TestBiasesOfDistanceFitTheHeads(t *testing.T) {
	buckets := func(edges []uint32, later uint32, n uint64) func(*draft, *format.AttentionParams) {
		return func(d *draft, p *format.AttentionParams) { p.Edges, p.Later, p.Bias = edges, later, d.vector(n) }
	}
	slopes := func(s ...float32) func(*draft, *format.AttentionParams) {
		return func(_ *draft, p *format.AttentionParams) { p.Slopes, p.Bias = s, format.None }
	}
	require.NoError(t, attention(t, buckets([]uint32{0, 1, 5}, 0, 12)))
	require.NoError(t, attention(t, buckets([]uint32{0, 1, 5}, 3, 24)))
	require.NoError(t, attention(t, slopes(1, 2, 3, 4)))
	for name, change := range map[string]func(*draft, *format.AttentionParams){
		"too few biases":         buckets([]uint32{0, 1, 5}, 3, 12),
		"edges that stand still": buckets([]uint32{0, 5, 5}, 0, 12),
		"edges from 1 on":        buckets([]uint32{1, 2, 3}, 0, 12),
		"a distance too far":     buckets([]uint32{0, check.MaxDistance}, 0, 8),
		"later elsewhere":        buckets([]uint32{0, 1, 5}, 2, 20),
		"too few slopes":         slopes(1, 2),
		"a slope without end":    slopes(1, 2, 3, float32(math.Inf(1))),
		"later without edges": func(_ *draft, p *format.AttentionParams) {
			p.Slopes, p.Bias, p.Later = []float32{1, 2, 3, 4}, format.None, 4
		},
		"a bias without edges": func(_ *draft, p *format.AttentionParams) { p.Bias = 1 },
		"both": func(d *draft, p *format.AttentionParams) {
			p.Slopes, p.Edges, p.Bias = []float32{1, 2, 3, 4}, []uint32{0}, d.vector(4)
		},
	} {
		require.ErrorIs(t, attention(t, change), format.ErrCorrupt, name)
	}
}
