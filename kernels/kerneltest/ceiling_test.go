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
	"jns/kernels/cases"
	"jns/kernels/tile"
)

// Sizes of what BenchmarkCeiling multiplies: a cycle of slices that no cache holds, tile rows that the second-level cache holds, and a prompt.
const (
	ceilingCols   = 4096
	ceilingSlice  = 8 << 20
	ceilingSlices = 129 // odd: reads and products, which take turns, come by every slice
	ceilingCached = 256 << 10
	ceilingTiles  = 16  // tile rows of a prompt's matrix: what is done once for all of it hardly counts
	ceilingRows   = 192 // activation rows of it
)

// ceiling is a row of the table: the shortest nanoseconds of each thing measured.
type ceiling struct {
	layout *tile.Layout
	set    string
	memory [2]struct{ read, product float64 } // of a slice each, by threads less one
	cached float64                            // of a byte of weights in the second-level cache
	peak   float64                            // of a prompt's count of the kernel's own products
	plain  float64                            // of as many of the set's plainest products
	prompt float64
}

// merge keeps the shorter times.
func (r *ceiling) merge(o ceiling) {
	for i := range r.memory {
		r.memory[i].read = min(r.memory[i].read, o.memory[i].read)
		r.memory[i].product = min(r.memory[i].product, o.memory[i].product)
	}
	r.cached, r.peak, r.plain, r.prompt = min(r.cached, o.cached), min(r.peak, o.peak), min(r.plain, o.plain), min(r.prompt, o.prompt)
}

var ceilings []ceiling

// BenchmarkCeiling prints a table of every layout in every set against the machine: one vector and weights in memory against plain reads and against the
// instruction bound, a prompt against loops of products. What is compared takes turns; runs after the first (-count) keep the shorter times, since others
// use the machine too. A * marks what misses its goal.
//
//	go test ./kernels/kerneltest -run '^$' -bench Ceiling/avx512vnni -benchtime 1x -count 3
func BenchmarkCeiling(b *testing.B) {
	big := cases.Aligned(ceilingSlice * ceilingSlices)
	largePages(big)
	for _, set := range kernels.Available() {
		for _, l := range x16Layouts() {
			m, err := kernels.BindMatMul(l, set)
			if err != nil || m.Set != set || set == "scalar" || l.Codec.Float() || forOthers(l, set) {
				continue
			}
			b.Run(set+"/"+l.Name, func(b *testing.B) {
				for b.Loop() {
					r := measureCeiling(l, m, big)
					i := slices.IndexFunc(ceilings, func(c ceiling) bool { return c.layout == l && c.set == set })
					if i < 0 {
						ceilings = append(ceilings, r)
						continue
					}
					ceilings[i].merge(r)
				}
			})
		}
	}
	if len(ceilings) > 0 {
		fmt.Fprint(os.Stderr, ceilingTable(ceilings))
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
	y := make([]float32, max(2*ceilingSlice/row*16, ceilingRows*(ceilingTiles*16+cases.Guard)))
	product := func(first, tiles, n, worker int) {
		m.Func(&kernels.MatMulArgs{
			W: unsafe.Pointer(&big[first*row]), WStride: uintptr(row), Tiles: tiles, Cols: ceilingCols, N: n,
			X: unsafe.Pointer(&c.X[0]), XStride: uintptr(c.XStride),
			Y: unsafe.Pointer(&y[worker*(ceilingSlice/row*16)]), YStride: (ceilingTiles*16 + cases.Guard) * 4,
		})
	}
	probe := kernels.ProbeFor(m.Set)
	r := ceiling{layout: l, set: m.Set}
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
		r.memory[threads-1].read, r.memory[threads-1].product = t[0], t[1]
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
	r.cached = t[0] / float64(times*tiles*row)
	r.peak, r.plain, r.prompt = t[1], t[2], t[3]
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
		row := r.layout.RowBytes(ceilingCols)
		slice := float64(ceilingSlice / row * row)
		read, rate := slice/r.memory[0].read, slice/r.memory[0].product
		t1, t2 := rate/read, r.memory[1].read/r.memory[1].product
		clock := ceilingTiles * 16 * ceilingCols * ceilingRows / productsPerCycle(r.set) / r.plain
		bound, over, share, overPrompt := 0.0, 0.0, 0.0, 0.0
		if cycles := gemvCycles(r.layout, r.set); cycles > 0 {
			bound = float64(row) / float64(ceilingCols/r.layout.Codec.Elems) / cycles * clock
			over = bound / rate
		}
		if cycles := panelShare(r.layout, r.set); cycles > 0 {
			share = 1 / cycles
			overPrompt = share * r.prompt / r.plain
		}
		fmt.Fprintf(&s, "%-12s %-10s %6.1f %5.2f%s %5.2f%s %7.1f %5.2f %7.1f %7.2f  %7.2f%s %8.2f %7.2f %7.2f\n", r.layout.Name, r.set, read,
			t1, mark(t1, 0.9, over), t2, mark(t2, twoThreadGoal(r.layout.Name), 0), 1/r.cached, clock, bound, over,
			r.peak/r.prompt, mark(r.peak/r.prompt, prefillGoal(r.layout.Name), overPrompt), r.plain/r.prompt, share, overPrompt)
	}
	return s.String()
}
