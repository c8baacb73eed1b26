package exec

import (
	"math"
	"unsafe"

	"jns/format"
	"jns/kernels"
	"jns/runtime/internal/kv"
	"jns/runtime/internal/sched"
)

// ropeTable holds cos and sin of every row's angles, computed once per batch and shared by all layers.
type ropeTable struct {
	freqs    []float64
	mscale   float32
	pairs    int
	cos, sin []float32 // [batch capacity][pairs rounded up to 16]
}

func (t *ropeTable) row(v []float32, r int) []float32 {
	n := (t.pairs + 15) &^ 15
	return v[r*n : r*n+t.pairs]
}

// bindRopes adds the step that fills the tables.
func (m *Model) bindRopes() {
	m.ropes = make([]ropeTable, len(m.prog.Ropes))
	for i := range m.ropes {
		r := &m.prog.Ropes[i]
		n := (len(r.Freqs) + 15) &^ 15 * m.rows
		freqs := r.Freqs
		if len(r.Long) > 0 && m.context > int(r.LongFrom) {
			freqs = r.Long
		}
		m.ropes[i] = ropeTable{freqs: freqs, mscale: r.MScale, pairs: len(r.Freqs), cos: alignedF32(n), sin: alignedF32(n)}
	}
	if len(m.ropes) == 0 {
		return
	}
	m.eachRow(false, func(_ *worker, r int) {
		for i := range m.ropes {
			t := &m.ropes[i]
			m.vec.SinCos(t.row(t.cos, r), t.row(t.sin, r), int64(m.batch[r].Pos), t.freqs, t.mscale)
		}
	})
}

func (m *Model) bindRope(p *format.RopeParams) error {
	x, t := m.buf(p.X), &m.ropes[p.Table]
	heads, dim := int(p.Heads), int(p.HeadDim)
	m.eachRow(false, func(_ *worker, r int) {
		v, cos, sin := x.f32(r), t.row(t.cos, r), t.row(t.sin, r)
		for h := 0; h < heads; h++ {
			m.vec.Rope(v[h*dim:(h+1)*dim], cos, sin, p.NeoX)
		}
	})
	return nil
}

// appendRows is the number of consecutive rows that one piece of a KV append stores.
const appendRows = 32

func (m *Model) bindAppend(p *format.KVAppendParams) error {
	k, v := m.buf(p.K), m.buf(p.V)
	state := int(p.State)
	shape := m.store.Shape(state)
	m.step(false, func(w *worker, next *sched.Counter) {
		blocks := (m.n + appendRows - 1) / appendRows
		m.each(w, next, m.n, blocks*shape.KVHeads, func(i int) {
			h, r0 := i%shape.KVHeads, i/shape.KVHeads*appendRows
			for r := r0; r < min(r0+appendRows, m.n); r++ {
				row := &m.batch[r]
				page := row.Cache.Page(state, row.Pos/kv.Chunk)
				if shape.Eight {
					m.vec.StoreK8(page.Key(shape, h), k.f32(r)[h*shape.KeyDim:(h+1)*shape.KeyDim], row.Pos%kv.Chunk)
					m.vec.StoreV8(page.Value(shape, h), v.f32(r)[h*shape.ValDim:(h+1)*shape.ValDim], row.Pos%kv.Chunk)
					continue
				}
				m.vec.StoreK(page.Key(shape, h), k.f32(r)[h*shape.KeyDim:(h+1)*shape.KeyDim], row.Pos%kv.Chunk)
				m.vec.StoreV(page.Value(shape, h), v.f32(r)[h*shape.ValDim:(h+1)*shape.ValDim], row.Pos%kv.Chunk)
			}
		})
	})
	return nil
}

// attendScratch is what a worker needs for up to AttendMax queries.
type attendScratch struct {
	args    kernels.AttendArgs
	join    kernels.JoinArgs
	q, o, s []float32
	m, l    []float32
	lo, hi  [kernels.AttendMax]int // positions seen by each query: lo ≤ p < hi
	halves  []byte                 // room for a page of halves, where it is kept in eight bits
	keys    []byte                 // a page of keys with the unit matrix behind, see distances
	pos     [kernels.AttendMax]int // of each query: its position and head, where scores depend on the distance
	head    [kernels.AttendMax]int
	parts   []byte // of a span, see kernels.JoinArgs; nil where one worker is alone
}

// attention is a bound attention operation.
type attention struct {
	m          *Model
	q, out     *buffer
	state      int
	shape      *kv.Shape
	group      int // query heads of a KV head
	scale, cap float32
	sinks      []float32
	chunked    bool
	all        bool
	reach      int
	dist       *distances // nil: scores do not depend on the distance
	chosen     bool       // the output is wanted of the chosen rows only
}

// bindAttention: chosen says that rows are selected next. What is not selected then is not read again, as the verifier has proved.
func (m *Model) bindAttention(p *format.AttentionParams, chosen bool) error {
	a := &attention{m: m, q: m.buf(p.Q), out: m.buf(p.Out), state: int(p.State), shape: m.store.Shape(int(p.State)),
		scale: p.Scale, cap: p.SoftCap, sinks: m.vector(p.Sinks), all: p.All, reach: int(p.Reach)}
	a.chunked, a.chosen = p.Chunked, chosen
	if p.Most > 0 {
		m.positions = min(m.positions, int(p.Most))
	}
	if len(p.Slopes)+len(p.Edges) > 0 {
		a.dist = m.newDistances(p)
	}
	a.group = int(p.Heads) / a.shape.KVHeads
	ov := a.ov()
	for i := range m.work {
		s := &m.work[i].attend
		if len(s.m) == 0 {
			s.m, s.l = alignedF32(16), alignedF32(16)
			s.s = alignedF32(kernels.AttendMax * kv.Chunk)
		}
		if n := 2 * kv.Chunk * (a.shape.KeyDim + a.shape.ValDim); a.shape.Eight && len(s.halves) < n {
			s.halves = aligned(n)
		}
		if n := 2 * kv.Chunk * a.width(); a.dist != nil && len(s.keys) < n {
			s.keys = aligned(n)
		}
		if n := kernels.AttendMax * a.width(); len(s.q) < n {
			s.q = alignedF32(n)
		}
		if n := kernels.AttendMax * ov; len(s.o) < n {
			s.o = alignedF32(n)
		}
		if n := spanPages * partBytes(kernels.AttendMax, ov); len(m.work) > 1 && len(s.parts) < n {
			s.parts = aligned(n)
		}
	}
	if len(m.work) > 1 {
		m.chains.need(min(m.rows, spanRows)*int(p.Heads), ov)
	}
	m.step(false, a.run)
	return nil
}

// ov is the distance between rows of values in scratch memory.
func (a *attention) ov() int { return (a.shape.ValDim + 15) &^ 15 }

// width is that of a query's head as the kernel sees it.
func (a *attention) width() int {
	if a.dist != nil {
		return a.shape.KeyDim + kv.Chunk
	}
	return a.shape.KeyDim
}

// run hands out pieces. A query's bits depend neither on its companions nor on how its pages are parted.
func (a *attention) run(w *worker, next *sched.Counter) {
	if a.m.n <= spanRows && a.m.pool.AtWork() > 1 {
		a.runSpans(w, next)
		return
	}
	if a.chosen && 2*len(a.m.chosen) < a.m.n {
		a.runChosen(w, next)
		return
	}
	a.runBlocks(w, next)
}

// runChosen hands out the chosen rows one by one × KV heads × runs of a head's query heads.
func (a *attention) runChosen(w *worker, next *sched.Counter) {
	m, workers := a.m, a.m.pool.Workers()
	heads := min(a.group, kernels.AttendMax)
	for workers > 1 && heads > 1 && len(m.chosen)*a.shape.KVHeads*((a.group+heads-1)/heads) < 2*workers {
		heads = (heads + 1) / 2
	}
	runs := (a.group + heads - 1) / heads
	each := a.shape.KVHeads * runs
	for {
		i, ok := m.pool.Take(w.id, next, len(m.chosen)*each)
		if !ok {
			return
		}
		kvHead := i / runs % a.shape.KVHeads
		h0 := kvHead*a.group + i%runs*heads
		r := m.chosen[i/each]
		a.rows(w, r, r+1, kvHead, h0, min(h0+heads, (kvHead+1)*a.group))
	}
}

// rows computes rows r … e-1, of one session, and query heads h0 … h1-1 of a KV head.
func (a *attention) rows(w *worker, r, e, kvHead, h0, h1 int) {
	first, last := a.ask(w, r, e, h0, h1)
	a.begin(w)
	a.pages(w, a.m.batch[r].Cache, kvHead, first/kv.Chunk, (last+kv.Chunk-1)/kv.Chunk, place{})
	a.finish(w, r, e, h0, h1)
}

// runBlocks hands out blocks of rows × KV heads × runs of a head's query heads, at most AttendMax queries.
func (a *attention) runBlocks(w *worker, next *sched.Counter) {
	m, workers := a.m, a.m.pool.AtWork()
	heads := min(a.group, kernels.AttendMax) // query heads in a piece
	// With too few pieces for the workers the heads of a group are parted too.
	for workers > 1 && heads > 1 && m.n*a.shape.KVHeads*((a.group+heads-1)/heads) < 2*workers {
		heads = (heads + 1) / 2
	}
	rows := max(kernels.AttendMax/heads, 1)
	if workers > 1 && m.n < 4*workers {
		rows = 1
	}
	runs := (a.group + heads - 1) / heads
	blocks := (m.n + rows - 1) / rows
	each := a.shape.KVHeads * runs // pieces of a block
	homed := m.homed(m.n)
	me := m.hands - 1 - w.id // the pieces lie in falling order of the rows, and the workers' runs of them with them
	if homed {
		a.shares(w.cuts, rows, blocks, each)
		m.deal.Begin(me)
	}
	for {
		var i int
		var ok bool
		if homed {
			i, ok = m.deal.Take(me, w.cuts)
		} else {
			i, ok = m.pool.Take(w.id, next, blocks*each)
		}
		if !ok {
			return
		}
		// The longest rows first: the last pieces are then the short ones.
		block := blocks - 1 - i/each
		kvHead := i / runs % a.shape.KVHeads
		h0 := kvHead*a.group + i%runs*heads
		h1 := min(h0+heads, (kvHead+1)*a.group)
		r1 := min((block+1)*rows, m.n)
		for r := block * rows; r < r1; {
			e := r + 1
			for e < r1 && m.batch[e].Cache == m.batch[r].Cache {
				e++
			}
			a.rows(w, r, e, kvHead, h0, h1)
			r = e
		}
	}
}

// shares parts the pieces of blocks of so many rows, the last block first, by the positions that they see: cuts[i] is where the i-th run begins.
func (a *attention) shares(cuts []int, rows, blocks, each int) {
	const beside = 2 // pages that the rest of a block takes as long as
	cost := func(block int) int {
		r0 := block * rows
		lo, _ := a.sees(&a.m.batch[r0])
		_, hi := a.sees(&a.m.batch[min(r0+rows, a.m.n)-1])
		return max(hi-lo, 0) + beside*kv.Chunk
	}
	total := 0
	for b := range blocks {
		total += cost(b)
	}
	n, done := len(cuts)-1, 0
	cuts[0], cuts[n] = 0, blocks*each
	for b, i := blocks-1, 1; i < n; b-- {
		c := cost(b)
		for ; i < n && (done+c)*n >= total*i; i++ {
			cuts[i] = (blocks-1-b)*each + (total*i-done*n)*each/(c*n)
		}
		done += c
	}
}

// sees gives the positions that a row sees: lo ≤ p < hi.
func (a *attention) sees(r *Row) (lo, hi int) {
	hi = r.Pos + 1
	if a.shape.Window > 0 {
		lo = max(0, hi-a.shape.Window)
		if a.chunked {
			lo = r.Pos / a.shape.Window * a.shape.Window
		}
	}
	if a.all {
		hi = r.Cache.Len()
		if a.reach > 0 {
			lo, hi = max(0, r.Pos-a.reach), min(hi, r.Pos+a.reach+1)
		}
	}
	return lo, hi
}

// ask makes the queries of rows r0 … r1-1 (of one session) and query heads h0 … h1-1 those of the worker, and gives the positions that any of them sees.
func (a *attention) ask(w *worker, r0, r1, h0, h1 int) (first, last int) {
	m, s := a.m, &w.attend
	d, width := a.shape.KeyDim, a.width()
	g := &s.args
	*g = kernels.AttendArgs{}
	g.D, g.DV, g.Scale, g.Cap = width, a.shape.ValDim, a.scale, a.cap
	g.Q, g.QStride = unsafe.Pointer(unsafe.SliceData(s.q)), uintptr(4*width)
	g.OStride = uintptr(4 * a.ov())
	g.S = unsafe.Pointer(unsafe.SliceData(s.s))
	first = math.MaxInt
	for r := r0; r < r1; r++ {
		q := a.q.f32(r)
		lo, hi := a.sees(&m.batch[r])
		first, last = min(first, lo), max(last, hi)
		for h := h0; h < h1; h++ {
			copy(s.q[g.N*width:], q[h*d:(h+1)*d])
			s.lo[g.N], s.hi[g.N] = lo, hi
			s.pos[g.N], s.head[g.N] = m.batch[r].Pos, h
			g.N++
		}
	}
	return first, last
}

// own makes the worker's state the one that pages are added to.
func (s *attendScratch) own() {
	g := &s.args
	g.M, g.L, g.O = unsafe.Pointer(unsafe.SliceData(s.m)), unsafe.Pointer(unsafe.SliceData(s.l)), unsafe.Pointer(unsafe.SliceData(s.o))
}

// begin is the state before the first page.
func (a *attention) begin(w *worker) {
	s := &w.attend
	s.own()
	fresh(s.m[:s.args.N], s.l, s.o[:s.args.N*a.ov()])
}

func fresh(m, l, o []float32) {
	for i := range m {
		m[i], l[i] = float32(math.Inf(-1)), 0
	}
	clear(o)
}

// place is a page of a KV head; without a cache it is none.
type place struct {
	cache      *kv.Cache
	head, page int
}

// pages adds pages first … last-1 of a KV head, in order; then is what the worker probably reads after them.
func (a *attention) pages(w *worker, cache *kv.Cache, kvHead, first, last int, then place) {
	for i := first; i < last; i++ {
		next := place{cache, kvHead, i + 1}
		if i+1 == last {
			next = then
		}
		a.page(w, cache, kvHead, i, next)
	}
}

// page adds one page; next is fetched ahead.
func (a *attention) page(w *worker, cache *kv.Cache, kvHead, page int, next place) {
	m, s := a.m, &w.attend
	g := &s.args
	p0 := page * kv.Chunk
	for n := 0; n < g.N; n++ {
		g.Lo[n] = int32(min(max(s.lo[n]-p0, 0), kv.Chunk))
		g.Hi[n] = int32(min(max(s.hi[n]-p0, 0), kv.Chunk))
		if g.Hi[n] < g.Lo[n] {
			g.Lo[n] = g.Hi[n]
		}
	}
	p := cache.Page(a.state, page)
	g.K, g.V = p.Key(a.shape, kvHead), p.Value(a.shape, kvHead)
	g.NextK, g.NextV = nil, nil
	if next.cache != nil {
		p := next.cache.Page(a.state, next.page)
		g.NextK, g.NextV = p.Key(a.shape, next.head), p.Value(a.shape, next.head)
	}
	eight := a.shape.Eight
	if a.dist != nil {
		if eight {
			a.expand(w)
			eight = false
		}
		a.dist.apply(s, a.shape.KeyDim, p0)
	}
	if eight {
		g.Halves = unsafe.Pointer(unsafe.SliceData(s.halves))
		m.vec.Attend8(g)
		return
	}
	m.vec.Attend(g)
}

// expand makes the page in eight bits that the worker is about to attend to one of halves.
func (a *attention) expand(w *worker) {
	m, s := a.m, &w.attend
	g := &s.args
	k := unsafe.Pointer(unsafe.SliceData(s.halves))
	v := unsafe.Add(k, 2*kv.Chunk*a.shape.KeyDim)
	m.vec.ExpandK8(k, g.K, a.shape.KeyDim)
	m.vec.ExpandV8(v, g.V, g.DV)
	g.K, g.V = k, v
}

// finish writes the queries' outputs.
func (a *attention) finish(w *worker, r0, r1, h0, h1 int) {
	m, s := a.m, &w.attend
	dv, ov := a.shape.ValDim, a.ov()
	n := 0
	for r := r0; r < r1; r++ {
		out := a.out.f32(r)
		for h := h0; h < h1; h++ {
			o, l := s.o[n*ov:n*ov+dv], s.l[n]
			if a.sinks != nil {
				l = m.vec.Sink(o, s.m[n], l, a.sinks[h])
			}
			m.vec.Finish(out[h*dv:(h+1)*dv], o, l)
			n++
		}
	}
}
