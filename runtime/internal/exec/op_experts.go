package exec

import (
	"fmt"
	"unsafe"

	"jns/format"
	"jns/kernels"
	"jns/kernels/tile"
	"jns/runtime/internal/sched"
)

// picks groups the batch's expert choices: choice number row·top+rank sits at place[…] of a list sorted by expert, so that an expert's weights are used for all its
// rows at once. Built by one worker, read by all.
type picks struct {
	from  []int32 // [place] choice number
	place []int32 // [choice number] place
	start []int32 // [expert] first place; start[experts] = number of choices
	used  []int32 // experts with at least one choice, ascending; of a turn's block: in the order in which their weights will be there
	all   []int32 // used, while used is a block
	block []int32 // places of the block's experts
	slots []uint32
	count []int32
	whole bool         // experts are computed as a whole
	parts []expertPart // then, of used

	routes []router // per worker, for all routes of the program: there may be thousands
}

// router is what a worker chooses experts in.
type router struct {
	scratch kernels.RouteScratch
	experts int // that the scratch is for
	ids     []int32
	weights []float32
}

// need makes the router's memory suffice for a choice of top among experts.
func (r *router) need(experts, top int) {
	if r.experts < experts {
		r.scratch, r.experts = kernels.NewRouteScratch(experts), experts
	}
	if len(r.ids) < top {
		r.ids, r.weights = make([]int32, top), make([]float32, top)
	}
}

func (m *Model) bindRoute(p *format.RouteParams, selected bool) error {
	in, out, bias := m.buf(p.In), m.buf(p.Out), m.vector(p.Bias)
	r := &kernels.RouteArgs{Experts: int(p.Experts), Top: int(p.Top), Renormalise: p.Renormalise, MinSum: p.MinSum, Scale: p.Scale,
		Groups: int(p.Groups), TopGroups: int(p.TopGroups), Bias: bias}
	switch p.Func {
	case format.RouteSoftmax:
		r.Func = kernels.RouteSoftmax
	case format.RouteSoftmaxChosen:
		r.Func = kernels.RouteSoftmaxChosen
	case format.RouteSigmoid:
		r.Func = kernels.RouteSigmoid
	default:
		return fmt.Errorf("%w: routing function %d", format.ErrUnsupported, p.Func)
	}
	if m.picks.routes == nil {
		m.picks.routes = make([]router, len(m.work))
	}
	for i := range m.picks.routes {
		m.picks.routes[i].need(r.Experts, r.Top)
	}
	if p.Share > 1 {
		for i := range m.work {
			m.work[i].need(r.Experts)
		}
	}
	g := m.bindGuess(p)
	if g != nil {
		if m.guessed == nil {
			m.guessed = map[uint32]*guess{}
		}
		m.guessed[p.Out] = g
	} else {
		delete(m.guessed, p.Out)
	}
	m.eachRoute(selected, g, func(w *worker, row int) {
		k := &m.picks.routes[w.id]
		ids, weights := k.ids[:r.Top], k.weights[:r.Top]
		m.vec.Route(r, in.f32(row), ids, weights, &k.scratch)
		if p.Share > 1 {
			m.share(p, in.f32(row), ids, weights, w.scratch[:r.Experts])
		}
		c := out.choices(row)
		for i := range c {
			c[i] = choice{expert: ids[i], weight: weights[i]}
		}
	})
	return nil
}

// experts is a bound expert block. Entry i of a scratch buffer (a choice of the batch, in expert order) lies at base + i·entry bytes.
type experts struct {
	top            int
	in, route      *buffer
	gate, up, down *weight
	act            kernels.Act
	out, residual  *buffer
	gathered       *buffer
	gateOut, upOut *buffer
	hidden         *buffer
	downOut        *buffer
	selected       bool
	width          int // hidden elements of an expert
	weightIn       bool
	limit          float32 // of gate and up, 0: none
	limitIn        bool    // of the gate before its function
	gateCap, upCap float32 // see capped

	gates, ups adjust
	first      []expertProduct // of the input
	last       expertProduct   // of what the activation leaves
	zone       int             // entries of the scratch buffers that a worker has to itself where it computes whole experts
}

// gated makes g the function of the gate times up.
func (e *experts) gated(m *Model, g, u, scratch []float32) {
	if e.gateCap > 0 {
		e.capped(m, g, u, scratch[:len(g)])
		return
	}
	if e.limit > 0 {
		clamp(u, u, e.limit)
		if e.limitIn {
			atMost(g, g, e.limit)
		} else {
			m.vec.ActMul(g, g, nil, e.act)
			atMost(g, g, e.limit)
			m.vec.Mul(g, g, u)
			return
		}
	}
	m.vec.ActMul(g, g, u, e.act)
}

// adjust are the factors and biases of one product, by expert; nil: none.
type adjust struct{ scale, bias []float32 }

// apply changes expert x's product y.
func (a *adjust) apply(m *Model, y []float32, x int) {
	if a.scale != nil {
		m.vec.Scale(y, y, a.scale[x])
	}
	if a.bias != nil {
		m.vec.AddScaled(y, y, a.bias[x*len(y):(x+1)*len(y)], 1)
	}
}

func entry(b *buffer, top, i int) unsafe.Pointer {
	return unsafe.Add(b.base, uintptr(i)*(b.stride/uintptr(top)))
}

func entryF32(b *buffer, top, i int) []float32 {
	return unsafe.Slice((*float32)(entry(b, top, i)), b.len/top)
}

// entryBytes is entry i of a quantised buffer, or its first row; entryRest its second row, which lies right behind.
func entryBytes(b *buffer, top, i int) []byte {
	return unsafe.Slice((*byte)(entry(b, top, i)), tile.Q8XRowBytes(b.len/top))
}

func entryRest(b *buffer, top, i int) []byte {
	n := tile.Q8XRowBytes(b.len / top)
	return unsafe.Slice((*byte)(unsafe.Add(entry(b, top, i), n)), n)
}

func (m *Model) bindExperts(p *format.ExpertsParams, selected bool) error {
	e := &experts{in: m.buf(p.In), route: m.buf(p.Route), gate: m.weight(p.Gate), up: m.weight(p.Up), down: m.weight(p.Down), act: kernels.Act(p.Act),
		out: m.buf(p.Out), residual: m.buf(p.Residual), gathered: m.buf(p.Gathered), gateOut: m.buf(p.GateOut), upOut: m.buf(p.UpOut),
		hidden: m.buf(p.Hidden), downOut: m.buf(p.DownOut), selected: selected}
	e.top = e.route.len
	hidden := int(e.up.Rows)
	if p.Fused {
		hidden /= 2
	}
	e.width, e.weightIn = hidden, p.WeightIn
	e.limit, e.limitIn = p.Limit, p.LimitIn
	e.gateCap, e.upCap = p.GateCap, p.UpCap
	if e.gateCap > 0 {
		for i := range m.work {
			m.work[i].need(e.upOut.len / e.top)
		}
	}
	e.gates, e.ups = adjust{m.vector(p.GateScale), m.vector(p.GateBias)}, adjust{m.vector(p.UpScale), m.vector(p.UpBias)}
	downs := adjust{m.vector(p.DownScale), m.vector(p.DownBias)}
	for _, w := range []*weight{e.gate, e.up, e.down} {
		if w == nil {
			continue
		}
		if err := m.bindMatMul(w); err != nil {
			return err
		}
	}
	n, experts := m.rows*e.top, int(e.up.Count)
	if len(m.picks.from) < n {
		m.picks.from, m.picks.place = make([]int32, n), make([]int32, n)
	}
	if len(m.picks.start) < experts+1 {
		m.picks.start, m.picks.used = make([]int32, experts+1), make([]int32, 0, experts)
	}
	if n := experts + n/pieceRows; cap(m.picks.parts) < n {
		m.picks.parts = make([]expertPart, 0, n)
	}
	m.step(selected, func(w *worker, next *sched.Counter) {
		if next.Next() == 0 {
			m.skipAbsent(e)
			m.group(e, experts)
			m.planWhole(e)
		}
	})
	m.part("group")
	m.step(selected, func(w *worker, next *sched.Counter) {
		if m.picks.whole {
			return
		}
		for n := m.count(selected) * e.top; ; {
			i := next.Next()
			if i >= n {
				return
			}
			e.gather(m, i, i)
		}
	})
	m.part("gather")
	first := []expertProduct{{e.up, e.upOut, 0, hidden}}
	switch {
	case p.Fused:
		first = []expertProduct{{e.up, e.gateOut, 0, hidden}, {e.up, e.upOut, hidden, hidden}}
	case e.gate != nil:
		first = []expertProduct{{e.gate, e.gateOut, 0, hidden}, {e.up, e.upOut, 0, hidden}}
	}
	blocks, err := m.expertBlocks(e, m.guessed[p.Route])
	if err != nil {
		return err
	}
	e.first, e.last, e.zone = first, expertProduct{e.down, e.downOut, 0, int(e.down.Rows)}, n/len(m.work)
	m.expertProducts(e, e.gathered, first, true)
	m.part("gate and up, or all of an expert")
	m.step(selected, func(w *worker, next *sched.Counter) {
		if m.picks.whole {
			return
		}
		n := m.count(selected) * e.top
		if blocks != nil {
			n = len(m.picks.block)
		}
		for {
			i := next.Next()
			if i >= n {
				return
			}
			if blocks != nil {
				i = int(m.picks.block[i])
			}
			e.activate(m, w, i, i)
		}
	})
	m.part("activation")
	m.expertProducts(e, e.hidden, []expertProduct{e.last}, false)
	m.part("down")
	if blocks != nil {
		m.endLoop(blocks)
	}
	m.eachRow(selected, func(_ *worker, r int) {
		choices := e.route.choices(r)
		at := func(k int) (y []float32, weight float32) {
			y = entryF32(e.downOut, e.top, int(m.picks.place[r*e.top+k]))[:e.out.len]
			downs.apply(m, y, int(choices[k].expert))
			if e.weightIn {
				return y, 1
			}
			return y, choices[k].weight
		}
		sum, weight := at(0)
		m.vec.Scale(sum, sum, weight)
		for k := 1; k < len(choices); k++ {
			y, weight := at(k)
			m.vec.AddScaled(sum, sum, y, weight)
		}
		if e.residual == nil {
			copy(e.out.f32(r), sum)
			return
		}
		m.vec.AddScaled(e.out.f32(r), e.residual.f32(r), sum, 1)
	})
	m.part("sum")
	return nil
}

// gather copies the input of the choice at a place to an entry.
func (e *experts) gather(m *Model, i, place int) {
	row := int(m.picks.from[place]) / e.top
	switch e.in.typ {
	case format.ElemF32:
		copy(entryF32(e.gathered, e.top, i), e.in.f32(row))
	case format.ElemQ8X2:
		copy(entryRest(e.gathered, e.top, i), e.in.rest(row))
		fallthrough
	default:
		copy(entryBytes(e.gathered, e.top, i), e.in.bytes(row))
	}
}

// activate makes of an entry's gate and up, which are those of the choice at a place, what the last product takes.
func (e *experts) activate(m *Model, w *worker, i, place int) {
	hidden := e.width
	x, weight := m.chosenBy(e, place)
	u := entryF32(e.upOut, e.top, i)
	g := u
	if e.gateOut != nil {
		g = entryF32(e.gateOut, e.top, i)
	}
	if e.weightIn {
		m.vec.Scale(u[:hidden], u[:hidden], weight)
		if e.gateOut != nil {
			m.vec.Scale(g[:hidden], g[:hidden], weight)
		}
	}
	e.ups.apply(m, u[:hidden], x)
	if e.gateOut != nil {
		e.gates.apply(m, g[:hidden], x)
		e.gated(m, g, u, w.scratch)
	} else {
		m.vec.ActMul(g, g, nil, e.act)
	}
	switch {
	case e.hidden.typ == format.ElemQ8X:
		m.vec.Quantize(entryBytes(e.hidden, e.top, i)[:tile.Q8XRowBytes(hidden)], g[:hidden])
	case e.hidden.typ == format.ElemQ8X2:
		n := tile.Q8XRowBytes(hidden)
		m.vec.QuantizeFine(entryBytes(e.hidden, e.top, i)[:n], entryRest(e.hidden, e.top, i)[:n], g[:hidden])
	case unsafe.Pointer(unsafe.SliceData(g)) != entry(e.hidden, e.top, i):
		copy(entryF32(e.hidden, e.top, i), g)
	}
}

// chosenBy is the expert of the i-th place, and its weight.
func (m *Model) chosenBy(e *experts, i int) (expert int, weight float32) {
	n := int(m.picks.from[i])
	c := e.route.choices(n / e.top)[n%e.top]
	return int(c.expert), c.weight
}

// group sorts the batch's choices by expert, rows in order within one.
func (m *Model) group(e *experts, experts int) {
	p := &m.picks
	n := m.count(e.selected)
	clear(p.start[:experts+1])
	for r := 0; r < n; r++ {
		for _, c := range e.route.choices(r) {
			if uint32(c.expert) >= uint32(experts) {
				panic("exec: expert id out of range") // Route writes ids below Experts
			}
			p.start[c.expert+1]++
		}
	}
	p.used = p.used[:0]
	for i := 0; i < experts; i++ {
		if p.start[i+1] > 0 {
			p.used = append(p.used, int32(i))
		}
		p.start[i+1] += p.start[i]
	}
	for r := 0; r < n; r++ {
		for k, c := range e.route.choices(r) {
			at := p.start[c.expert]
			p.start[c.expert]++
			p.from[at] = int32(r*e.top + k)
			p.place[r*e.top+k] = at
		}
	}
	for i := experts; i > 0; i-- { // start[i] has moved to the end of expert i: shift back
		p.start[i] = p.start[i-1]
	}
	p.start[0] = 0
}

// expertProduct is a product of rows from … from+rows-1 of an expert's matrix; from is a multiple of a tile's rows.
type expertProduct struct {
	w          *weight
	out        *buffer
	from, rows int
}

// tiles are the tile rows of a product.
func (q *expertProduct) tiles() int { return q.w.layout.TileRows(q.rows) }

// expertProducts adds the step that multiplies every used expert's matrices with its rows.
// whole says that where rows are many, everything else of an expert is done in this step too, see wholeExperts.
func (m *Model) expertProducts(e *experts, in *buffer, list []expertProduct, whole bool) {
	tiles, step := expertStep(list)
	cuts := (tiles + step - 1) / step
	if in.typ == format.ElemQ8X2 {
		for i := range m.work {
			m.work[i].need(2 * step * 16 * besideBatch)
		}
	}
	m.step(e.selected, func(w *worker, next *sched.Counter) {
		p := &m.picks
		if p.whole {
			if whole {
				m.wholeExperts(w, next, e)
			}
			return
		}
		for {
			i, ok := m.pool.Take(w.id, next, len(p.used)*len(list)*cuts)
			if !ok {
				return
			}
			x := int(p.used[i/(len(list)*cuts)])
			q, t0 := &list[i/cuts%len(list)], i%cuts*step
			n := min(step, q.tiles()-t0)
			if n <= 0 {
				continue
			}
			q.w.ready(x)
			first, count := int(p.start[x]), int(p.start[x+1]-p.start[x])
			for end := first + count; first < end; first += besideBatch {
				m.expertPiece(w, q, in, e.top, x, t0, n, first, first, min(besideBatch, end-first))
			}
		}
	})
}

// expertStep is the number of tile rows of the largest of some products, and how many of them make a piece.
func expertStep(list []expertProduct) (tiles, step int) {
	w := list[0].w
	for i := range list {
		tiles = max(tiles, list[i].tiles())
	}
	return tiles, min(w.wholeGroups(max(pieceBytes/w.stride, 1)), tiles)
}

// expertPiece multiplies tile rows t0 … t0+tiles-1 of expert x with count entries from the first on; the results are those from entry to on.
func (m *Model) expertPiece(w *worker, q *expertProduct, in *buffer, top, x, t0, tiles, first, to, count int) {
	a := &w.args
	*a = kernels.MatMulArgs{}
	a.W = unsafe.Add(q.w.at(x), uintptr(t0+q.from/q.w.layout.Rows)*uintptr(q.w.stride))
	a.WStride, a.Tiles, a.Cols = uintptr(q.w.stride), tiles, int(q.w.Cols)
	a.X, a.XStride, a.N = entry(in, top, first), in.stride/uintptr(top), count
	row0 := t0 * q.w.layout.Rows
	fine := in.typ == format.ElemQ8X2
	if fine {
		a.XStride, a.N = a.XStride/2, 2*count
		a.Y, a.YStride = unsafe.Pointer(unsafe.SliceData(w.scratch)), uintptr((tiles*q.w.layout.Rows+15)&^15*4)
	} else {
		a.Y, a.YStride = unsafe.Add(entry(q.out, top, to), 4*row0), q.out.stride/uintptr(top)
	}
	q.w.multiply(w, a)
	if !fine {
		return
	}
	rows := min(tiles*q.w.layout.Rows, q.rows-row0)
	for i := range count {
		y := unsafe.Slice((*float32)(unsafe.Add(a.Y, uintptr(2*i)*a.YStride)), rows)
		rest := unsafe.Slice((*float32)(unsafe.Add(a.Y, uintptr(2*i+1)*a.YStride)), rows)
		m.vec.AddScaled(entryF32(q.out, top, to+i)[row0:row0+rows], y, rest, 1)
	}
}
