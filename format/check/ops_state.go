package check

import "jns/format"

// maxTaps bounds the kernel of a short convolution; maxState the numbers of a recurrent state.
const (
	maxTaps  = 64
	maxState = 1 << 26
)

// recurrent proves JNS-44: that a state is a recurrent one of the shape, that rows are still all rows, and that no operation has used the state before.
func (k *checker) recurrent(s uint32, heads, key, val uint64) error {
	st, err := k.state(s)
	if err != nil {
		return err
	}
	switch {
	case st.Kind != format.StateRecurrent:
		return corrupt("state %d is of kind %d, must be %d", s, st.Kind, format.StateRecurrent)
	case uint64(st.KVHeads) != heads || uint64(st.KeyDim) != key || uint64(st.ValDim) != val:
		return corrupt("state %d is %d × %d × %d, must be %d × %d × %d", s, st.KVHeads, st.KeyDim, st.ValDim, heads, key, val)
	case k.appended[s]:
		return corrupt("state %d is filled a second time", s)
	}
	k.appended[s] = true
	k.work += 2 * heads * key * val
	return k.allRows()
}

// kvState gives a state of keys and values.
func (k *checker) kvState(s uint32) (format.State, error) {
	st, err := k.state(s)
	if err == nil && st.Kind != format.StateKV {
		err = corrupt("state %d is of kind %d, must be %d", s, st.Kind, format.StateKV)
	}
	return st, err
}

func (k *checker) conv(p *format.ConvParams, o *operands) error {
	n := k.length(p.X)
	if p.Taps < 2 || p.Taps > maxTaps {
		return corrupt("%d taps, must be 2 to %d", p.Taps, maxTaps)
	}
	if p.Act != 0 {
		if err := activation(p.Act); err != nil {
			return err
		}
		if p.Act == format.ActSwigluOAI {
			return corrupt("activation %d needs two inputs", p.Act)
		}
	}
	if p.W == format.None && (p.Taps != 2 || p.Bias != format.None || p.Act != 0) {
		return corrupt("a difference with %d taps, bias %d, function %d", p.Taps, p.Bias, p.Act)
	}
	o.read(p.X)
	o.write(p.Out)
	return first(k.buffer(p.X, format.ElemF32, n), k.buffer(p.Out, format.ElemF32, n), k.recurrent(p.State, 1, uint64(p.Taps)-1, n),
		k.optionalVector(p.W, n*uint64(p.Taps)), k.optionalVector(p.Bias, n))
}

func (k *checker) scan(p *format.ScanParams, o *operands) error {
	heads, dim, n, groups := uint64(p.Heads), uint64(p.HeadDim), uint64(p.N), uint64(p.Groups)
	if heads == 0 || heads > MaxLen || dim == 0 || dim > MaxHeadDim || n == 0 || n > MaxHeadDim || groups == 0 || heads%groups != 0 {
		return corrupt("%d heads of %d channels with %d numbers of state in %d groups", heads, dim, n, groups)
	}
	a, err := k.use(p.A)
	if err != nil {
		return err
	}
	k.uses[p.A]-- // it is proved below
	perState := a.Cols == heads*n && n > 1
	if perState && (dim != 1 || groups != 1) {
		return corrupt("a decay for each number of state, with heads of %d channels in %d groups", dim, groups)
	}
	decays := heads
	if perState {
		decays *= n
	}
	stateHeads, values := heads, dim
	if dim == 1 {
		stateHeads, values = 1, heads
		k.work += 14 * heads * min(n, maxState) // an exponential for each number
	}
	o.read(p.X, p.DT, p.B, p.C)
	o.write(p.Out)
	return first(k.recurrent(p.State, stateHeads, n, values), k.buffer(p.X, format.ElemF32, heads*dim), k.buffer(p.DT, format.ElemF32, heads), k.buffer(p.B, format.ElemF32, groups*n),
		k.buffer(p.C, format.ElemF32, groups*n), k.buffer(p.Out, format.ElemF32, heads*dim), k.vector(p.A, decays),
		k.optionalVector(p.Bias, heads), k.optionalVector(p.D, heads))
}

func (k *checker) delta(p *format.DeltaParams, o *operands) error {
	heads, keys, dk, dv := uint64(p.Heads), uint64(p.KeyHeads), uint64(p.KeyDim), uint64(p.ValDim)
	if heads == 0 || heads > MaxHeads || keys == 0 || heads%keys != 0 || dk == 0 || dk > MaxHeadDim || dv == 0 || dv > MaxHeadDim {
		return corrupt("%d heads of %d keys and %d values, %d heads of keys", heads, dk, dv, keys)
	}
	alpha := k.length(p.Alpha)
	if alpha != heads && alpha != heads*dk {
		return corrupt("%d decays for %d heads of %d keys", alpha, heads, dk)
	}
	o.read(p.Q, p.K, p.V, p.Alpha, p.Beta)
	o.write(p.Out)
	if p.Bound == 0 && p.Rate != 0 || p.Bound > 0 {
		return corrupt("decays between 1 and e^%g, rate %g", p.Bound, p.Rate)
	}
	return first(k.recurrent(p.State, heads, dk, dv), finite(p.Scale, p.Bound, p.Rate), k.buffer(p.Q, format.ElemF32, keys*dk), k.buffer(p.K, format.ElemF32, keys*dk),
		k.buffer(p.V, format.ElemF32, heads*dv), k.buffer(p.Alpha, format.ElemF32, alpha), k.buffer(p.Beta, format.ElemF32, heads),
		k.buffer(p.Out, format.ElemF32, heads*dv), k.vector(p.A, heads), k.optionalVector(p.Bias, alpha))
}

func (k *checker) headMatMul(p *format.HeadMatMulParams, o *operands) error {
	t, float, err := k.matrix(p.W, false)
	if err != nil {
		return err
	}
	heads := uint64(p.Heads)
	if heads == 0 || heads > MaxHeads || t.Rows%heads != 0 || t.Rows/heads%uint64(t.TileRows) != 0 {
		return corrupt("%d heads of %d rows in tiles of %d", heads, t.Rows, t.TileRows)
	}
	form := k.form(p.In, float)
	switch {
	case p.Fine != (form == format.ElemQ8X2):
		return corrupt("both rows of the input are used: %t, its elements are of type %d", p.Fine, form)
	case !float && t.Cols%32 != 0:
		return corrupt("heads of %d quantised columns", t.Cols)
	case p.In == p.Out:
		return corrupt("output buffer %d is the input", p.Out)
	}
	o.read(p.In)
	o.write(p.Out)
	return first(k.buffer(p.In, form, heads*t.Cols), k.output(p.Out, &t, t.Rows), finite(p.Scale))
}

func (k *checker) join(p *format.JoinParams, o *operands) error {
	a, b, groups := k.length(p.A), k.length(p.B), uint64(p.Groups)
	if groups == 0 || a%groups != 0 || !p.Shared && b%groups != 0 {
		return corrupt("%d and %d elements in %d groups", a, b, groups)
	}
	if p.Shared {
		b *= groups
	}
	o.read(p.A, p.B)
	o.write(p.Out)
	return first(k.buffer(p.A, format.ElemF32, a), k.buffer(p.B, format.ElemF32, k.length(p.B)), k.buffer(p.Out, format.ElemF32, a+b))
}

func (k *checker) affine(p *format.AffineParams, o *operands) error {
	n := k.length(p.A)
	t, err := k.use(p.W)
	if err != nil {
		return err
	}
	k.uses[p.W]-- // it is proved below
	if uint64(p.From)+n > t.Cols {
		return corrupt("elements %d … %d of vector %q, which has %d", p.From, uint64(p.From)+n, t.Name, t.Cols)
	}
	o.read(p.A, p.B)
	if p.B == format.None {
		o.write(p.Out, p.A)
	} else {
		o.write(p.Out, p.B)
		if err := k.buffer(p.B, format.ElemF32, n); err != nil {
			return err
		}
	}
	return first(k.vector(p.W, t.Cols), k.buffer(p.A, format.ElemF32, n), k.buffer(p.Out, format.ElemF32, n))
}

func (k *checker) wkv(p *format.WKVParams, o *operands) error {
	heads, dim := uint64(p.Heads), uint64(p.Dim)
	if heads == 0 || heads > MaxHeads || dim == 0 || dim > MaxHeadDim {
		return corrupt("%d heads of %d elements", heads, dim)
	}
	o.write(p.Out)
	all := k.buffer(p.Out, format.ElemF32, heads*dim)
	for _, b := range []uint32{p.R, p.W, p.K, p.V, p.A, p.B} {
		o.read(b)
		all = first(all, k.buffer(b, format.ElemF32, heads*dim))
	}
	return first(k.recurrent(p.State, heads, dim, dim), all)
}

func (k *checker) dot(p *format.ElementParams, o *operands) error {
	n, runs := k.length(p.A), k.length(p.Out)
	if runs == 0 || n%runs != 0 {
		return corrupt("%d elements in %d runs", n, runs)
	}
	o.read(p.A, p.B)
	o.write(p.Out)
	return first(k.buffer(p.A, format.ElemF32, n), k.buffer(p.B, format.ElemF32, n), k.buffer(p.Out, format.ElemF32, runs), finite(p.Scale))
}

func (k *checker) position(p *format.PositionParams, o *operands) error {
	n := k.length(p.Out)
	if p.Step == 0 || n > MaxFactors || uint64(len(p.Base)) != n || uint64(len(p.High)) != n || uint64(len(p.Low)) != n {
		return corrupt("%d elements of %d, %d and %d numbers, steps of %d positions", n, len(p.Base), len(p.High), len(p.Low), p.Step)
	}
	o.write(p.Out)
	return first(k.allRows(), finite(p.Base...), finite(p.High...), finite(p.Low...), k.buffer(p.Out, format.ElemF32, n))
}

func (k *checker) xielu(p *format.XIELUParams, o *operands) error {
	n := k.length(p.In)
	o.read(p.In)
	o.write(p.Out, p.In)
	return first(finite(p.AlphaN, p.AlphaP, p.Beta, p.Eps), k.buffer(p.In, format.ElemF32, n), k.buffer(p.Out, format.ElemF32, n))
}

func (k *checker) retain(p *format.RetainParams, o *operands) error {
	heads, dk, dv := uint64(p.Heads), uint64(p.KeyDim), uint64(p.ValDim)
	if heads == 0 || heads > MaxHeads || dk == 0 || dk > MaxHeadDim || dv == 0 || dv > MaxHeadDim {
		return corrupt("%d heads of %d keys and %d values", heads, dk, dv)
	}
	var decay error
	switch {
	case p.Decay != format.None && len(p.Decays) == 0:
		decay = k.buffer(p.Decay, format.ElemF32, heads*dk)
	case p.Decay == format.None && uint64(len(p.Decays)) == heads:
		decay = finite(p.Decays...)
	default:
		decay = corrupt("%d decays beside buffer %d, for %d heads", len(p.Decays), p.Decay, heads)
	}
	o.read(p.Q, p.K, p.V, p.Decay)
	o.write(p.Out)
	return first(decay, k.recurrent(p.State, heads, dk, dv), finite(p.Scale), k.buffer(p.Q, format.ElemF32, heads*dk), k.buffer(p.K, format.ElemF32, heads*dk),
		k.buffer(p.V, format.ElemF32, heads*dv), k.buffer(p.Out, format.ElemF32, heads*dv), k.optionalVector(p.First, heads*dk))
}
