package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
	"jns/kernels"
	"jns/kernels/tile"
)

// bound is the product that computes a layout here.
func bound(t *testing.T, l *tile.Layout) *kernels.MatMul {
	set, err := kernels.Resolve("auto")
	require.NoError(t, err)
	m, err := kernels.BindMatMul(l, set)
	require.NoError(t, err)
	return m
}

// read is how many bytes of a layout the kernels of its best set read; others must not have run, and of those of SME2 none that leaves streaming mode out.
func read(t *testing.T, r Receipt, l *tile.Layout) (bytes uint64) {
	m := bound(t, l)
	names := []string{m.Name}
	for _, v := range m.Variants {
		names = append(names, v.Name)
	}
	for name, use := range r.Kernels {
		if !strings.Contains(name, "_"+l.Name+"_") {
			continue
		}
		require.Contains(t, names, name)
		n, err := kernels.ParseName(name)
		require.NoError(t, err)
		if m.Set == sme2 {
			require.Equal(t, sme2, n.Set, name)
		}
		bytes += use.Bytes
	}
	return bytes
}

const sme2 = "sme2"

// Every tensor that the compiler gave tiles is computed by kernels of the best set, for prompts and for tokens: what they read is, to the byte, what the tensors hold.
func TestEveryTensorWithTilesIsComputedByTheBestSet(t *testing.T) {
	if missing := kernels.MissingSets(); len(missing) > 0 {
		t.Fatalf("%s names %v, which this machine or build lacks", kernels.RequireEnv, missing)
	}
	path := compiled(t, "../../testdata/models/tiny/jns-tiny.gguf")
	e, err := Open(path, Options{Context: 64, Threads: 1})
	require.NoError(t, err)
	defer e.Close()
	tensors := map[*tile.Layout]uint64{}
	for i := range e.c.Tensors.Len() {
		x := e.c.Tensors.At(i)
		if x.Reason != format.ReasonTiled {
			continue
		}
		l, ok := tile.ByID(tile.ID(x.Layout))
		require.True(t, ok)
		tensors[l] += uint64(l.Bytes(int(x.Rows), int(x.Cols)))
	}
	require.NotEmpty(t, tensors)
	s := e.NewSession()
	defer s.Close()
	const evals = 5
	ignore := func(int, []float32) error { return nil }
	require.NoError(t, s.Eval(context.Background(), []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}, func(int) bool { return true }, ignore))
	for i := range evals - 1 {
		require.NoError(t, s.Eval(context.Background(), []int32{int32(20 + i)}, nil, ignore))
	}
	r := e.Receipt()
	for l, bytes := range tensors {
		require.Equal(t, evals*bytes, read(t, r, l), "%s: %v", l.Name, r.Kernels)
	}
	require.Empty(t, r.Fallbacks)
}

// The products of routers that are applied early, to guess which experts to read, are counted like all others.
func TestGuessesAreInTheReceipt(t *testing.T) {
	path := compiled(t, "../../testdata/models/tiny/jns-tiny-moe.gguf")
	smallBase(t)
	o := Options{Context: 64, Batch: 8, Threads: 2}
	_, resident := evaluated(t, path, o)
	least, all := granted(t, path, o)
	o.Memory = (least + all) / 2
	_, streamed := evaluated(t, path, o)
	require.NotNil(t, streamed.Stream)

	c, err := Open(path, Options{})
	require.NoError(t, err)
	defer c.Close()
	var routers []uint64
	var layout *tile.Layout
	for i := range c.c.Tensors.Len() {
		x := c.c.Tensors.At(i)
		if strings.HasSuffix(x.Name, "ffn_gate_inp.weight") {
			l, ok := tile.ByID(tile.ID(x.Layout))
			require.True(t, ok)
			routers, layout = append(routers, uint64(l.Bytes(int(x.Rows), int(x.Cols)))), l
		}
	}
	require.Greater(t, len(routers), 1)
	// A guess for every row of every layer but the first, which nothing comes before; of few rows the layer before the last guesses too.
	const rows = 21 + 12
	want := uint64(0)
	for i, bytes := range routers[1:] {
		want += rows * bytes * uint64(min(i+1, 2))
	}
	require.Equal(t, want, read(t, streamed, layout)-read(t, resident, layout), "%v beside %v", streamed.Kernels, resident.Kernels)
}

func TestTheReceiptSaysWhatBoundsDecoding(t *testing.T) {
	b := boundOf(StreamPhase{Passes: 10, Rows: 10, RanMS: 3000, WaitedMS: 1000, Bytes: 5e9}, 2e9)
	require.Equal(t, &BoundReceipt{By: BoundReading, Took: 3, Waited: 1, Computed: 2, Read: 2.5, Ratio: 1.2}, b)
	b = boundOf(StreamPhase{Passes: 10, Rows: 10, RanMS: 3000, WaitedMS: 500, Bytes: 2e9}, 2e9)
	require.Equal(t, &BoundReceipt{By: BoundComputing, Took: 3, Waited: 0.5, Computed: 2.5, Read: 1, Ratio: 1.2}, b)
	require.Nil(t, boundOf(StreamPhase{RanMS: 3000, Bytes: 1}, 2e9), "no token came alone")
	require.Nil(t, boundOf(StreamPhase{Passes: 1, RanMS: 3000, Bytes: 1}, 0), "the rate is not known")
}
