package exec

import (
	"sync/atomic"
	"unsafe"

	"jns/kernels"
	"jns/runtime/internal/kv"
	"jns/runtime/internal/sched"
)

// With few rows, as in decoding, there are few KV heads to hand out, and each should be read once: so the pages of a head are parted instead, in spans. What a query's pages give is merged
// in order of position, so a span needs the state behind the one before it. Often that is there already when a worker takes the span; where it is not, the worker computes its pages
// apart, waits, and joins them. Spans are handed out in order, so the one before is always in somebody's hands.
const (
	spanRows  = 16 // most rows of a batch that are few
	spanPages = 16 // most pages of a span, for the memory that pages apart take
	spanShare = 4  // spans that each worker should find
)

// chains are the states of the queries whose pages are parted, between spans. An attention uses them from its first span to its last.
type chains struct {
	list []chain   // by block of rows, KV head and run of its query heads
	o    []float32 // by row and query head
}

// chain is the state of a piece's queries behind its first spans.
type chain struct {
	done atomic.Uint32 // spans; 0 again behind the last
	_    [60]byte
	m, l [kernels.AttendMax]float32
	_    [64]byte
}

// need makes room for so many queries with rows of ov values.
func (c *chains) need(queries, ov int) {
	if len(c.list) < queries {
		c.list = make([]chain, queries)
	}
	if len(c.o) < queries*ov {
		c.o = alignedF32(queries * ov)
	}
}

// reset forgets spans that a run left undone.
func (c *chains) reset() {
	for i := range c.list {
		c.list[i].done.Store(0)
	}
}

// partBytes is the distance between parts of n queries.
func partBytes(n, ov int) int { return (kernels.PartO + 4*n*ov + 63) &^ 63 }

// spanBlock is a block of rows of one session, with the pages that they see.
type spanBlock struct{ r0, r1, first, pages int }

// runSpans hands out spans of pages × blocks of rows × KV heads × runs of a head's query heads, span by span.
func (a *attention) runSpans(w *worker, next *sched.Counter) {
	m, workers := a.m, a.m.pool.AtWork()
	heads := min(a.group, kernels.AttendMax)
	var blocks [spanRows]spanBlock
	n, total, most := a.blocks(&blocks, max(kernels.AttendMax/heads, 1))
	runs := func() int { return (a.group + heads - 1) / heads }
	for heads > 1 && total*a.shape.KVHeads*runs() < 2*workers { // short contexts
		heads = (heads + 1) / 2
	}
	each := a.shape.KVHeads * runs()
	size := min(max((total*each+spanShare*workers-1)/(spanShare*workers), 1), spanPages)
	pieces := (most + size - 1) / size * n * each
	for {
		i, ok := m.pool.Take(w.id, next, pieces)
		if !ok {
			return
		}
		b, span, piece := &blocks[i/each%n], i/(each*n), i%each
		if span*size >= b.pages {
			continue
		}
		kvHead := piece / runs()
		h0 := kvHead*a.group + piece%runs()*heads
		h1 := min(h0+heads, (kvHead+1)*a.group)
		var then place // of the piece that is this worker's if all take turns
		if i := i + workers; i < pieces {
			if b, span := &blocks[i/each%n], i/(each*n); span*size < b.pages {
				then = place{m.batch[b.r0].Cache, i % each / runs(), b.first + span*size}
			}
		}
		if !a.span(w, b, &m.chains.list[i%(n*each)], span, size, kvHead, h0, h1, then) {
			return
		}
	}
}

// blocks parts the rows of the batch, at most so many in a block, and gives the number of blocks, that of their pages, and the most pages of one.
func (a *attention) blocks(list *[spanRows]spanBlock, rows int) (n, total, most int) {
	batch := a.m.batch
	for r := 0; r < len(batch); n++ {
		b := spanBlock{r0: r, r1: r}
		first, last := batch[r].Pos, 0
		for ; b.r1 < len(batch) && b.r1-r < rows && batch[b.r1].Cache == batch[r].Cache; b.r1++ {
			lo, hi := a.sees(&batch[b.r1])
			first, last = min(first, lo), max(last, hi)
		}
		b.first = first / kv.Chunk
		b.pages = (last+kv.Chunk-1)/kv.Chunk - b.first
		list[n] = b
		total, most = total+b.pages, max(most, b.pages)
		r = b.r1
	}
	return n, total, most
}

// span adds a span of pages to the state of query heads h0 … h1-1 of a block; then is what the worker probably reads after it. False: a worker has panicked.
func (a *attention) span(w *worker, b *spanBlock, c *chain, span, size, kvHead, h0, h1 int, then place) bool {
	m, s := a.m, &w.attend
	cache := m.batch[b.r0].Cache
	a.ask(w, b.r0, b.r1, h0, h1)
	first := b.first + span*size
	last := min(first+size, b.first+b.pages)
	switch {
	case span == 0:
		a.begin(w)
		a.pages(w, cache, kvHead, first, last, then)
	case c.done.Load() == uint32(span):
		a.resume(w, b, c, h0, h1)
		a.pages(w, cache, kvHead, first, last, then)
	default:
		stride := partBytes(s.args.N, a.ov())
		for i := first; i < last; i++ {
			next := place{cache, kvHead, i + 1}
			if i+1 == last {
				next = then
			}
			a.apart(w, s.parts[(i-first)*stride:][:stride], cache, kvHead, i, next)
		}
		if !m.pool.Await(&c.done, uint32(span)) {
			return false
		}
		a.resume(w, b, c, h0, h1)
		g, j := &s.args, &s.join
		j.Parts, j.Stride, j.Pages = unsafe.Pointer(unsafe.SliceData(s.parts)), uintptr(stride), last-first
		j.N, j.DV, j.M, j.L, j.O, j.OStride = g.N, g.DV, g.M, g.L, g.O, g.OStride
		m.vec.Join(j)
	}
	if last == b.first+b.pages {
		a.finish(w, b.r0, b.r1, h0, h1)
		c.done.Store(0)
		return true
	}
	a.keep(w, b, c, h0, h1)
	c.done.Store(uint32(span + 1))
	return true
}

// apart computes a page from an empty state into a part.
func (a *attention) apart(w *worker, part []byte, cache *kv.Cache, kvHead, page int, next place) {
	g := &w.attend.args
	base := unsafe.Pointer(unsafe.SliceData(part))
	g.M, g.L, g.O = unsafe.Add(base, kernels.PartM), unsafe.Add(base, kernels.PartL), unsafe.Add(base, kernels.PartO)
	fresh(unsafe.Slice((*float32)(g.M), g.N), unsafe.Slice((*float32)(g.L), g.N), unsafe.Slice((*float32)(g.O), g.N*a.ov()))
	a.page(w, cache, kvHead, page, next)
	var sees uint16
	for n := range g.N {
		if g.Lo[n] < g.Hi[n] {
			sees |= 1 << n
		}
	}
	*(*uint16)(unsafe.Add(base, kernels.PartSees)) = sees
}

// keep puts the worker's state into a chain, resume takes it from there.
func (a *attention) keep(w *worker, b *spanBlock, c *chain, h0, h1 int) {
	s := &w.attend
	copy(c.m[:], s.m)
	copy(c.l[:], s.l)
	a.eachRun(b, h0, h1, func(kept []float32, at int) { copy(kept, s.o[at:]) })
}

func (a *attention) resume(w *worker, b *spanBlock, c *chain, h0, h1 int) {
	s := &w.attend
	s.own()
	copy(s.m, c.m[:])
	copy(s.l, c.l[:])
	a.eachRun(b, h0, h1, func(kept []float32, at int) { copy(s.o[at:], kept) })
}

// eachRun gives, row by row, where the values of query heads h0 … h1-1 are kept, and where the worker has them.
func (a *attention) eachRun(b *spanBlock, h0, h1 int, f func(kept []float32, at int)) {
	ov, heads := a.ov(), a.group*a.shape.KVHeads
	for r := b.r0; r < b.r1; r++ {
		f(a.m.chains.o[(r*heads+h0)*ov:(r*heads+h1)*ov], (r-b.r0)*(h1-h0)*ov)
	}
}
