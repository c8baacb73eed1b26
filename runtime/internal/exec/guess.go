package exec

import (
	"math"
	"math/bits"
	"unsafe"

	"jns/format"
	"jns/kernels"
	"jns/runtime/internal/sched"
)

// Reading ahead: while a layer's experts are computed, those of the next layers are read that their routers would choose for the hidden state as it is before this layer's experts have
// added to it. A wrong guess costs a read and never a bit of the results.

// guessFew is the most rows for which each choice counts; guessRows the most that are guessed for: of a larger batch so many, evenly spread, tell which experts are wanted.
// guessDeep is the number of layers that are guessed for few rows; one for many.
const (
	guessFew  = 8
	guessRows = 32
	guessDeep = 2
)

// Classes of what may be wanted soon, for Stream.Soon. Of few rows: how far the router's logit is from the border between what is chosen and what is not, in standard deviations
// of the row's logits, by half octaves; what is chosen, and what nearly is. The second layer has classes of its own. Of many rows: how often it was chosen.
const (
	classChosen = 0  // … 15: from a 32nd of a deviation to 5.7
	classMany   = 16 // and the binary logarithm of the number of rows
	classNear   = 24 // … 31: the nearest last
	classDeep   = 32 // added for the second layer
	classSteps  = 16
	classNears  = 8
)

// guess is the routers of the next layers, bound to this layer's hidden state.
type guess struct {
	hidden *buffer
	ahead  []guessed
	work   []guessing
}

// guessed is a layer that is guessed for.
type guessed struct {
	norm   *format.NormParams
	gain   []float32
	router *weight
	args   kernels.RouteArgs
	up     *weight // tells the slots of the layer's experts
	wanted bool    // the layer sees only the rows whose logits are wanted, this one all of them
	chosen []int32 // rows × top
	class  []uint8 // of few rows, by expert and row: 1 + class; 0: not likely
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

// bindGuess prepares guessing the mixtures that follow the route; nil if there is none that looks as usual.
func (m *Model) bindGuess(r *format.RouteParams) *guess {
	if m.stream == nil {
		return nil
	}
	if m.mixtures == nil {
		m.mixtures = mixtures(m.prog)
	}
	for i := range m.mixtures {
		if m.mixtures[i].route != r {
			continue
		}
		// The last layer's guess would be for the next token's first layer: nothing is known of it.
		here := &m.mixtures[i]
		if here.norm == nil {
			return nil
		}
		g := &guess{hidden: m.buf(here.norm.In), work: make([]guessing, len(m.work))}
		for _, next := range m.mixtures[i+1 : min(i+1+guessDeep, len(m.mixtures))] {
			if !m.bindGuessed(g, here, &next) {
				break
			}
		}
		if len(g.ahead) == 0 {
			return nil
		}
		return g
	}
	return nil
}

// bindGuessed adds a mixture to those that are guessed for, if it looks as usual.
func (m *Model) bindGuessed(g *guess, here, next *mixture) bool {
	if next.norm == nil || next.experts == nil || next.norm.Norm != format.NormRMS || next.norm.Groups != 1 || next.norm.Bias != format.None {
		return false
	}
	h := guessed{wanted: next.selected && !here.selected, norm: next.norm, gain: m.vector(next.norm.W), router: m.weight(next.part.W), up: m.weight(next.experts.Up)}
	w, q := h.router, next.route
	if g.hidden.len != m.buf(next.norm.In).len || !w.layout.Codec.Float() || len(w.parts) != 1 || w.streamed(0) || next.part.Bias != format.None ||
		next.part.Fine || next.part.From != 0 || uint32(w.Rows) != q.Experts || len(h.up.parts) != int(q.Experts) || int(w.Cols) != g.hidden.len || m.bindMatMul(w) != nil {
		return false
	}
	h.args = kernels.RouteArgs{Func: kernels.RouteSoftmaxChosen, Experts: int(q.Experts), Top: int(q.Top), Scale: 1, Groups: int(q.Groups), TopGroups: int(q.TopGroups), Bias: m.vector(q.Bias)}
	switch q.Func {
	case format.RouteSoftmax:
		h.args.Func = kernels.RouteSoftmax
	case format.RouteSigmoid:
		h.args.Func = kernels.RouteSigmoid
	}
	for i := range g.work {
		k := &g.work[i]
		if len(k.x) == 0 {
			k.x = alignedF32(g.hidden.len + 64)
		}
		if n := w.layout.TileRows(int(w.Rows))*w.layout.Rows + 16; len(k.logits) < n {
			k.logits = alignedF32(n)
		}
		if len(k.weights) < int(q.Top) {
			k.weights = make([]float32, q.Top)
		}
		m.picks.routes[i].need(int(q.Experts), int(q.Top))
	}
	h.chosen, h.count, h.class = make([]int32, guessRows*int(q.Top)), make([]int32, q.Experts), make([]uint8, guessFew*int(q.Experts))
	g.ahead = append(g.ahead, h)
	return true
}

// eachRoute is eachRow for a route and the guesses that are made beside it.
func (m *Model) eachRoute(selected bool, g *guess, route func(w *worker, row int)) {
	if g == nil {
		m.eachRow(selected, route)
		return
	}
	m.step(selected, func(w *worker, next *sched.Counter) {
		n := m.count(selected)
		for {
			r := next.Next()
			if r < n {
				route(w, r)
				continue
			}
			r -= n
			done := true
			for i := range g.ahead {
				h := &g.ahead[i]
				of := m.guessedOf(h, selected)
				rows := guessedRows(i, of)
				if r >= rows {
					r -= rows
					continue
				}
				row := r * of / rows
				if h.wanted {
					row = m.chosen[row]
				}
				m.guess(w, g, h, r, row, of <= guessFew)
				done = false
				break
			}
			if done {
				return
			}
		}
	})
}

// guessedOf is the number of rows that a layer will see.
func (m *Model) guessedOf(h *guessed, selected bool) int {
	if h.wanted {
		return len(m.chosen)
	}
	return m.count(selected)
}

// guessedRows is the number of rows of n that are guessed for in the i-th layer that follows.
func guessedRows(i, n int) int {
	if i > 0 && n > guessFew {
		return 0
	}
	return min(n, guessRows)
}

// guess applies a layer's norm and router to a row of the hidden state; i counts the rows that are guessed for, few says that they are few.
func (m *Model) guess(w *worker, g *guess, h *guessed, i, row int, few bool) {
	k, top := &g.work[w.id], h.args.Top
	x := k.x[:g.hidden.len]
	m.vec.RMSNorm(x, g.hidden.f32(row), h.gain, h.norm.Eps)
	a := &w.args
	*a = kernels.MatMulArgs{}
	q := h.router
	a.W, a.WStride, a.Tiles, a.Cols = q.at(0), uintptr(q.stride), q.parts[0].tiles, int(q.Cols)
	a.X, a.XStride, a.N = unsafe.Pointer(unsafe.SliceData(x)), uintptr(4*len(x)), 1
	a.Y, a.YStride = unsafe.Pointer(unsafe.SliceData(k.logits)), uintptr(4*len(k.logits))
	q.multiply(w, a)
	logits, chosen, weights := k.logits[:h.args.Experts], h.chosen[i*top:(i+1)*top], k.weights[:top]
	m.vec.Route(&h.args, logits, chosen, weights, &m.picks.routes[w.id].scratch)
	if few {
		h.classify(h.class[i*len(logits):(i+1)*len(logits)], logits, chosen)
	}
	for rank, v := range weights { // what would be left out need not be read
		if v < m.skip*weights[0] {
			if few {
				h.class[i*len(logits)+int(chosen[rank])] = 0
			}
			chosen[rank] = -1
		}
	}
}

// classify gives the class of each expert for a row, plus one; 0 to those that are far from being chosen. logits become what the router compares.
func (h *guessed) classify(class []uint8, logits []float32, chosen []int32) {
	clear(class)
	if h.args.Bias != nil { // the bias counts for the choice
		for e := range logits {
			if h.args.Func == kernels.RouteSigmoid { // as steep as the function is in its middle
				logits[e] *= 0.25
			}
			logits[e] += h.args.Bias[e]
		}
	}
	sum := float32(0)
	for _, v := range logits {
		sum += v
	}
	mean, variance := sum/float32(len(logits)), float32(0)
	for _, v := range logits {
		variance += float32((v - mean) * (v - mean))
	}
	variance = max(variance/float32(len(logits)), 1e-20)
	for _, e := range chosen {
		class[e] = 1
	}
	first, last := float32(math.Inf(-1)), float32(math.Inf(1)) // of those not chosen the first, of those chosen the last
	for e, v := range logits {
		if class[e] == 0 {
			first = max(first, v)
		} else {
			last = min(last, v)
		}
	}
	for e, v := range logits {
		if class[e] != 0 {
			d := max(v-first, 0)
			class[e] = 1 + classChosen + uint8(halfOctaves(float32(d*d)/variance, -10, classSteps))
			continue
		}
		d := max(last-v, 0)
		if far := float32(d*d) / variance; far < 1.0/2 {
			class[e] = 1 + classNear + classNears - 1 - uint8(halfOctaves(far, -8, classNears))
		}
	}
}

// halfOctaves is the binary logarithm of x, above from, at most n-1: half octaves of what x is the square of.
func halfOctaves(x float32, from, n int) int {
	if !(x > 0) {
		return 0
	}
	return min(max(int(math.Float32bits(x)>>23)-127-from, 0), n-1)
}

// tellGuesses tells the stream what was guessed beside a route, before its experts have their turn.
func (m *Model) tellGuesses(g *guess, selected bool) {
	m.soon, m.class = m.soon[:0], m.class[:0]
	for i := range g.ahead {
		h := &g.ahead[i]
		n := m.guessedOf(h, selected)
		rows := guessedRows(i, n)
		if n <= guessFew {
			m.tellFew(h, rows, uint8(i*classDeep))
		} else if rows > 0 {
			m.tellMany(h, rows)
		}
	}
	m.stream.Soon(m.soon, m.class)
}

func (m *Model) tell(h *guessed, expert int, class uint8) {
	if expert < len(h.up.parts) && h.up.streamed(expert) {
		m.soon, m.class = append(m.soon, h.up.parts[expert].slot), append(m.class, class)
	}
}

// tellFew tells each likely expert once, with the best class that a row gave it: the likeliest first.
func (m *Model) tellFew(h *guessed, rows int, deep uint8) {
	from := len(m.soon)
	n := h.args.Experts
	for e := range n {
		best := uint8(0)
		for r := range rows {
			if c := h.class[r*n+e]; c != 0 && (best == 0 || likelier(c-1, best-1)) {
				best = c
			}
		}
		if best != 0 {
			m.tell(h, e, deep+best-1)
		}
	}
	slots, class := m.soon[from:], m.class[from:]
	for i := range slots { // few: an insertion sort
		for j := i; j > 0 && likelier(class[j]-deep, class[j-1]-deep); j-- {
			slots[j], slots[j-1], class[j], class[j-1] = slots[j-1], slots[j], class[j-1], class[j]
		}
	}
}

// likelier compares two classes of few rows.
func likelier(a, b uint8) bool {
	if a, b := a < classNear, b < classNear; a != b {
		return a
	}
	return a > b
}

// tellMany tells the most frequent first.
func (m *Model) tellMany(h *guessed, rows int) {
	clear(h.count)
	for _, x := range h.chosen[:rows*h.args.Top] {
		if x >= 0 {
			h.count[x]++
		}
	}
	for log := bits.Len(guessRows); log > 0; log-- {
		for x, c := range h.count {
			if bits.Len32(uint32(c)) == log {
				m.tell(h, x, uint8(classMany+log))
			}
		}
	}
}
