package check

import (
	"jns/format"
)

// op proves one operation and moves the flow past it.
func (k *checker) op(op format.Op) error {
	if op.Params == nil || op.Params.Kind() != op.Kind {
		return corrupt("operands %T do not belong to it", op.Params)
	}
	if op.Version == 0 || op.Version > format.OpVersion(op.Kind) {
		return unsupported("version %d is unknown", op.Version)
	}
	var o operands
	var err error
	switch p := op.Params.(type) {
	case *format.RowsParams:
		err = k.rows(p, &o)
	case *format.NormParams:
		err = k.norm(p, &o)
	case *format.QuantizeParams:
		err = k.quantize(p, &o)
	case *format.MatMulParams:
		err = k.matmul(p, &o)
	case *format.RopeParams:
		err = k.rope(p, &o)
	case *format.KVAppendParams:
		err = k.kvAppend(p, &o)
	case *format.AttentionParams:
		err = k.attention(p, &o)
	case *format.ActivationParams:
		err = k.activation(p, &o)
	case *format.ElementParams:
		err = k.element(p, &o)
	case *format.SelectParams:
		err = k.selectRows(p)
		return err
	case *format.RouteParams:
		err = k.route(p, &o)
	case *format.ExpertsParams:
		err = k.expertsOp(p, &o)
	case *format.SoftCapParams:
		err = k.softCap(p, &o)
	case *format.SliceParams:
		err = k.slice(p, &o)
	case *format.TemperParams:
		err = k.temper(p, &o)
	case *format.MixParams:
		err = k.mix(p, &o)
	case *format.ConvParams:
		err = k.conv(p, &o)
	case *format.ScanParams:
		err = k.scan(p, &o)
	case *format.DeltaParams:
		err = k.delta(p, &o)
	case *format.HeadMatMulParams:
		err = k.headMatMul(p, &o)
	case *format.JoinParams:
		err = k.join(p, &o)
	case *format.AffineParams:
		err = k.affine(p, &o)
	case *format.WKVParams:
		err = k.wkv(p, &o)
	case *format.PositionParams:
		err = k.position(p, &o)
	case *format.XIELUParams:
		err = k.xielu(p, &o)
	case *format.RetainParams:
		err = k.retain(p, &o)
	default:
		return unsupported("kind %d is unknown", op.Kind)
	}
	if err != nil {
		return err
	}
	if err := k.labour(op.Params, &o); err != nil {
		return err
	}
	return k.flow.apply(&o, k.selected, k.selected)
}

// allRows refuses an operation that needs tokens or positions of rows after rows were selected (JNS-44).
func (k *checker) allRows() error {
	if k.selected {
		return corrupt("works on all rows of the batch, but rows have been selected")
	}
	return nil
}

func (k *checker) rows(p *format.RowsParams, o *operands) error {
	t, _, err := k.matrix(p.W, false)
	if err != nil {
		return err
	}
	if p.By > format.ByNothing {
		return unsupported("choice %d of a row is unknown", p.By)
	}
	if p.By == format.ByToken && t.Rows < uint64(k.p.Vocab) {
		return corrupt("table %q has %d rows, there are %d tokens", t.Name, t.Rows, k.p.Vocab)
	}
	if err := first(k.allRows(), k.buffer(p.Out, format.ElemF32, t.Cols), finite(p.Scale)); err != nil {
		return err
	}
	o.write(p.Out)
	return nil
}

func (k *checker) norm(p *format.NormParams, o *operands) error {
	n := k.length(p.In)
	if p.Norm < format.NormRMS || p.Norm > format.NormNone {
		return unsupported("norm %d is unknown", p.Norm)
	}
	if err := first(k.buffer(p.In, format.ElemF32, n), k.results(p.Out, p.Q, n), finite(p.Eps)); err != nil {
		return err
	}
	if p.Groups == 0 || n%uint64(p.Groups) != 0 || p.Eps < 0 {
		return corrupt("%d elements in %d groups, epsilon %g", n, p.Groups, p.Eps)
	}
	length := n / uint64(p.Groups)
	if p.WPerGroup {
		length = n
	}
	if p.Norm == format.NormL2 && (p.Bias != format.None || p.W != format.None) {
		return corrupt("norm %d has no such weight or bias", p.Norm)
	}
	if err := first(k.optionalVector(p.W, length), k.optionalVector(p.Bias, length)); err != nil {
		return err
	}
	o.read(p.In)
	o.write(p.Out, p.In)
	o.write(p.Q)
	return nil
}

// results proves the outputs of an operation that gives n float32, quantised ones, or both.
func (k *checker) results(out, q uint32, n uint64) error {
	if out == format.None && q == format.None {
		return corrupt("it has no output")
	}
	if out != format.None {
		if err := k.buffer(out, format.ElemF32, n); err != nil {
			return err
		}
	}
	if q != format.None {
		return k.quantised(q, n)
	}
	return nil
}

// form is the element type that a buffer of activations for a matrix must have: of quantised ones, one row or two as the buffer says.
func (k *checker) form(b uint32, float bool) format.ElemType {
	switch {
	case float:
		return format.ElemF32
	case uint64(b) < uint64(len(k.p.Buffers)) && k.p.Buffers[b].Type == format.ElemQ8X2:
		return format.ElemQ8X2
	}
	return format.ElemQ8X
}

// quantised proves a buffer of n quantised activations, in one or two rows.
func (k *checker) quantised(b uint32, n uint64) error {
	return k.buffer(b, k.form(b, false), n)
}

func (k *checker) quantize(p *format.QuantizeParams, o *operands) error {
	n := k.length(p.In)
	o.read(p.In)
	o.write(p.Out)
	return first(k.buffer(p.In, format.ElemF32, n), k.quantised(p.Out, n))
}

func (k *checker) matmul(p *format.MatMulParams, o *operands) error {
	if len(p.Parts) == 0 || len(p.Parts) > MaxParts {
		return corrupt("%d matrices, must be 1 to %d", len(p.Parts), MaxParts)
	}
	for i := range p.Parts {
		if err := k.part(p.In, &p.Parts[i], o); err != nil {
			return err
		}
	}
	o.read(p.In)
	return nil
}

// part proves one matrix of a product. Parts run side by side, so a part's residual may be its own output but no other's: the residuals are
// reads of the whole operation, and a write allows only its own.
func (k *checker) part(in uint32, p *format.MatMulPart, o *operands) error {
	t, float, err := k.matrix(p.W, false)
	if err != nil {
		return err
	}
	rows := t.Rows
	if p.Rows != 0 || p.From != 0 {
		// Both sums are of 32-bit numbers. A range begins at a tile; where it ends within one, the tile's other rows go to the padding of the output.
		if rows = uint64(p.Rows); rows == 0 || uint64(p.From)+rows > t.Rows || p.From%t.TileRows != 0 {
			return corrupt("rows %d … %d of tensor %q, which has %d in tiles of %d", p.From, uint64(p.From)+rows, t.Name, t.Rows, t.TileRows)
		}
	}
	bias := k.optionalVector(p.Bias, rows)
	if bias != nil && rows != t.Rows {
		bias = k.optionalVector(p.Bias, t.Rows)
	}
	var activations error
	switch {
	case float && p.Fine:
		activations = corrupt("a float matrix takes no quantised activations")
	case float:
		activations = k.buffer(in, format.ElemF32, t.Cols)
	case p.Fine:
		activations = k.buffer(in, format.ElemQ8X2, t.Cols)
	default:
		activations = k.quantised(in, t.Cols)
	}
	if err := first(activations, k.output(p.Out, &t, rows), bias, finite(p.Scale)); err != nil {
		return err
	}
	if p.Residual != format.None {
		if err := k.buffer(p.Residual, format.ElemF32, rows); err != nil {
			return err
		}
	}
	if in == p.Out {
		return corrupt("output buffer %d is the input", p.Out)
	}
	for _, w := range o.writes {
		if p.Residual == w.buffer {
			return corrupt("residual buffer %d is the output of another matrix of the operation", p.Residual)
		}
	}
	for _, r := range o.reads {
		if r == p.Out {
			return corrupt("output buffer %d is the residual of another matrix of the operation", p.Out)
		}
	}
	o.read(p.Residual)
	o.write(p.Out, p.Residual)
	return nil
}

func (k *checker) rope(p *format.RopeParams, o *operands) error {
	if uint64(p.Table) >= uint64(len(k.p.Ropes)) {
		return corrupt("rope %d of %d", p.Table, len(k.p.Ropes))
	}
	k.turned[p.Table] = true
	pairs := len(k.p.Ropes[p.Table].Freqs)
	if p.Heads == 0 || p.Heads > MaxHeads || p.HeadDim == 0 || p.HeadDim > MaxHeadDim || 2*pairs > int(p.HeadDim) {
		return corrupt("%d heads of %d elements, %d pairs", p.Heads, p.HeadDim, pairs)
	}
	o.read(p.X)
	o.write(p.X, p.X)
	return first(k.allRows(), k.buffer(p.X, format.ElemF32, uint64(p.Heads)*uint64(p.HeadDim)))
}

func (k *checker) state(s uint32) (format.State, error) {
	if uint64(s) >= uint64(len(k.p.States)) {
		return format.State{}, corrupt("state %d of %d", s, len(k.p.States))
	}
	return k.p.States[s], nil
}

func (k *checker) kvAppend(p *format.KVAppendParams, o *operands) error {
	s, err := k.kvState(p.State)
	if err != nil {
		return err
	}
	if k.appended[p.State] {
		return corrupt("state %d is filled a second time", p.State)
	}
	k.appended[p.State] = true
	o.read(p.K, p.V)
	heads := uint64(s.KVHeads)
	return first(k.allRows(), k.buffer(p.K, format.ElemF32, heads*uint64(s.KeyDim)), k.buffer(p.V, format.ElemF32, heads*uint64(s.ValDim)))
}

func (k *checker) attention(p *format.AttentionParams, o *operands) error {
	s, err := k.kvState(p.State)
	if err != nil {
		return err
	}
	if !k.appended[p.State] {
		return corrupt("state %d is read before it is filled", p.State)
	}
	if p.Heads == 0 || p.Heads > MaxHeads || p.Heads%s.KVHeads != 0 || p.SoftCap < 0 {
		return corrupt("%d heads over %d heads of keys, soft cap %g", p.Heads, s.KVHeads, p.SoftCap)
	}
	if err := k.distances(p); err != nil {
		return err
	}
	if p.All && s.Window != 0 || !p.All && p.Reach != 0 || p.Chunked && s.Window == 0 {
		return corrupt("a window of %d and a reach of %d", s.Window, p.Reach)
	}
	o.read(p.Q)
	o.write(p.Out)
	heads := uint64(p.Heads)
	return first(k.allRows(), finite(p.Scale, p.SoftCap), k.buffer(p.Q, format.ElemF32, heads*uint64(s.KeyDim)),
		k.buffer(p.Out, format.ElemF32, heads*uint64(s.ValDim)), k.optionalVector(p.Sinks, heads))
}

func (k *checker) activation(p *format.ActivationParams, o *operands) error {
	n := k.length(p.Gate)
	if err := first(activation(p.Act), k.buffer(p.Gate, format.ElemF32, n), k.results(p.Out, p.Q, n)); err != nil {
		return err
	}
	if p.Act == format.ActSwigluOAI && p.Up == format.None {
		return corrupt("activation %d needs two inputs", p.Act)
	}
	if p.Up != format.None {
		if err := k.buffer(p.Up, format.ElemF32, n); err != nil {
			return err
		}
	}
	o.read(p.Gate, p.Up)
	o.write(p.Out, p.Gate, p.Up)
	o.write(p.Q)
	return nil
}

func activation(act uint8) error {
	if act < format.ActSiLU || act > format.ActTanh {
		return unsupported("activation %d is unknown", act)
	}
	return nil
}

func (k *checker) element(p *format.ElementParams, o *operands) error {
	if p.Element == format.ElementDot {
		return k.dot(p, o)
	}
	n := k.length(p.A)
	if err := first(k.buffer(p.A, format.ElemF32, n), k.buffer(p.Out, format.ElemF32, n), finite(p.Scale)); err != nil {
		return err
	}
	switch p.Element {
	case format.ElementAdd, format.ElementMul, format.ElementDiv:
		if err := k.buffer(p.B, format.ElemF32, n); err != nil {
			return err
		}
	case format.ElementSpread, format.ElementRescale:
		b := k.length(p.B)
		if b == 0 || n%b != 0 {
			return corrupt("%d elements in %d runs", n, b)
		}
		if err := k.buffer(p.B, format.ElemF32, b); err != nil {
			return err
		}
		o.read(p.A, p.B)
		o.write(p.Out, p.A)
		return nil
	case format.ElementScale, format.ElementCutoff, format.ElementClamp, format.ElementMin, format.ElementSoftmax, format.ElementExp:
		if p.Element == format.ElementClamp && !(p.Scale > 0) {
			return corrupt("a bound of %g", p.Scale)
		}
		if n < 2 && p.Element == format.ElementCutoff {
			return corrupt("the deviation of %d elements", n)
		}
		if p.B != format.None {
			return corrupt("a scaling has no second input")
		}
	default:
		return unsupported("element-wise operation %d is unknown", p.Element)
	}
	o.read(p.A, p.B)
	o.write(p.Out, p.A, p.B)
	return nil
}

// selectRows reads a buffer of all rows and writes one of selected rows. Several of them may follow each other, one for each value that lives on.
func (k *checker) selectRows(p *format.SelectParams) error {
	n := k.length(p.In)
	if err := first(k.buffer(p.In, format.ElemF32, n), k.buffer(p.Out, format.ElemF32, n)); err != nil {
		return err
	}
	var o operands
	o.read(p.In)
	o.write(p.Out)
	k.selected = true
	return first(k.labour(p, &o), k.flow.apply(&o, false, true))
}

func (k *checker) route(p *format.RouteParams, o *operands) error {
	switch {
	case p.Func < format.RouteSoftmax || p.Func > format.RouteSigmoid:
		return unsupported("routing function %d is unknown", p.Func)
	case p.Experts == 0 || p.Experts > MaxExperts || p.Top == 0 || p.Top > MaxTop || p.Top > p.Experts:
		return corrupt("%d of %d experts", p.Top, p.Experts)
	case p.Groups == 0 || p.Experts%p.Groups != 0 || p.TopGroups == 0 || p.TopGroups > p.Groups:
		return corrupt("%d of %d groups of %d experts", p.TopGroups, p.Groups, p.Experts)
	case p.Groups > 1 && (p.Experts/p.Groups < 2 || uint64(p.TopGroups)*uint64(p.Experts/p.Groups) < uint64(p.Top)):
		return corrupt("%d of %d groups of %d experts hold less than %d", p.TopGroups, p.Groups, p.Experts, p.Top)
	case p.MinSum < 0:
		return corrupt("least sum of weights %g", p.MinSum)
	}
	if err := first(finite(p.MinSum, p.Scale), k.buffer(p.In, format.ElemF32, uint64(p.Experts)), k.buffer(p.Out, format.ElemRoute, uint64(p.Top)),
		k.optionalVector(p.Bias, uint64(p.Experts))); err != nil {
		return err
	}
	k.experts[p.Out] = p.Experts
	if p.Share != 0 {
		if p.Share < 2 || p.Experts%p.Share != 0 || p.Func != format.RouteSoftmax || p.Groups != 1 {
			return corrupt("%d numbers share an expert, of %d in %d groups, by function %d", p.Share, p.Experts, p.Groups, p.Func)
		}
		k.experts[p.Out] /= p.Share
	}
	o.read(p.In)
	o.write(p.Out)
	return nil
}

func (k *checker) expertsOp(p *format.ExpertsParams, o *operands) error {
	up, upFloat, err := k.matrix(p.Up, true)
	if err != nil {
		return err
	}
	down, downFloat, err := k.matrix(p.Down, true)
	if err != nil {
		return err
	}
	gated := p.Gate != format.None
	hidden, top := up.Rows, k.length(p.Route)
	switch {
	case p.Fused && p.Gate != p.Up:
		return corrupt("gate and up are said to be one tensor, but are %d and %d", p.Gate, p.Up)
	case p.Fused && (up.Rows%2 != 0 || up.Rows/2%uint64(up.TileRows) != 0):
		return corrupt("gate and up are %d rows in tiles of %d", up.Rows, up.TileRows)
	case p.Fused:
		hidden /= 2
	case gated:
		gate, float, err := k.matrix(p.Gate, true)
		if err != nil {
			return err
		}
		if gate.Count != up.Count || gate.FirstSlot != up.FirstSlot {
			return corrupt("gate and up do not share the slots of their experts")
		}
		if gate.Rows != hidden || gate.Cols != up.Cols || float != upFloat || !tiles(&gate) {
			return corrupt("a gate of %d × %d and a matrix of %d × %d do not fit together", gate.Rows, gate.Cols, up.Rows, up.Cols)
		}
	}
	switch {
	case down.Cols != hidden:
		return corrupt("matrices of %d × %d and %d × %d do not fit together", up.Rows, up.Cols, down.Rows, down.Cols)
	case down.Count != up.Count || down.FirstSlot != up.FirstSlot:
		return corrupt("gate, up and down do not share the slots of their experts")
	case top == 0 || top > MaxTop:
		return corrupt("%d choices per row", top)
	case p.Limit < 0 || p.LimitIn && p.Limit == 0 || p.Limit > 0 && p.Act == format.ActSwigluOAI:
		return corrupt("a limit of %g", p.Limit)
	case !finiteAndPositive(p.GateCap, p.UpCap) || p.GateCap == 0 && p.UpCap != 0 || p.GateCap > 0 && (p.Limit > 0 || p.Act == format.ActSwigluOAI):
		return corrupt("caps of %g and %g beside a limit of %g", p.GateCap, p.UpCap, p.Limit)
	case !gated && (p.GateCap != 0 || p.Limit != 0 || p.Act == format.ActSwigluOAI || p.GateOut != format.None || p.GateScale != format.None || p.GateBias != format.None):
		return corrupt("there is no gate, but something that needs one")
	case !tiles(&up) || !tiles(&down):
		return unsupported("tiles of %d and %d rows in experts", up.TileRows, down.TileRows)
	}
	in, inner := k.form(p.In, upFloat), k.form(p.Hidden, downFloat)
	if err := first(activation(p.Act), finite(p.Limit), k.buffer(p.In, in, up.Cols), k.buffer(p.Route, format.ElemRoute, top), k.output(p.Out, &down, down.Rows)); err != nil {
		return err
	}
	if experts := k.experts[p.Route]; uint64(experts) != up.Count {
		return corrupt("the route chooses among %d experts, there are %d", experts, up.Count)
	}
	for _, v := range []struct {
		w uint32
		n uint64
	}{
		{p.GateScale, 1}, {p.UpScale, 1}, {p.DownScale, 1}, {p.GateBias, hidden}, {p.UpBias, hidden}, {p.DownBias, down.Rows},
	} {
		if err := k.optionalVector(v.w, up.Count*v.n); err != nil {
			return err
		}
	}
	if p.Residual != format.None {
		if err := k.buffer(p.Residual, format.ElemF32, down.Rows); err != nil {
			return err
		}
	}
	if p.In == p.Out {
		return corrupt("output buffer %d is the input", p.Out)
	}
	hiddenIn := p.UpOut // what the activation leaves, when it is float32
	if gated {
		hiddenIn = p.GateOut
		if err := k.buffer(p.GateOut, format.ElemF32, top*entry(format.ElemF32, hidden)); err != nil {
			return err
		}
	}
	for _, s := range []struct {
		b   uint32
		t   format.ElemType
		len uint64
	}{
		{p.Gathered, in, up.Cols}, {p.UpOut, format.ElemF32, hidden}, {p.Hidden, inner, hidden}, {p.DownOut, format.ElemF32, down.Rows},
	} {
		if err := k.buffer(s.b, s.t, top*entry(s.t, s.len)); err != nil {
			return err
		}
	}
	o.read(p.In, p.Route, p.Residual)
	o.write(p.Out, p.Residual)
	o.scratch(p.Gathered, p.UpOut, p.DownOut)
	if gated {
		o.scratch(p.GateOut)
	}
	if p.Hidden != hiddenIn {
		o.scratch(p.Hidden)
	}
	return nil
}

// tiles says whether a tile's rows divide 16: entries are rounded up to 16 elements, and a tile must not write more rows than that.
func tiles(t *format.Tensor) bool { return t.TileRows <= 16 && 16%t.TileRows == 0 }

// entry is the length of one choice's part of a scratch buffer for n elements (JNS-46).
func entry(t format.ElemType, n uint64) uint64 {
	switch t {
	case format.ElemQ8X:
		return (n + 31) &^ 31
	case format.ElemQ8X2:
		return (n + 127) &^ 127
	}
	return (n + 15) &^ 15
}

func (k *checker) softCap(p *format.SoftCapParams, o *operands) error {
	if !(p.Cap > 0) {
		return corrupt("cap %g", p.Cap)
	}
	o.read(p.X)
	o.write(p.X, p.X)
	return first(finite(p.Cap), k.buffer(p.X, format.ElemF32, k.length(p.X)))
}

func (k *checker) slice(p *format.SliceParams, o *operands) error {
	in, out, width, stride := k.length(p.In), k.length(p.Out), uint64(p.Width), uint64(p.Stride)
	if err := first(k.buffer(p.In, format.ElemF32, in), k.buffer(p.Out, format.ElemF32, out)); err != nil {
		return err
	}
	if width == 0 || stride == 0 || out%width != 0 || uint64(p.From)+(out/width-1)*stride+width > in {
		return corrupt("%d of every %d elements from %d on, %d in all, of %d", width, stride, p.From, out, in)
	}
	o.read(p.In)
	o.write(p.Out)
	return nil
}

func (k *checker) temper(p *format.TemperParams, o *operands) error {
	if p.Step == 0 || len(p.Factors) == 0 || len(p.Factors) > MaxFactors {
		return corrupt("%d factors, each for %d positions", len(p.Factors), p.Step)
	}
	o.read(p.X)
	o.write(p.X, p.X)
	return first(k.allRows(), finite(p.Factors...), k.buffer(p.X, format.ElemF32, k.length(p.X)))
}

func (k *checker) mix(p *format.MixParams, o *operands) error {
	rows, cols, n := uint64(p.Rows), uint64(p.Cols), k.length(p.Out)
	if rows == 0 || rows > MaxParts || cols == 0 || cols > MaxParts || n%rows != 0 || n == 0 || len(p.Offset) != 0 && uint64(len(p.Offset)) != rows*cols {
		return corrupt("%d of %d runs, %d elements, %d offsets", rows, cols, n, len(p.Offset))
	}
	if err := first(finite(p.Offset...), k.buffer(p.Out, format.ElemF32, n), k.buffer(p.B, format.ElemF32, n/rows*cols)); err != nil {
		return err
	}
	if p.A != format.None {
		if err := k.buffer(p.A, format.ElemF32, n); err != nil {
			return err
		}
	}
	if p.Coef != format.None {
		if err := k.buffer(p.Coef, format.ElemF32, rows*cols); err != nil {
			return err
		}
	}
	k.work += n * cols
	o.read(p.A, p.B, p.Coef)
	o.write(p.Out)
	return nil
}

// first gives the first error of a list of proofs that do not depend on each other.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
