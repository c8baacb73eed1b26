//go:build arm64 && !purego

package kernels

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"jns/kernels/arm64"
	"jns/kernels/cpu"
	"jns/kernels/scalar"
	"jns/kernels/tile"
)

// kernel is an assembly function.
type kernel = func(*arm64.GemmArgs)

// product is one layout: a row of the table in sets_arm64.go.
//
// One or two activation rows are multiplied by gemv, which reads the weights as they lie. For more, the weights of a tile row are expanded, a chunk of K at a time, to signed
// codes of a byte and float scales in a scratch that stays in the first-level cache, and panels of activation rows are multiplied with them; what a panel has summed waits in
// the output between chunks. The two sets differ in the panels and in the order of the codes.
type product struct {
	layout *tile.Layout
	s0, s1 int // bytes of a source block of 16 rows in the two streams
	gemv   [2]kernel
	form   *form
	expand [2]kernel // dotprod, i8mm
}

// form is what multiplies one form of expanded weights.
type form struct {
	scales int        // bytes of expanded scales per 32 columns
	panels [2][]panel // dotprod, i8mm; by number of activation rows, largest first
	sme    kernel     // of sixteen packed activation rows
}

type panel struct {
	cols int
	run  kernel
}

// The sets' indices in tables.
const (
	dotprod = iota
	i8mm
	sme2
)

var setNames = [...]string{cpu.DotProd, cpu.I8MM, cpu.SME2}

const (
	// chunkBlocks is the part of K that is expanded at a time, in blocks of 32: with scales 9 to 12 KiB, a third of the smallest first-level cache among these cores.
	chunkBlocks = 16
	// callBytes bounds the weights that one call of a gemv reads, callPanels the column panels of one call.
	callBytes  = 256 << 10
	callPanels = 64
	// cacheBytes bounds the activations that are multiplied with all tile rows before the next ones: a part of the second-level cache.
	cacheBytes = 256 << 10
)

// scratch holds the expanded weights of a chunk.
type scratch struct {
	buf [chunkBlocks*(512+256) + 64]byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// variant is a way to compute a product of from activation rows and more.
type variant struct {
	from int
	name string
	run  func(a *MatMulArgs)
}

// variants lists the ways of a set, fewest activation rows first.
func (p *product) variants(set int) []variant {
	name := func(op string, rows, cols, set int) string {
		return fmt.Sprintf("%s_%s_q8x_%dx%d_%s", op, p.layout.Name, rows, cols, setNames[set])
	}
	vs := []variant{{1, name("gemv", 16, 1, dotprod), p.multiplyDirect}, {2, name("gemv", 16, 2, dotprod), p.multiplyDirect}}
	panels := min(set, i8mm)
	vs = append(vs, variant{3, name("gemm", 8, 4, panels), func(a *MatMulArgs) { p.multiplyPanels(a, panels) }})
	if set < sme2 {
		return vs
	}
	if i := slices.IndexFunc(streams, func(s streamed) bool { return s.layout == p.layout }); i >= 0 {
		vs = vs[:0]
		for k, cols := range streamCols {
			run := streams[i].kernels[k]
			vs = append(vs, variant{cols/2 + 1, name("gemv", 64, cols, sme2), func(a *MatMulArgs) { multiplyStream(a, p.layout, p.codesAt(a.Cols), run) }})
		}
	}
	return append(vs, variant{smeFew, name("gemm", 16, 16, sme2), p.multiplySME})
}

// bind makes the product of a set.
func (p *product) bind(set int) *MatMul { return bindVariants(p.layout, set, p.variants(set)) }

// bindVariants makes a product of the ways to compute it: what runs and what receipts say of it come from one list.
func bindVariants(l *tile.Layout, set int, vs []variant) *MatMul {
	m := &MatMul{Name: vs[len(vs)-1].name, Set: setNames[set]}
	for _, v := range vs {
		m.Variants = append(m.Variants, Variant{v.from, v.name})
	}
	if set == sme2 {
		m.Group = 4
		if !strings.HasSuffix(vs[0].name, cpu.SME2) {
			m.Reason = "a code book by index takes a gather, which streaming mode has not; containers for m4 have its levels instead"
		}
	}
	m.Func = func(a *MatMulArgs) {
		if a.N < 1 || a.Cols == 0 {
			scalar.MatMul(l)(a) // assembly counts down to zero
			return
		}
		vs[m.Variant(a.N)].run(a)
	}
	return m
}

// multiplyPanels expands the weights, for as many activation rows at a time as stay in the cache.
func (p *product) multiplyPanels(a *MatMulArgs, set int) {
	s := scratches.Get().(*scratch)
	per := max(cacheBytes/tile.Q8XRowBytes(a.Cols)/4*4, 8)
	for n := 0; n < a.N; n += per {
		p.multiplyExpanded(a, s, set, n, min(per, a.N-n))
	}
	scratches.Put(s)
}

func (p *product) multiplyDirect(a *MatMulArgs) {
	base := p.codesAt(a.Cols)
	step := max(1, callBytes/int(a.WStride))
	for t := 0; t < a.Tiles; t += step {
		w := unsafe.Add(a.W, uintptr(t)*a.WStride)
		g := arm64.GemmArgs{
			P0: w, P1: unsafe.Add(w, base), Stride: a.WStride, Tiles: min(step, a.Tiles-t), Blocks: a.Cols / p.layout.Codec.Elems,
			X: a.X, XStride: a.XStride, Y: unsafe.Add(a.Y, t*64), YStride: a.YStride, Ahead: a.Prefetch,
		}
		call(p.gemv[a.N-1], hide(&g))
	}
}

// codesAt is the offset of stream 1 in a tile row.
func (p *product) codesAt(cols int) int { return tile.X16Base(cols/p.layout.Codec.Elems, p.s0) }

// multiplyExpanded computes activation rows n0 … n0+n.
func (p *product) multiplyExpanded(a *MatMulArgs, s *scratch, set, n0, n int) {
	blocks := a.Cols / tile.Q8XElems
	subs := p.layout.Codec.Elems / tile.Q8XElems
	codes := unsafe.Pointer(&s.buf[0])
	codes = unsafe.Add(codes, -uintptr(codes)&63)
	scales := unsafe.Add(codes, chunkBlocks*512)
	for t := range a.Tiles {
		w := unsafe.Add(a.W, uintptr(t)*a.WStride)
		for b := 0; b < blocks; b += chunkBlocks {
			nb := min(chunkBlocks, blocks-b)
			e := arm64.GemmArgs{
				P0: unsafe.Add(w, b/subs*p.s0), P1: unsafe.Add(w, p.codesAt(a.Cols)+b/subs*p.s1), Blocks: nb / subs, Codes: codes, Scales: scales,
			}
			call(p.expand[set], hide(&e))
			x, y := unsafe.Add(a.X, uintptr(n0)*a.XStride+uintptr(b*tile.Q8XBytes)), unsafe.Add(a.Y, uintptr(n0)*a.YStride+uintptr(t)*64)
			kernels := p.form.panels[set]
			for done := 0; done < n; {
				for kernels[0].cols > n-done {
					kernels = kernels[1:]
				}
				k := kernels[0]
				panels := min((n-done)/k.cols, callPanels)
				g := arm64.GemmArgs{
					Codes: codes, Scales: scales, Blocks: nb, Panels: panels, Load: b,
					X: unsafe.Add(x, uintptr(done)*a.XStride), XStride: a.XStride, Y: unsafe.Add(y, uintptr(done)*a.YStride), YStride: a.YStride,
				}
				call(k.run, hide(&g))
				done += panels * k.cols
			}
		}
	}
}

// floatProduct is a layout of float weights: every kernel takes the weights as they lie. SMMLA does nothing for floats, and SME2's products of two vectors keep the order of sums
// that the definition has.
type floatProduct struct {
	layout *tile.Layout
	two    kernel // one activation row, pairs of tile rows
	one    []panel
}

// bind makes the product of a set, nil if the set has no kernels for floats.
func (p *floatProduct) bind(set int) *MatMul {
	name := func(op string, rows, cols int) string {
		return fmt.Sprintf("%s_%s_f32_%dx%d_%s", op, p.layout.Name, rows, cols, setNames[set])
	}
	switch set {
	case dotprod:
		return bindVariants(p.layout, set, []variant{{1, name("gemv", 32, 1), p.matMul}, {2, name("gemv", 16, 4), p.matMul}})
	case sme2:
		k := floatStreams[slices.IndexFunc(floatStreams, func(s streamed) bool { return s.layout == p.layout })].kernels
		one := func(run streamKernel) func(a *MatMulArgs) {
			return func(a *MatMulArgs) { multiplyStream(a, p.layout, 0, run) }
		}
		return bindVariants(p.layout, set, []variant{{1, name("gemv", 64, 1), one(k[0])}, {2, name("gemv", 64, 2), one(k[1])}, {3, name("gemv", 64, 4), func(a *MatMulArgs) {
			multiplyStreams(a, p.layout, k[2])
		}}})
	}
	return nil
}

func (p *floatProduct) matMul(a *MatMulArgs) {
	t := 0
	if pairs := a.Tiles / 2; a.N == 1 {
		step := max(1, callBytes/2/int(a.WStride))
		for ; t/2 < pairs; t += 2 * step {
			p.call(p.two, a, t, min(step, pairs-t/2), 0)
		}
		t = 2 * pairs
	}
	for ; t < a.Tiles; t++ {
		kernels := p.one
		for n := 0; n < a.N; {
			for kernels[0].cols > a.N-n {
				kernels = kernels[1:]
			}
			p.call(kernels[0].run, a, t, 1, n)
			n += kernels[0].cols
		}
	}
}

func (p *floatProduct) call(k kernel, a *MatMulArgs, t, tiles, n int) {
	g := arm64.GemmArgs{
		P1: unsafe.Add(a.W, uintptr(t)*a.WStride), Stride: a.WStride, Tiles: tiles, Blocks: a.Cols,
		X: unsafe.Add(a.X, uintptr(n)*a.XStride), XStride: a.XStride, Y: unsafe.Add(a.Y, uintptr(n)*a.YStride+uintptr(t)*64), YStride: a.YStride,
		Ahead: a.Prefetch,
	}
	call(k, hide(&g))
}

// call runs a kernel. It is not inlined, so that its prologue is a point where the scheduler can stop the goroutine: assembly has none.
//
//go:noinline
func call(f kernel, a *arm64.GemmArgs) { f(a) }

// hide keeps an argument block on the stack: the compiler cannot see that a kernel called through a variable keeps no pointer to it.
func hide(a *arm64.GemmArgs) *arm64.GemmArgs {
	x := uintptr(unsafe.Pointer(a))
	return *(**arm64.GemmArgs)(unsafe.Pointer(&x))
}
