package kerneltest

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"jns/kernels"
	"jns/kernels/cpu"
	"jns/kernels/tile"
)

func x16Layouts() []*tile.Layout {
	var ls []*tile.Layout
	for _, l := range tile.Layouts() {
		if l.Rows == tile.Rows16 {
			ls = append(ls, l)
		}
	}
	return ls
}

// eachKernel runs f for every x16 layout in every set that has kernels of its own for it, layout by layout.
func eachKernel(t *testing.T, f func(t *testing.T, l *tile.Layout, m *kernels.MatMul)) {
	eachLayout(t, func(l *tile.Layout) func(*testing.T, *kernels.MatMul) {
		return func(t *testing.T, m *kernels.MatMul) { f(t, l, m) }
	})
}

// eachLayout is eachKernel for tests that prepare something for all sets of a layout.
func eachLayout(t *testing.T, prepare func(l *tile.Layout) func(t *testing.T, m *kernels.MatMul)) {
	RequireSets(t)
	for _, l := range x16Layouts() {
		f := prepare(l)
		for _, set := range append(cpu.Asked(), kernels.Available()...) {
			m, err := kernels.BindMatMul(l, set)
			require.NoError(t, err)
			if m.Set != set || set == cpu.Scalar {
				continue
			}
			t.Run(l.Name+"/"+set, func(t *testing.T) { f(t, m) })
		}
	}
}

// answered is a case and what scalar makes of it.
type answered struct {
	*Case
	want []float32
}

// columnCounts gives counts of columns around the borders that kernels have: block counts odd and even, chunks of 32 blocks.
func columnCounts(l *tile.Layout) []int {
	blocks := []int{1, 2, 3, 7, 31, 32, 33, 65}
	switch {
	case l.Codec.Elems == 256:
		blocks = []int{1, 2, 3, 4, 5, 9}
	case l.Codec.Float():
		blocks = []int{1, 2, 3, 4, 5, 7, 8, 31, 64, 257}
	}
	for i := range blocks {
		blocks[i] *= l.Codec.Elems
	}
	return blocks
}

// manyShapes gives cases of all counts of columns, rows and activation rows.
func manyShapes(l *tile.Layout) (all []answered) {
	seed := uint64(0)
	for _, cols := range columnCounts(l) {
		for _, rows := range []int{1, 15, 16, 17, 48, 80} {
			for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 11, 16, 33} {
				seed++
				if seed%3 != 0 && rows > 17 && n > 5 {
					continue // a third of the large ones
				}
				c := New(l, rows, cols, n, Style(seed%2), seed)
				all = append(all, answered{c, c.Run(c.Scalar())})
			}
		}
	}
	return all
}

func TestMatMulHasTheBitsOfScalar(t *testing.T) {
	eachLayout(t, func(l *tile.Layout) func(*testing.T, *kernels.MatMul) {
		shapes := sync.OnceValue(func() []answered { return manyShapes(l) })
		return func(t *testing.T, m *kernels.MatMul) {
			t.Log(len(shapes()), "products")
			for _, c := range shapes() {
				if diff := c.Diff(c.want, c.Run(m)); diff != "" {
					t.Fatal(diff)
				}
				if c.Rows > 16 {
					if diff := c.Diff(c.want, c.RunTiles(m, 1)); diff != "" {
						t.Fatal("one tile row at a time: " + diff)
					}
				}
			}
		}
	})
}

// everyCount gives a case of every count of activation rows up to two panels, and one of more activations than stay in the cache at a time, in calls cut by their length.
func everyCount(l *tile.Layout) (all []answered) {
	cols := 5 * l.Codec.Elems
	if l.Codec.Elems == 256 {
		cols = 256
	}
	for n := 1; n <= 33; n++ {
		c := New(l, 40, cols, n, Plain, uint64(n))
		all = append(all, answered{c, c.Run(c.Scalar())})
	}
	c := New(l, 16, cols, 7000, Plain, 1)
	return append(all, answered{c, c.Run(c.Scalar())})
}

func TestMatMulHasTheBitsOfScalarForEveryCountOfRows(t *testing.T) {
	eachLayout(t, func(l *tile.Layout) func(*testing.T, *kernels.MatMul) {
		shapes := sync.OnceValue(func() []answered { return everyCount(l) })
		return func(t *testing.T, m *kernels.MatMul) {
			t.Log(len(shapes()), "products")
			for _, c := range shapes() {
				if diff := c.Diff(c.want, c.Run(m)); diff != "" {
					t.Fatal(diff)
				}
			}
		}
	})
}

func TestMatMulAllocatesNothing(t *testing.T) {
	eachKernel(t, func(t *testing.T, l *tile.Layout, m *kernels.MatMul) {
		for _, n := range []int{1, 16} {
			c := New(l, 48, 1024, n, Plain, 1)
			y := make([]float32, n*c.RowFloats)
			a := c.Args(y)
			m.Func(a)
			if got := testing.AllocsPerRun(20, func() { m.Func(a) }); got >= 1 {
				t.Errorf("n=%d: %v allocations a call", n, got)
			}
		}
	})
}

// Assembly cannot be stopped, so a collection waits for the end of a call: calls must be short.
func TestMatMulDoesNotHoldUpTheCollector(t *testing.T) {
	eachKernel(t, func(t *testing.T, l *tile.Layout, m *kernels.MatMul) {
		c := New(l, 16, 4096, 64, Model, 1)
		y := make([]float32, c.N*c.RowFloats)
		a := c.Args(y)
		stop := make(chan struct{})
		var done atomic.Bool
		go func() {
			for !done.Load() {
				m.Func(a)
			}
			close(stop)
		}()
		for range 3 {
			start := time.Now()
			runtime.GC()
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("a collection took %v", d)
			}
		}
		done.Store(true)
		<-stop
	})
}

func TestEveryLayoutHasKernelsInEverySet(t *testing.T) {
	RequireSets(t)
	for _, set := range kernels.Available() {
		for _, l := range x16Layouts() {
			m, err := kernels.BindMatMul(l, set)
			require.NoError(t, err)
			want := set
			if l.Codec.Float() && set == cpu.AVXVNNI {
				want = cpu.AVX2 // VNNI has nothing for floats
			}
			if set == cpu.AMXINT8 && (l.Codec.Float() || l.Codec.Group < 32) {
				want = cpu.AVX512VNNI // nor have tiles of bytes, and two scales a block are no gain with them
			}
			if l.Codec.Float() && set == cpu.I8MM {
				want = cpu.DotProd // nor has this
			}
			require.Equal(t, want, m.Set, l.Name)
			_, err = kernels.ParseName(m.Name)
			require.NoError(t, err)
			for i, v := range m.Variants { // in order, each with a name, the first for every product
				_, err = kernels.ParseName(v.Name)
				require.NoError(t, err)
				require.True(t, i == 0 && v.From == 1 || i > 0 && v.From > m.Variants[i-1].From, m.Name)
				require.Equal(t, i, m.Variant(v.From))
			}
		}
	}
}

func TestBindFallsBackToScalarForPortableLayouts(t *testing.T) {
	l := tile.Portable(tile.Q4_K)
	m, err := kernels.BindMatMul(l, kernels.Available()[0])
	require.NoError(t, err)
	require.Equal(t, cpu.Scalar, m.Set)
	_, err = kernels.BindMatMul(l, "mmx")
	require.ErrorIs(t, err, cpu.ErrSet)
}

func FuzzMatMulHasTheBitsOfScalar(f *testing.F) {
	f.Add(uint64(1), uint8(0), uint8(1), uint8(3), uint8(9))
	f.Add(uint64(2), uint8(5), uint8(1), uint8(40), uint8(33))
	ls := x16Layouts()
	for i := range ls {
		f.Add(uint64(i), uint8(i), uint8(i&1), uint8(i), uint8(i))
	}
	f.Fuzz(func(t *testing.T, seed uint64, layout, style, blocks, n uint8) {
		l := ls[int(layout)%len(ls)]
		r := rand.New(rand.NewPCG(seed, 1))
		c := New(l, 1+r.IntN(50), (1+int(blocks)%70)*l.Codec.Elems, 1+int(n)%40, Style(style%2), seed)
		want := c.Run(c.Scalar())
		for _, set := range kernels.Available() {
			m, err := kernels.BindMatMul(l, set)
			require.NoError(t, err)
			if diff := c.Diff(want, c.Run(m)); diff != "" {
				t.Fatal(fmt.Sprintf("%s: %s", m.Name, diff))
			}
		}
	})
}
