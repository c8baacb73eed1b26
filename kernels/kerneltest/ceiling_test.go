package kerneltest

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"jns/kernels"
	"jns/kernels/tile"
)

// Sizes of what BenchmarkCeiling multiplies: a cycle of slices that no cache holds, tile rows that the second-level cache holds, and a prompt.
const (
	ceilingCols   = 4096
	ceilingSlice  = 8 << 20
	ceilingSlices = 129 // odd: reads and products, which take turns, come by every slice
	ceilingCached = 256 << 10
	ceilingTiles  = 4   // tile rows of a prompt's matrix
	ceilingRows   = 192 // activation rows of it
)

// ceiling is a row of the table: rates as shares of what the machine gave in the same minute.
type ceiling struct {
	layout, set string
	read        float64    // GB/s of plain reads, one thread
	decode      [2]float64 // of plain reads, with one thread and with two
	cached      float64    // GB/s of weights in the second-level cache
	bound       float64    // GB/s that the vector operations of a block allow; 0: not known
	clock       float64    // GHz while multiplying
	floor       float64    // the least time of a prompt by its instructions, in times of the plainest products
	prefill     [2]float64 // of the kernel's own products, of the set's plainest ones
}

// BenchmarkCeiling prints a table of every layout in every set against the machine: one vector and weights in memory against plain reads and against the
// instruction bound, a prompt against loops of products. What is compared takes turns. A * marks what misses its goal. One line
// a run is enough:
//
//	go test ./kernels/kerneltest -run '^$' -bench Ceiling/avx512vnni -benchtime 1x
func BenchmarkCeiling(b *testing.B) {
	var table []ceiling
	big := aligned(ceilingSlice * ceilingSlices)
	for _, set := range kernels.Available() {
		for _, l := range x16Layouts() {
			m, err := kernels.BindMatMul(l, set)
			if err != nil || m.Set != set || set == "scalar" || l.Codec.Float() || forOthers(l, set) {
				continue
			}
			b.Run(set+"/"+l.Name, func(b *testing.B) {
				for b.Loop() {
					table = append(table, measureCeiling(l, m, big))
				}
			})
		}
	}
	if len(table) > 0 {
		fmt.Fprint(os.Stderr, ceilingTable(table))
	}
}

// forOthers: an index is kept for targets with AVX-512 only, levels for the others (RATIONALE.md).
func forOthers(l *tile.Layout, set string) bool {
	if set == "avx512vnni" {
		return l == tile.IQ2_XXSLx16 || l == tile.IQ3_XXSLx16
	}
	return l == tile.IQ2_XXSx16 || l == tile.IQ3_XXSx16
}

// measureCeiling fills big with copies of some random tile rows.
func measureCeiling(l *tile.Layout, m *kernels.MatMul, big []byte) ceiling {
	c := New(l, 16*16, ceilingCols, ceilingRows, Model, 1)
	row := l.RowBytes(ceilingCols)
	big = big[:len(big)/row*row]
	for n := copy(big, c.W); n < len(big); n *= 2 {
		copy(big[n:], big[:n])
	}
	y := make([]float32, max(2*ceilingSlice/row*16, ceilingRows*(ceilingTiles*16+guard)))
	product := func(first, tiles, n, worker int) {
		m.Func(&kernels.MatMulArgs{
			W: unsafe.Pointer(&big[first*row]), WStride: uintptr(row), Tiles: tiles, Cols: ceilingCols, N: n,
			X: unsafe.Pointer(&c.X[0]), XStride: uintptr(c.XStride),
			Y: unsafe.Pointer(&y[worker*(ceilingSlice/row*16)]), YStride: (ceilingTiles*16 + guard) * 4,
		})
	}
	probe := kernels.ProbeFor(m.Set)
	r := ceiling{layout: l.Name, set: m.Set}
	for threads := 1; threads <= min(2, runtime.NumCPU()); threads++ {
		tiles := ceilingSlice / row
		slice := 0
		next := func(f func(first, worker int)) func() {
			return func() {
				side(threads, func(w int) { f((slice+w)*tiles, w) })
				slice = (slice + threads) % (ceilingSlices - threads + 1)
			}
		}
		t := turns(80,
			next(func(first, _ int) { probe.Read(big[first*row:][:tiles*row]) }),
			next(func(first, w int) { product(first, tiles, 1, w) }))
		r.decode[threads-1] = t[0] / t[1]
		if threads == 1 {
			r.read = float64(tiles*row) / t[0]
		}
	}

	tiles := max(1, ceilingCached/row)
	times := 1 + (1<<18)/(tiles*row)
	first, work := 0, ceilingTiles*16*ceilingCols*ceilingRows
	peak := kernels.Peak(l, m.Set)
	t := turns(60,
		func() {
			for range times {
				product(0, tiles, 1, 0)
			}
		},
		func() { peak(1 + work/peak(1)) },
		func() { probe.Products(1 + work/probe.Products(1)) },
		func() {
			product(first, ceilingTiles, ceilingRows, 0)
			first = (first + ceilingTiles) % (len(big)/row - ceilingTiles)
		})
	r.cached = float64(times*tiles*row) / t[0]
	r.floor = panelShare(l, m.Set)
	r.prefill = [2]float64{t[1] / t[3], t[2] / t[3]}
	if cycles := gemvCycles(l, m.Set); cycles > 0 {
		r.clock = float64(work) / productsPerCycle(m.Set) / t[2]
		r.bound = float64(row) / float64(ceilingCols/l.Codec.Elems) / cycles * r.clock
	}
	return r
}

// turns lets functions take turns and gives for each how many nanoseconds it took, one in eight times being shorter: others use this machine too.
func turns(rounds int, fs ...func()) []float64 {
	all := make([][]float64, len(fs))
	for range rounds {
		for i, f := range fs {
			start := time.Now()
			f()
			all[i] = append(all[i], float64(time.Since(start).Nanoseconds()))
		}
	}
	short := make([]float64, len(fs))
	for i, t := range all {
		slices.Sort(t)
		short[i] = t[len(t)/8]
	}
	return short
}

// side runs f in some threads side by side.
func side(threads int, f func(worker int)) {
	var wait sync.WaitGroup
	for w := 1; w < threads; w++ {
		wait.Go(func() { f(w) })
	}
	f(0)
	wait.Wait()
}

// twoThreadGoal and prefillGoal are what the table marks against, by type.
func twoThreadGoal(layout string) float64 {
	if slices.Contains([]string{"q8_0x16", "q4_kx16", "q6_kx16", "q4_0x16", "iq4_xsx16"}, layout) {
		return 0.9
	}
	return 0
}

func prefillGoal(layout string) float64 {
	switch layout {
	case "q8_0x16", "q4_0x16":
		return 0.7
	case "q4_kx16", "q5_kx16", "q6_kx16", "iq4_xsx16":
		return 0.6
	}
	return 0.4
}

// ceilingTable: where an instruction bound is the reason, time must be within 1.15 of it.
func ceilingTable(rows []ceiling) string {
	var s strings.Builder
	fmt.Fprintf(&s, "\n%-12s %-10s %6s %6s %6s %7s %5s %7s %7s  %8s %8s %7s %7s\n",
		"layout", "set", "read", "t1", "t2", "cached", "GHz", "bound", "t/bound", "prefill", "plain", "bound", "t/bound")
	mark := func(share, goal, over float64) string {
		if share < goal && !(over > 0 && over <= 1.15) {
			return "*"
		}
		return " "
	}
	for _, r := range rows {
		over := r.bound / (r.decode[0] * r.read)
		overPrefill, bound := 0.0, 0.0
		if r.floor > 0 {
			overPrefill, bound = 1/(r.prefill[1]*r.floor), 1/r.floor
		}
		fmt.Fprintf(&s, "%-12s %-10s %6.1f %5.2f%s %5.2f%s %7.1f %5.2f %7.1f %7.2f  %7.2f%s %8.2f %7.2f %7.2f\n", r.layout, r.set, r.read,
			r.decode[0], mark(r.decode[0], 0.9, over), r.decode[1], mark(r.decode[1], twoThreadGoal(r.layout), 0), r.cached, r.clock, r.bound, over,
			r.prefill[0], mark(r.prefill[0], prefillGoal(r.layout), overPrefill), r.prefill[1], bound, overPrefill)
	}
	return s.String()
}
