package exec

import (
	"math/bits"
	"unsafe"

	"jns/format"
	"jns/kernels"
	"jns/runtime/internal/sched"
)

// Reading ahead: while a layer's experts are computed, those of the next layer are read that its router would choose for the hidden state as it is before this layer's experts have
// added to it. A wrong guess costs a read and never a bit of the results.

// guessFew is the most rows for which each choice counts; guessRows the most that are guessed for: of a larger batch so many, evenly spread, tell which experts are wanted.
const (
	guessFew  = 8
	guessRows = 32
)

// Classes of what is read ahead, for Stream.Ahead: of few rows the rank of the choice, of many how often it was made.
const (
	classRanks = 16
	classMany  = classRanks // and the binary logarithm of the number of rows
)

// guess is the next layer's router, bound to this layer's hidden state.
type guess struct {
	hidden *buffer
	norm   *format.NormParams
	gain   []float32
	router *weight
	args   kernels.RouteArgs
	up     *weight // tells the slots of the next layer's experts
	work   []guessing
	wanted bool    // the next layer sees only the rows whose logits are wanted, this one all of them
	chosen []int32 // rows × top
	count  []int32 // by expert: rows that chose it
}

// guessing is what a worker guesses in.
type guessing struct{ x, logits, weights []float32 }

// mixture is where the router and the experts of one layer stand in the program.
type mixture struct {
	norm     *format.NormParams
	part     *format.MatMulPart
	route    *format.RouteParams
	experts  *format.ExpertsParams
	selected bool // only the rows whose logits are wanted come here
}

// mixtures finds the program's mixtures of experts, in order. What does not look as usual has no norm or part, and nothing is guessed for it.
func mixtures(p *format.Program) []mixture {
	var out []mixture
	selected := false
	for i := range p.Ops {
		if _, ok := p.Ops[i].Params.(*format.SelectParams); ok {
			selected = true
		}
		r, ok := p.Ops[i].Params.(*format.RouteParams)
		if !ok {
			continue
		}
		m := mixture{route: r, selected: selected}
		for j := i + 1; j < len(p.Ops) && m.experts == nil; j++ {
			if e, ok := p.Ops[j].Params.(*format.ExpertsParams); ok && e.Route == r.Out {
				m.experts = e
			}
		}
		x := uint32(format.None)
		for j := i - 1; j >= 0 && m.norm == nil; j-- {
			switch q := p.Ops[j].Params.(type) {
			case *format.MatMulParams:
				for k := range q.Parts {
					if m.part == nil && q.Parts[k].Out == r.In {
						m.part, x = &q.Parts[k], q.In
					}
				}
			case *format.NormParams:
				if m.part != nil && q.Out == x {
					m.norm = q
				}
			}
		}
		out = append(out, m)
	}
	return out
}

// bindGuess prepares guessing the mixture that follows the route; nil if there is none that looks as usual.
func (m *Model) bindGuess(r *format.RouteParams) *guess {
	if m.stream == nil {
		return nil
	}
	if m.mixtures == nil {
		m.mixtures = mixtures(m.prog)
	}
	for i := range m.mixtures {
		if m.mixtures[i].route != r || len(m.mixtures) == 1 {
			continue
		}
		// The last layer's guess is for the next token's first layer: nothing is known of it.
		if i+1 == len(m.mixtures) {
			return nil
		}
		here, next := &m.mixtures[i], &m.mixtures[i+1]
		if here.norm == nil || next.norm == nil || next.experts == nil || next.norm.Norm != format.NormRMS || next.norm.Groups != 1 || next.norm.Bias != format.None {
			return nil
		}
		g := &guess{wanted: next.selected && !here.selected, hidden: m.buf(here.norm.In), norm: next.norm, gain: m.vector(next.norm.W), router: m.weight(next.part.W), up: m.weight(next.experts.Up)}
		w, q := g.router, next.route
		if g.hidden.len != m.buf(next.norm.In).len || !w.layout.Codec.Float() || len(w.parts) != 1 || w.streamed(0) || next.part.Bias != format.None ||
			next.part.Fine || next.part.From != 0 || uint32(w.Rows) != q.Experts || len(g.up.parts) != int(q.Experts) || int(w.Cols) != g.hidden.len || m.bindMatMul(w) != nil {
			return nil
		}
		g.args = kernels.RouteArgs{Func: kernels.RouteSoftmaxChosen, Experts: int(q.Experts), Top: int(q.Top), Scale: 1, Groups: int(q.Groups), TopGroups: int(q.TopGroups), Bias: m.vector(q.Bias)}
		switch q.Func {
		case format.RouteSoftmax:
			g.args.Func = kernels.RouteSoftmax
		case format.RouteSigmoid:
			g.args.Func = kernels.RouteSigmoid
		}
		g.work = make([]guessing, len(m.work))
		for i := range g.work {
			g.work[i] = guessing{alignedF32(g.hidden.len + 64), alignedF32(w.layout.TileRows(int(w.Rows))*w.layout.Rows + 16), make([]float32, q.Top)}
			m.picks.routes[i].need(int(q.Experts), int(q.Top))
		}
		g.chosen, g.count = make([]int32, guessRows*int(q.Top)), make([]int32, q.Experts)
		return g
	}
	return nil
}

// eachRoute is eachRow for a route and the guess that is made beside it.
func (m *Model) eachRoute(selected bool, g *guess, route func(w *worker, row int)) {
	if g == nil {
		m.eachRow(selected, route)
		return
	}
	m.step(selected, func(w *worker, next *sched.Counter) {
		n := m.count(selected)
		of := m.guessedOf(g, selected)
		guessed := min(of, guessRows)
		all := n + guessed
		for {
			r := next.Next()
			switch {
			case r >= all:
				return
			case r < n:
				route(w, r)
			default:
				row := (r - n) * of / guessed
				if g.wanted {
					row = m.chosen[row]
				}
				m.guess(w, g, r-n, row)
			}
		}
	})
}

// guessedOf is the number of rows that the next layer will see.
func (m *Model) guessedOf(g *guess, selected bool) int {
	if g.wanted {
		return len(m.chosen)
	}
	return m.count(selected)
}

// guess applies the next layer's norm and router to a row of the hidden state; i counts the rows that are guessed for.
func (m *Model) guess(w *worker, g *guess, i, row int) {
	k, top := &g.work[w.id], g.args.Top
	x := k.x[:g.hidden.len]
	m.vec.RMSNorm(x, g.hidden.f32(row), g.gain, g.norm.Eps)
	a := &w.args
	*a = kernels.MatMulArgs{}
	q := g.router
	a.W, a.WStride, a.Tiles, a.Cols = q.at(0), uintptr(q.stride), q.parts[0].tiles, int(q.Cols)
	a.X, a.XStride, a.N = unsafe.Pointer(unsafe.SliceData(x)), uintptr(4*len(x)), 1
	a.Y, a.YStride = unsafe.Pointer(unsafe.SliceData(k.logits)), uintptr(4*len(k.logits))
	q.multiply(w, a)
	m.vec.Route(&g.args, k.logits[:g.args.Experts], g.chosen[i*top:(i+1)*top], k.weights, &m.picks.routes[w.id].scratch)
	for rank, v := range k.weights { // what would be left out need not be read
		if v < m.skip*k.weights[0] {
			g.chosen[i*top+rank] = -1
		}
	}
}

// readAhead tells the stream what was guessed for a batch of n rows.
func (m *Model) readAhead(g *guess, n int) {
	m.soon, m.class = m.soon[:0], m.class[:0]
	top, rows := g.args.Top, min(n, guessRows)
	add := func(expert int32, class int) {
		if uint32(expert) < uint32(len(g.up.parts)) && g.up.streamed(int(expert)) {
			m.soon, m.class = append(m.soon, g.up.parts[expert].slot), append(m.class, uint8(class))
		}
	}
	if n <= guessFew {
		for rank := range top { // the rows' first choices first
			for r := range rows {
				add(g.chosen[r*top+rank], min(rank, classRanks-1))
			}
		}
		m.stream.Ahead(m.soon, m.class)
		return
	}
	clear(g.count)
	for _, x := range g.chosen[:rows*top] {
		if x >= 0 {
			g.count[x]++
		}
	}
	for log := bits.Len(guessRows); log > 0; log-- { // the most frequent first
		for x, c := range g.count {
			if bits.Len32(uint32(c)) == log {
				add(int32(x), classMany+log)
			}
		}
	}
	m.stream.Ahead(m.soon, m.class)
}
