//go:build amd64 && !purego

package kernels

import (
	"sync"
	"unsafe"

	"jns/kernels/amd64"
	"jns/kernels/scalar"
	"jns/kernels/tile"
)

// kernel is an assembly function.
type kernel = func(*amd64.GemmArgs)

// product is one layout in one set: a row of the tables in sets_amd64.go.
//
// A few activation rows are multiplied by gemv, which reads the weights as they lie. For more, the weights of one or two tile rows are
// expanded, a chunk of K at a time, to codes of a byte and float scales in a scratch that stays in the first-level cache, and panels
// of activation rows are multiplied with them; what a panel has summed waits in the output between chunks.
type product struct {
	layout  *tile.Layout
	name    string
	s0, s1  int     // bytes of a source block of 16 rows in the two streams
	scales  int     // bytes of expanded scales per 32 columns
	direct  bool    // codes need no expansion: panels read them from the weights
	words   bool    // expanded codes are of 16 bits, and panels want such activations: see rewritten
	halves  bool    // kernels want activations with sums of half blocks: see rewritten
	sums    kernel  // rewrites activations for gemv, nil if they are taken as they are: see rewritten
	gemv    []panel // by number of activation rows, largest first
	gemvSet string  // the set that gemv is of, "" for the product's own
	few     int     // up to so many activation rows gemv is used
	joined  bool    // gemv asks for both streams ahead of time as if they were one, on every processor: see cpu.Ahead
	near    int     // the farthest that gemv asks for lines into the first-level cache, 0: as far as the processor likes
	expand  kernel
	panels  *panelSet
	tiles   *panelSet // where tile registers multiply most activation rows, see tiled; panels then do the rest
	signs   kernel    // what tiles want done to the codes first, if anything; done again it is undone
}

// panelSet is what multiplies one form of expanded weights: kernels by number of activation rows, largest first.
type panelSet struct {
	wide []panel // of two tile rows; may be empty
	one  []panel // of one tile row
}

// blockAhead is how many bytes of a tile row a panel at most prefetches in a block.
const blockAhead = 128

type panel struct {
	cols int
	run  kernel
}

const (
	// chunkBlocks is the largest part of K that is expanded at a time, in blocks of 32: two tile rows of it are 25 KiB. K is cut evenly, since every
	// chunk has a start and an end: 16 of 18 blocks and then 2 took a tenth longer than 18.
	chunkBlocks = 20
	// chunkWords is the same where codes are of 16 bits.
	chunkWords = 16
	// callBytes bounds the weights that one call of a gemv reads, so that a call stays far under 100 µs.
	callBytes = 256 << 10
	// callPanels bounds the column panels of one call.
	callPanels = 64
	// cacheBytes bounds the activations that are multiplied with all tile rows before the next ones: a part of the second-level cache.
	cacheBytes = 1 << 20
	// panelRows is a number of activation rows that are whole panels in every set.
	panelRows = 24
	// sumsBytes is where panels of tile registers leave their sums: see GemmArgs.
	sumsBytes = 8 << 10
)

// scratch holds sums of tile registers and expanded weights of two tile rows.
type scratch struct {
	buf [2*sumsBytes + 2*chunkBlocks*(512+256)]byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (p *product) matMul(a *MatMulArgs) {
	if a.N < 1 || a.Cols == 0 {
		scalar.MatMul(p.layout)(a) // assembly counts down to zero
		return
	}
	if p.halves || p.words && a.N > p.few || p.sums != nil && a.N <= p.few {
		p.rewritten(a)
		return
	}
	p.multiply(a)
}

func (p *product) multiply(a *MatMulArgs) {
	if a.N <= p.few {
		p.multiplyDirect(a)
		return
	}
	p.multiplyMany(a)
}

// multiplyMany multiplies activations in the form that panels take.
func (p *product) multiplyMany(a *MatMulArgs) {
	s := scratches.Get().(*scratch)
	per := evenRows(a.N, int(a.XStride))
	for n := 0; n < a.N; n += per {
		p.multiplyExpanded(a, s, n, min(per, a.N-n))
	}
	scratches.Put(s)
}

// evenRows is how many of n activation rows, of so many bytes, are multiplied with all weights before the next ones: parts of about one size that the cache
// holds, because weights are expanded for each, of whole panels.
func evenRows(n, bytes int) int {
	most := max(cacheBytes/bytes, panelRows)
	parts := (n + most - 1) / most
	return min(pad((n+parts-1)/parts, panelRows), max(most/panelRows, 1)*panelRows)
}

// multiplyDirect lets gemv kernels take some tile rows, which stay in the cache if it takes more than one kernel for all activation rows.
func (p *product) multiplyDirect(a *MatMulArgs) {
	base := p.codesAt(a.Cols)
	step := max(1, callBytes/min(a.N, 8)/int(a.WStride))
	for t := 0; t < a.Tiles; t += step {
		w := unsafe.Add(a.W, uintptr(t)*a.WStride)
		kernels := p.gemv
		for n := 0; n < a.N; {
			for kernels[0].cols > a.N-n {
				kernels = kernels[1:]
			}
			g := amd64.GemmArgs{
				P0: w, P1: unsafe.Add(w, base), Stride: a.WStride, Tiles: min(step, a.Tiles-t), Blocks: a.Cols / p.layout.Codec.Elems,
				X: unsafe.Add(a.X, uintptr(n)*a.XStride), XStride: a.XStride,
				Y: unsafe.Add(a.Y, uintptr(n)*a.YStride+uintptr(t)*64), YStride: a.YStride,
			}
			p.askAhead(&g)
			call(kernels[0].run, hide(&g))
			n += kernels[0].cols
		}
	}
}

// codesAt is the offset of stream 1 in a tile row.
func (p *product) codesAt(cols int) int { return tile.X16Base(cols/p.layout.Codec.Elems, p.s0) }

// blockBytes is the size of a block of activations as panels take them.
func (p *product) blockBytes() int {
	if p.words {
		return tile.Q8XBytes + tile.Q8XElems
	}
	return tile.Q8XBytes
}

// multiplyExpanded computes activation rows n0 … n0+n.
func (p *product) multiplyExpanded(a *MatMulArgs, s *scratch, n0, n int) {
	step := 1
	if len(p.panels.wide) > 0 {
		step = 2
	}
	blocks := a.Cols / tile.Q8XElems
	subs := p.layout.Codec.Elems / tile.Q8XElems
	chunks := p.chunks(blocks)
	sums := unsafe.Pointer(&s.buf[0])
	sums = unsafe.Add(sums, -uintptr(sums)&(sumsBytes-1))
	codes := unsafe.Add(sums, sumsBytes)
	scales := unsafe.Add(codes, 2*chunkBlocks*512)
	for t := 0; t < a.Tiles; t += step {
		w := unsafe.Add(a.W, uintptr(t)*a.WStride)
		rows := min(step, a.Tiles-t)
		for chunk, b := 0, 0; chunk < chunks; chunk++ {
			nb := p.chunkEnd(blocks, chunk, chunks) - b
			g := amd64.GemmArgs{
				P0: sums, Codes: codes, Scales: scales, CStride: chunkBlocks * 512, SStride: uintptr(chunkBlocks * p.scales),
				X: unsafe.Add(a.X, uintptr(n0)*a.XStride+uintptr(b*p.blockBytes())), XStride: a.XStride,
				Y: unsafe.Add(a.Y, uintptr(n0)*a.YStride+uintptr(t)*64), YStride: a.YStride, Load: b,
			}
			p0 := unsafe.Add(w, b/subs*p.s0)
			p1 := unsafe.Add(w, p.codesAt(a.Cols)+b/subs*p.s1)
			for r := range rows {
				e := amd64.GemmArgs{
					P0: unsafe.Add(p0, uintptr(r)*a.WStride), P1: unsafe.Add(p1, uintptr(r)*a.WStride), Blocks: nb / subs,
					Codes: unsafe.Add(codes, uintptr(r)*g.CStride), Scales: unsafe.Add(scales, uintptr(r)*g.SStride),
				}
				call(p.expand, hide(&e))
			}
			if p.direct {
				g.Codes, g.CStride = p1, a.WStride
			}
			g.Blocks = nb
			tiled := p.tiled(n)
			if tiled < n {
				h := g
				h.X, h.Y = unsafe.Add(g.X, uintptr(tiled)*g.XStride), unsafe.Add(g.Y, uintptr(tiled)*g.YStride)
				left := p.next(a, &h, t, step, chunk+1, chunks)
				if tiled > 0 {
					left = 0
				}
				p.panels.columns(&h, rows, n-tiled, left)
			}
			if tiled == 0 {
				b += nb
				continue
			}
			if p.signs != nil {
				for r := range rows {
					e := amd64.GemmArgs{P1: unsafe.Add(g.Codes, uintptr(r)*g.CStride), Codes: unsafe.Add(codes, r*chunkBlocks*512), Blocks: nb}
					call(p.signs, hide(&e))
				}
				g.Codes, g.CStride = codes, chunkBlocks*512
			}
			left := p.next(a, &g, t, step, chunk+1, chunks)
			p.tiles.columns(&g, rows, tiled, left)
			b += nb
		}
	}
}

// chunks is the number of parts that so many blocks are cut into, and chunkEnd the block behind one of them: whole blocks of the source each.
func (p *product) chunks(blocks int) int {
	most := chunkBlocks
	if p.words {
		most = chunkWords
	}
	subs := p.layout.Codec.Elems / tile.Q8XElems
	blocks, most = blocks/subs, most/subs
	return (blocks + most - 1) / most
}

func (p *product) chunkEnd(blocks, chunk, chunks int) int {
	subs := p.layout.Codec.Elems / tile.Q8XElems
	return blocks / subs * (chunk + 1) / chunks * subs
}

// next sets what the panels of a chunk prefetch – a chunk of tile row t, or the first one of the next tile rows – and gives the bytes of it per tile row.
func (p *product) next(a *MatMulArgs, g *amd64.GemmArgs, t, step, chunk, chunks int) int {
	blocks, b := a.Cols/tile.Q8XElems, 0
	if chunk == chunks {
		chunk, t = 0, t+step
	}
	if chunk > 0 {
		b = p.chunkEnd(blocks, chunk-1, chunks)
	}
	g.Stride = a.WStride
	if t+step > a.Tiles {
		g.P1, g.Stride = a.W, 0 // nothing follows; a valid address all the same
		return 0
	}
	subs := p.layout.Codec.Elems / tile.Q8XElems
	g.P1 = unsafe.Add(a.W, uintptr(t)*a.WStride+uintptr(p.codesAt(a.Cols)+b/subs*p.s1))
	return (p.chunkEnd(blocks, chunk, chunks) - b) / subs * p.s1
}

// columns multiplies the expanded chunk with n activation rows and prefetches left bytes per tile row meanwhile.
func (s *panelSet) columns(g *amd64.GemmArgs, rows, n, left int) {
	kernels := s.one
	if rows == 2 {
		kernels = s.wide
	}
	x, y, next := g.X, g.Y, g.P1
	for done, ahead := 0, 0; done < n; {
		for kernels[0].cols > n-done {
			kernels = kernels[1:]
		}
		k := kernels[0]
		panels := min((n-done)/k.cols, callPanels)
		g.Ahead = 0
		if ahead < left {
			// As slowly as it may go to be done with all columns, at most what a kernel prefetches in a block.
			g.Ahead = uintptr(min(blockAhead, pad64(max(1, left*k.cols/(g.Blocks*n)))))
			panels = min(panels, max(1, (left-ahead)/(int(g.Ahead)*g.Blocks)))
		}
		// Never a pointer past the last row: the collector would take it for one into the next object.
		g.X, g.Y = unsafe.Add(x, uintptr(done)*g.XStride), unsafe.Add(y, uintptr(done)*g.YStride)
		g.Panels = panels
		g.P1 = unsafe.Add(next, min(ahead, max(0, left-128)))
		call(k.run, hide(g))
		done += panels * k.cols
		ahead += panels * g.Blocks * int(g.Ahead)
	}
}

func pad64(n int) int { return (n + 63) &^ 63 }

func pad(n, to int) int { return (n + to - 1) / to * to }

// floatProduct is a layout of float weights in one set: every kernel takes the weights as they lie.
type floatProduct struct {
	layout *tile.Layout
	name   string
	groups []floatGroup // by tile rows, largest first; the last takes one tile row
}

// floatGroup is the kernels that take some tile rows side by side, by number of activation rows, largest first.
type floatGroup struct {
	tiles   int
	kernels []panel
	only    bool // for a single activation row only
}

func (p *floatProduct) matMul(a *MatMulArgs) {
	if a.N < 1 || a.Cols == 0 {
		scalar.MatMul(p.layout)(a)
		return
	}
	per := max(cacheBytes/(4*a.Cols)/12*12, 12)
	for n := 0; n < a.N; n += per {
		p.multiply(a, n, min(per, a.N-n))
	}
}

// multiply computes activation rows n0 … n0+n.
func (p *floatProduct) multiply(a *MatMulArgs, n0, n int) {
	for t := 0; t < a.Tiles; {
		i := 0
		for p.groups[i].tiles > a.Tiles-t || p.groups[i].only && (n > 1 || p.groups[i].tiles*int(a.WStride) > 4*callBytes) {
			i++
		}
		grp := &p.groups[i]
		// Many tile rows a call for a single activation row, else one group for all activation rows while it is in the cache.
		tiles := grp.tiles
		if n == 1 {
			tiles *= max(1, min((a.Tiles-t)/grp.tiles, callBytes/int(a.WStride)/grp.tiles))
		}
		kernels := grp.kernels
		for done := 0; done < n; {
			for kernels[0].cols > n-done {
				kernels = kernels[1:]
			}
			k := kernels[0]
			g := amd64.GemmArgs{
				P1: unsafe.Add(a.W, uintptr(t)*a.WStride), Stride: a.WStride, Tiles: tiles, Blocks: a.Cols,
				X: unsafe.Add(a.X, uintptr(n0+done)*a.XStride), XStride: a.XStride,
				Y: unsafe.Add(a.Y, uintptr(n0+done)*a.YStride+uintptr(t)*64), YStride: a.YStride,
			}
			setAhead(&g, g.P1, prefetching.Near/grp.tiles, prefetching.Far/grp.tiles, 0)
			g.Turn = a.Cols / 4
			if prefetching.Joined {
				g.Turn -= min(g.Turn, prefetching.Near/grp.tiles/(4*p.layout.RowBytes(64)/64))
			}
			call(k.run, hide(&g))
			done += k.cols
		}
		t += tiles
	}
}

// call runs a kernel. It is not inlined, so that its prologue is a point where the scheduler can stop the goroutine: assembly has none.
//
//go:noinline
func call(f kernel, a *amd64.GemmArgs) { f(a) }

// hide keeps an argument block on the stack: the compiler cannot see that a kernel called through a variable keeps no pointer to it.
func hide(a *amd64.GemmArgs) *amd64.GemmArgs {
	x := uintptr(unsafe.Pointer(a))
	return *(**amd64.GemmArgs)(unsafe.Pointer(&x))
}
