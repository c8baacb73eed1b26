package lower

import (
	"jns/compiler/internal/gguf"
	"jns/format"
)

// buffer is a buffer before it has an address: live from the operation that first writes it to the last that reads it.
type buffer struct {
	name        string
	typ         format.ElemType
	len         uint64
	first, last int
}

// emitter writes operations over virtual buffers; operand indices are indices of bufs.
type emitter struct {
	index map[*gguf.Tensor]uint32
	ops   []format.Op
	bufs  []*buffer
	f32   map[*node]uint32 // buffer of a node's float32 result
	q8x   map[*node]uint32 // buffer of its quantised result
	left  map[*node]int    // reads of the float32 result still to come
	out   uint32           // buffer of the logits
}

func emit(g *graph, index map[*gguf.Tensor]uint32) *emitter {
	e := &emitter{index: index, f32: map[*node]uint32{}, q8x: map[*node]uint32{}, left: map[*node]int{}}
	for _, n := range g.nodes {
		for _, x := range n.inputs() {
			e.left[x]++
		}
	}
	e.left[g.logits]++
	for _, n := range g.nodes {
		e.node(n)
	}
	e.out = e.f32[g.logits]
	e.bufs[e.out].last = len(e.ops)
	return e
}

func (e *emitter) add(p format.Params) {
	e.ops = append(e.ops, format.Op{Kind: p.Kind(), Version: version(p), Params: p})
}

// version is the first that has all operands which are set.
func version(p format.Params) uint16 {
	switch x := p.(type) {
	case *format.ExpertsParams:
		if x.GateCap != 0 {
			return 3
		}
		if x.Limit != 0 {
			return 2
		}
	case *format.AttentionParams:
		if x.Most != 0 {
			return 3
		}
		if len(x.Slopes)+len(x.Edges) > 0 {
			return 2
		}
	case *format.RouteParams:
		if x.Share != 0 {
			return 2
		}
	case *format.DeltaParams:
		if x.Bound != 0 {
			return 2
		}
	}
	return 1
}

// buf makes a buffer that the next operation writes or uses.
func (e *emitter) buf(name string, t format.ElemType, n uint64) uint32 {
	e.bufs = append(e.bufs, &buffer{name, t, n, len(e.ops), len(e.ops)})
	return uint32(len(e.bufs) - 1)
}

// use notes that the next operation touches a buffer.
func (e *emitter) use(b uint32) uint32 {
	if b != format.None {
		e.bufs[b].last = max(e.bufs[b].last, len(e.ops))
	}
	return b
}

// read is the buffer of an input as float32; the read is then done.
func (e *emitter) read(n *node) uint32 {
	if n == nil {
		return format.None
	}
	e.left[n]--
	return e.use(e.f32[n])
}

// readAs is the buffer of an input in the form that a matrix takes.
func (e *emitter) readAs(n *node, quantised bool) uint32 {
	if !quantised {
		return e.read(n)
	}
	e.left[n]--
	return e.use(e.q8x[n])
}

// result is the buffer for the float32 result of n: that of from if nothing reads from any more, else a new one.
func (e *emitter) result(n, from *node) uint32 {
	if from != nil && e.left[from] == 0 && from.width == n.width {
		if b, ok := e.f32[from]; ok {
			e.f32[n] = e.use(b)
			return b
		}
	}
	b := e.buf(n.name, format.ElemF32, uint64(n.width))
	e.f32[n] = b
	return b
}

// overwritable is a residual whose buffer a product may take for its result: not when it is the product's input too.
func (e *emitter) overwritable(residual *node, in uint32) *node {
	if residual == nil || e.f32[residual] == in {
		return nil
	}
	return residual
}

// quantisedResult is the buffer for the quantised result of n, None if nobody wants it.
func (e *emitter) quantisedResult(n *node) uint32 {
	if !n.wantQ {
		return format.None
	}
	t := format.ElemQ8X
	if n.wantFine {
		t = format.ElemQ8X2
	}
	b := e.buf(n.name+".q", t, uint64(n.width))
	e.q8x[n] = b
	return b
}

// quantise adds the operation that makes the quantised form of n, for operations that cannot do it themselves.
func (e *emitter) quantise(n *node) {
	if n.wantQ {
		e.add(&format.QuantizeParams{In: e.use(e.f32[n]), Out: e.quantisedResult(n)})
	}
}

func (e *emitter) weight(w []*gguf.Tensor, i int) uint32 {
	if i >= len(w) || w[i] == nil {
		return format.None
	}
	return e.index[w[i]]
}

// node emits the operations of one node.
func (e *emitter) node(n *node) {
	switch p := n.params.(type) {
	case *format.RowsParams:
		e.add(&format.RowsParams{Out: e.result(n, nil), W: e.weight(n.w, 0), Scale: p.Scale, By: p.By})
		e.quantise(n)
	case *format.NormParams:
		e.norm(n, *p)
	case *format.MatMulParams:
		e.matmul(n)
	case *format.RopeParams:
		q := *p
		q.X = e.inPlace(n)
		e.add(&q)
		e.quantise(n)
	case *format.KVAppendParams:
		e.add(&format.KVAppendParams{K: e.read(n.in[0]), V: e.read(n.in[1]), State: p.State})
	case *format.AttentionParams:
		q := *p
		q.Q, q.Sinks, q.Out = e.read(n.in[0]), e.weight(n.w, 0), e.result(n, nil)
		if len(q.Slopes)+len(q.Edges) > 0 {
			q.Bias = e.weight(n.w, 1)
		}
		e.add(&q)
		e.quantise(n)
	case *format.ActivationParams:
		q := *p
		q.Gate, q.Up, q.Out = e.read(n.in[0]), e.read(n.in[1]), format.None
		if n.wantF32 || !n.wantQ {
			q.Out = e.result(n, nil)
		}
		q.Q = e.quantisedResult(n)
		e.add(&q)
	case *format.ElementParams:
		q := *p
		q.A, q.B = e.read(n.in[0]), e.read(n.in[1])
		q.Out = e.result(n, n.in[0])
		e.add(&q)
		e.quantise(n)
	case *format.SelectParams:
		e.add(&format.SelectParams{In: e.read(n.in[0]), Out: e.result(n, nil)})
		e.quantise(n)
	case *format.RouteParams:
		q := *p
		q.In, q.Bias = e.read(n.in[0]), e.weight(n.w, 0)
		q.Out = e.buf(n.name, format.ElemRoute, uint64(n.width))
		e.f32[n] = q.Out
		e.add(&q)
	case *format.ExpertsParams:
		e.experts(n, *p)
	case *format.SoftCapParams:
		e.add(&format.SoftCapParams{X: e.inPlace(n), Cap: p.Cap})
		e.quantise(n)
	case *format.SliceParams:
		q := *p
		q.In, q.Out = e.read(n.in[0]), e.result(n, nil)
		e.add(&q)
		e.quantise(n)
	case *format.MixParams:
		q := *p
		q.A, q.B, q.Coef = e.read(n.in[0]), e.read(n.in[1]), e.read(n.in[2])
		q.Out = e.result(n, nil)
		e.add(&q)
		e.quantise(n)
	case *format.TemperParams:
		q := *p
		q.X = e.inPlace(n)
		e.add(&q)
		e.quantise(n)
	default:
		e.recurrent(n)
	}
}

func (e *emitter) norm(n *node, q format.NormParams) {
	q.In, q.W, q.Bias, q.Out = e.read(n.in[0]), e.weight(n.w, 0), e.weight(n.w, 1), format.None
	if n.wantF32 || !n.wantQ {
		q.Out = e.result(n, n.in[0])
	}
	q.Q = e.quantisedResult(n)
	e.add(&q)
}

// matmul emits a group. Residuals are read before results are placed, so that a result may take its residual's buffer.
func (e *emitter) matmul(g *node) {
	q := &format.MatMulParams{In: e.readAs(g.in[0], quantised(g.parts[0].w[0]))}
	for range len(g.parts) - 1 {
		e.use(q.In)
	}
	for _, n := range g.parts {
		part := n.params.(*format.MatMulParams).Parts[0]
		part.W, part.Bias, part.Residual = e.weight(n.w, 0), e.weight(n.w, 1), e.read(n.residual)
		part.Out, part.Fine = e.result(n, e.overwritable(n.residual, q.In)), n.fine
		q.Parts = append(q.Parts, part)
	}
	e.add(q)
	for _, n := range g.parts {
		e.quantise(n)
	}
}

func (e *emitter) experts(n *node, q format.ExpertsParams) {
	q.In, q.Route = e.readAs(n.in[0], quantised(n.w[1])), e.read(n.in[1])
	q.Gate, q.Up, q.Down = e.weight(n.w, 0), e.weight(n.w, 1), e.weight(n.w, 2)
	for i, v := range []*uint32{&q.GateScale, &q.UpScale, &q.DownScale, &q.GateBias, &q.UpBias, &q.DownBias} {
		*v = e.weight(n.w, 3+i)
	}
	q.Residual = e.read(n.residual)
	q.Out = e.result(n, e.overwritable(n.residual, q.In))
	// A scratch buffer holds one entry per choice of a row, evenly spaced, so an entry fills whole vectors.
	top, hidden := uint64(n.in[1].width), n.w[2].Dims[0]
	form := func(quantised bool) format.ElemType {
		switch {
		case quantised && n.fine:
			return format.ElemQ8X2
		case quantised:
			return format.ElemQ8X
		}
		return format.ElemF32
	}
	in := form(quantised(n.w[1]))
	q.Gathered = e.buf("experts_in", in, top*entry(in, n.w[1].Dims[0]))
	q.UpOut = e.buf("experts_up", format.ElemF32, top*entry(format.ElemF32, hidden))
	q.GateOut, q.Hidden = format.None, q.UpOut
	if q.Gate != format.None {
		q.GateOut = e.buf("experts_gate", format.ElemF32, top*entry(format.ElemF32, hidden))
		q.Hidden = q.GateOut
	}
	if quantised(n.w[2]) {
		q.Hidden = e.buf("experts_hidden", form(true), top*entry(form(true), hidden))
	}
	q.DownOut = e.buf("experts_down", format.ElemF32, top*entry(format.ElemF32, uint64(n.width)))
	e.add(&q)
	e.quantise(n)
}

// entry is the length of one entry of n elements in a scratch buffer.
func entry(t format.ElemType, n uint64) uint64 {
	switch t {
	case format.ElemQ8X:
		return (n + 31) &^ 31
	case format.ElemQ8X2:
		return (n + 127) &^ 127
	}
	return (n + 15) &^ 15
}

// inPlace is the buffer of an operation that overwrites its input; if others still read the input, it works on a copy.
func (e *emitter) inPlace(n *node) uint32 {
	from := n.in[0]
	in := e.read(from)
	out := e.result(n, from)
	if out != in {
		e.add(&format.ElementParams{Element: format.ElementScale, A: in, B: format.None, Out: out, Scale: 1})
		e.use(out)
	}
	return out
}
