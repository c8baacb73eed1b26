package check_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
	"jns/format/check"
	"jns/format/formattest"
)

// operand says what the numbers of an operation's parameters stand for, by the fields' names. Every field of type uint32 must be in it once.
type operand struct {
	buffers, tensors, states string
	numbers                  string // out of range, they are refused
	free                     string // any value does, or has limits that other operands set
	inPlace                  string // pairs output=input that may be the same buffer
}

var operandsOf = map[format.OpKind]operand{
	format.OpRows:       {buffers: "Out", tensors: "W"},
	format.OpNorm:       {buffers: "In Out Q", tensors: "W Bias", numbers: "Groups", inPlace: "Out=In"},
	format.OpQuantize:   {buffers: "In Out"},
	format.OpMatMul:     {buffers: "In Out Residual", tensors: "W Bias", numbers: "From Rows", inPlace: "Out=Residual"},
	format.OpRope:       {buffers: "X", numbers: "Heads HeadDim Table"},
	format.OpKVAppend:   {buffers: "K V", states: "State"},
	format.OpAttention:  {buffers: "Q Out", tensors: "Sinks Bias", states: "State", numbers: "Heads Reach Later", free: "Edges Most"},
	format.OpActivation: {buffers: "Gate Up Out Q", inPlace: "Out=Gate Out=Up"},
	format.OpElement:    {buffers: "A B Out", inPlace: "Out=A Out=B"},
	format.OpSelect:     {buffers: "In Out"},
	format.OpRoute:      {buffers: "In Out", tensors: "Bias", numbers: "Experts Top TopGroups Share", free: "Groups"},
	format.OpExperts: {buffers: "In Route Out Residual Gathered GateOut UpOut Hidden DownOut", tensors: "Gate Up Down GateScale UpScale DownScale GateBias UpBias DownBias",
		inPlace: "Out=Residual Hidden=GateOut"},
	format.OpSoftCap:    {buffers: "X"},
	format.OpSlice:      {buffers: "In Out", numbers: "From Width", free: "Stride"},
	format.OpTemper:     {buffers: "X", free: "Step Offset"},
	format.OpConv:       {buffers: "X Out", tensors: "W Bias", states: "State", numbers: "Taps"},
	format.OpScan:       {buffers: "X DT B C Out", tensors: "A Bias D", states: "State", numbers: "Heads HeadDim N Groups"},
	format.OpDelta:      {buffers: "Q K V Alpha Beta Out", tensors: "A Bias", states: "State", numbers: "Heads KeyHeads KeyDim ValDim"},
	format.OpHeadMatMul: {buffers: "In Out", tensors: "W", numbers: "Heads"},
	format.OpJoin:       {buffers: "A B Out", numbers: "Groups"},
	format.OpMix:        {buffers: "A B Out Coef", numbers: "Rows Cols"},
	format.OpAffine:     {buffers: "A B Out", tensors: "W", numbers: "From", inPlace: "Out=B"},
	format.OpWKV:        {buffers: "R W K V A B Out", states: "State", numbers: "Heads Dim"},
	format.OpPosition:   {buffers: "Out", free: "Step"},
	format.OpXIELU:      {buffers: "In Out", inPlace: "Out=In"},
	format.OpRetain:     {buffers: "Q K V Decay Out", tensors: "First", states: "State", numbers: "Heads KeyDim ValDim"},
}

// subject is a proved program and the operation whose operands are to be spoilt.
type subject struct {
	d *draft
	i int // of the operation
}

func (s subject) op() *format.Op { return &s.d.p.Ops[s.i] }

// subjects build programs around every kind of operation, in the forms that it has.
var subjects = map[string]func(d *draft) (format.Params, uint32){
	"quantize": func(d *draft) (format.Params, uint32) {
		d.p.Buffers = append(d.p.Buffers, format.Buffer{Type: format.ElemQ8X, Region: format.RegionPerRow, Len: 64, Offset: d.p.PerRow})
		d.p.PerRow += 128
		return &format.QuantizeParams{In: 0, Out: uint32(len(d.p.Buffers) - 1)}, 0
	},
	"part of a matrix": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.MatMulParams{In: 0, Parts: []format.MatMulPart{{W: d.matrix(96, 64), Bias: d.vector(96), Out: out, Residual: format.None, Scale: 1, From: 32, Rows: 64}}}, out
	},
	"soft cap": func(*draft) (format.Params, uint32) { return &format.SoftCapParams{X: 0, Cap: 3}, 0 },
	"slice to the end": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		d.op(&format.JoinParams{A: 0, B: 0, Out: d.buffer(128), Groups: 1})
		return &format.SliceParams{In: out + 1, Out: out, From: 8, Width: 8, Stride: 16}, out
	},
	"attention with biases of distance": func(d *draft) (format.Params, uint32) {
		d.p.States = append(d.p.States, format.State{Kind: format.StateKV, KVHeads: 4, KeyDim: 16, ValDim: 16})
		d.op(&format.KVAppendParams{K: 0, V: 0})
		out := d.buffer(64)
		return &format.AttentionParams{Q: 0, Out: out, Heads: 4, Scale: 0.25, Sinks: d.vector(4), Edges: []uint32{0, 1, 5}, Later: 3, Bias: d.vector(24)}, out
	},
	"activation": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.ActivationParams{Act: format.ActSiLU, Gate: 0, Up: d.part(64), Out: out, Q: format.None}, out
	},
	"temper": func(*draft) (format.Params, uint32) {
		return &format.TemperParams{X: 0, Step: 16, Factors: []float32{1, 2}}, 0
	},
	"convolution": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.ConvParams{X: 0, Out: out, State: d.state(1, 3, 64), W: d.vector(256), Bias: d.vector(64), Taps: 4, Act: format.ActSiLU}, out
	},
	"difference": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.ConvParams{X: 0, Out: out, State: d.state(1, 1, 64), W: format.None, Bias: format.None, Taps: 2}, out
	},
	"scan": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.ScanParams{X: 0, DT: d.part(4), B: d.part(16), C: d.part(16), Out: out, State: d.state(4, 8, 16), A: d.vector(4), Bias: d.vector(4), D: d.vector(4),
			Heads: 4, HeadDim: 16, N: 8, Groups: 2}, out
	},
	"delta rule": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.DeltaParams{Q: d.part(16), K: d.part(16), V: 0, Alpha: d.part(4), Beta: d.part(4), Out: out, State: d.state(4, 8, 16), A: d.vector(4), Bias: d.vector(4),
			Heads: 4, KeyHeads: 2, KeyDim: 8, ValDim: 16, Scale: 1, Blocked: true}, out
	},
	"delta rule with bounded decays": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.DeltaParams{Q: d.part(32), K: d.part(32), V: 0, Alpha: d.part(32), Beta: d.part(4), Out: out, State: d.state(4, 8, 16), A: d.vector(4), Bias: d.vector(32),
			Heads: 4, KeyHeads: 4, KeyDim: 8, ValDim: 16, Scale: 1, Bound: -5, Rate: -1}, out
	},
	"matrix of heads": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.HeadMatMulParams{In: 0, W: d.matrix(64, 16), Out: out, Heads: 4, Scale: 1}, out
	},
	"join": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.JoinParams{A: d.part(48), B: d.part(4), Out: out, Groups: 4, Shared: true}, out
	},
	"mixture": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.MixParams{A: 0, B: d.part(48), Out: out, Coef: d.part(12), Rows: 4, Cols: 3, Offset: make([]float32, 12)}, out
	},
	"product with a vector": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.AffineParams{A: d.part(64), B: 0, Out: out, W: d.vector(192), From: 128}, out
	},
	"WKV": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.WKVParams{R: 0, W: 0, K: 0, V: 0, A: 0, B: 0, Out: out, State: d.state(4, 16, 16), Heads: 4, Dim: 16}, out
	},
	"position": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.PositionParams{Out: out, Step: 8, Base: make([]float32, 64), High: make([]float32, 64), Low: make([]float32, 64)}, out
	},
	"xIELU": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.XIELUParams{In: 0, Out: out, AlphaN: 1, AlphaP: 1, Beta: 1, Eps: -1}, out
	},
	"memory that decays": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.RetainParams{Q: d.part(32), K: d.part(32), V: 0, Decay: d.part(32), Out: out, State: d.state(4, 8, 16), First: d.vector(32), Heads: 4, KeyDim: 8, ValDim: 16, Scale: 1}, out
	},
	"memory that decays by heads": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.RetainParams{Q: d.part(32), K: d.part(32), V: 0, Decay: format.None, Decays: []float32{1, 0.5, 0.25, 0}, Out: out, State: d.state(4, 8, 16), First: format.None,
			Heads: 4, KeyDim: 8, ValDim: 16, Scale: 1}, out
	},
	// All operands as long as the output: only the flow of data tells that they must not be it.
	"square memory that decays": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.RetainParams{Q: d.part(64), K: d.part(64), V: 0, Decay: d.part(64), Out: out, State: d.state(4, 16, 16), First: format.None, Heads: 4, KeyDim: 16, ValDim: 16, Scale: 1}, out
	},
	"square delta rule": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.DeltaParams{Q: d.part(64), K: d.part(64), V: 0, Alpha: d.part(64), Beta: d.part(64), Out: out, State: d.state(64, 1, 1), A: d.vector(64), Bias: format.None,
			Heads: 64, KeyHeads: 64, KeyDim: 1, ValDim: 1, Scale: 1}, out
	},
	"square scan": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.ScanParams{X: 0, DT: d.part(64), B: d.part(64), C: d.part(64), Out: out, State: d.state(1, 1, 64), A: d.vector(64), Bias: format.None, D: format.None,
			Heads: 64, HeadDim: 1, N: 1, Groups: 64}, out
	},
	"square mixture": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.MixParams{A: 0, B: d.part(64), Out: out, Coef: d.part(64), Rows: 8, Cols: 8}, out
	},
	"square WKV": func(d *draft) (format.Params, uint32) {
		out := d.buffer(64)
		return &format.WKVParams{R: 0, W: d.part(64), K: d.part(64), V: d.part(64), A: d.part(64), B: d.part(64), Out: out, State: d.state(4, 16, 16), Heads: 4, Dim: 16}, out
	},
	"route whose experts are shared": func(d *draft) (format.Params, uint32) {
		return &format.RouteParams{Func: format.RouteSoftmax, In: d.part(8), Out: d.route(3), Bias: d.vector(8), Experts: 8, Top: 3, Scale: 1, Groups: 1, TopGroups: 1, Share: 2}, 0
	},
	"route of groups": func(d *draft) (format.Params, uint32) {
		return &format.RouteParams{Func: format.RouteSigmoid, In: d.part(8), Out: d.route(3), Bias: d.vector(8), Experts: 8, Top: 3, Scale: 1, Groups: 2, TopGroups: 2}, 0
	},
	"experts with a limit": func(d *draft) (format.Params, uint32) {
		e, out := sharedExperts(d)
		e.Limit, e.LimitIn = 7, true
		return e, out
	},
	"experts with caps": func(d *draft) (format.Params, uint32) {
		e, out := sharedExperts(d)
		e.GateCap, e.UpCap = 4, 25
		return e, out
	},
}

func init() {
	for name, kind := range map[string]uint8{"add": format.ElementAdd, "scale": format.ElementScale, "mul": format.ElementMul, "cutoff": format.ElementCutoff, "clamp": format.ElementClamp,
		"min": format.ElementMin, "div": format.ElementDiv, "softmax": format.ElementSoftmax, "exp": format.ElementExp} {
		subjects["element "+name] = func(d *draft) (format.Params, uint32) {
			out := d.buffer(64)
			p := &format.ElementParams{Element: kind, A: 0, B: format.None, Out: out, Scale: 1}
			if kind == format.ElementAdd || kind == format.ElementMul || kind == format.ElementDiv {
				p.B = 0
			}
			return p, out
		}
	}
}

func (d *draft) route(top uint32) uint32 {
	d.p.Buffers = append(d.p.Buffers, format.Buffer{Type: format.ElemRoute, Region: format.RegionPerRow, Len: top, Offset: d.p.PerRow})
	d.p.PerRow += (8*uint64(top) + 63) &^ 63
	return uint32(len(d.p.Buffers) - 1)
}

// sharedExperts are four, each for two of the router's eight numbers, with all factors and biases.
func sharedExperts(d *draft) (*format.ExpertsParams, uint32) {
	experts := func(rows, cols uint64) uint32 {
		w := d.matrix(rows, cols)
		d.tensors[w].Class, d.tensors[w].Count, d.tensors[w].Slots = format.ClassExpert, 4, 4
		return w
	}
	r := &format.RouteParams{Func: format.RouteSoftmax, In: d.part(8), Out: d.route(3), Bias: format.None, Experts: 8, Top: 3, Scale: 1, Groups: 1, TopGroups: 1, Share: 2}
	d.op(r)
	out, gate := d.buffer(64), d.buffer(3*16)
	return &format.ExpertsParams{In: 0, Route: r.Out, Gate: experts(16, 64), Up: experts(16, 64), Down: experts(64, 16), Act: format.ActSiLU, Out: out, Residual: 0,
		Gathered: d.buffer(3 * 64), GateOut: gate, UpOut: d.buffer(3 * 16), Hidden: gate, DownOut: d.buffer(3 * 64),
		GateScale: d.vector(4), UpScale: d.vector(4), DownScale: d.vector(4), GateBias: d.vector(64), UpBias: d.vector(64), DownBias: d.vector(256)}, out
}

// field is a number somewhere in an operation's parameters.
type field struct {
	name string
	at   func(op *format.Op) reflect.Value
}

// fieldsOf lists them, those of a list's elements too.
func fieldsOf(op *format.Op) []field {
	var out []field
	var walk func(v reflect.Value, at func(op *format.Op) reflect.Value)
	walk = func(v reflect.Value, at func(op *format.Op) reflect.Value) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			here := func(op *format.Op) reflect.Value { return at(op).Field(i) }
			switch {
			case f.Name == "_":
			case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
				for j := range v.Field(i).Len() {
					walk(v.Field(i).Index(j), func(op *format.Op) reflect.Value { return here(op).Index(j) })
				}
			case f.Type.Kind() == reflect.Slice:
				for j := range v.Field(i).Len() {
					out = append(out, field{f.Name, func(op *format.Op) reflect.Value { return here(op).Index(j) }})
				}
			default:
				out = append(out, field{f.Name, here})
			}
		}
	}
	walk(reflect.ValueOf(op.Params).Elem(), func(op *format.Op) reflect.Value { return reflect.ValueOf(op.Params).Elem() })
	return out
}

// spoil changes a program that build makes and returns what the check says.
func spoil(build func() subject, change func(s subject)) error {
	s := build()
	change(s)
	return check.Program(s.d.p, s.d.tensors, formattest.Size)
}

// hostile spoils every operand of an operation in every way there is, and demands that the operation be refused by its number.
func hostile(t *testing.T, build func() subject) {
	s := build()
	require.NoError(t, check.Program(s.d.p, s.d.tensors, formattest.Size))
	place := fmt.Sprintf("program: operation %d (%s): ", s.i, s.op().Kind)
	is, ok := operandsOf[s.op().Kind]
	require.True(t, ok, "operands of %s are in no table", s.op().Kind)
	in := func(list, name string) bool { return slices.Contains(strings.Fields(list), name) }
	refused := func(what string, change func(s subject)) {
		err := spoil(build, change)
		require.Error(t, err, what)
		require.True(t, strings.HasPrefix(err.Error(), place), "%s: %v", what, err)
	}
	fields := fieldsOf(s.op())
	for _, f := range fields {
		v := f.at(s.op())
		set := func(x uint64) func(s subject) { return func(s subject) { f.at(s.op()).SetUint(x) } }
		is32 := v.Kind() == reflect.Uint32
		value := uint64(0)
		if v.CanUint() {
			value = v.Uint()
		}
		used := is32 && uint32(value) != format.None
		switch {
		case v.Kind() == reflect.Float32:
			for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				refused(fmt.Sprint(f.name, " = ", x), func(s subject) { f.at(s.op()).SetFloat(x) })
			}
		case v.Kind() == reflect.Uint8:
			refused(f.name+" unknown", set(200))
		case v.Kind() == reflect.Bool:
			require.NotPanics(t, func() { _ = spoil(build, func(s subject) { f.at(s.op()).SetBool(!f.at(s.op()).Bool()) }) })
		case in(is.buffers, f.name):
			for _, x := range []uint64{uint64(len(s.d.p.Buffers)), 1 << 31, 1<<32 - 2} {
				refused(fmt.Sprint(f.name, " out of range: ", x), set(x))
			}
			require.NotPanics(t, func() { _ = spoil(build, set(uint64(format.None))) })
			if !used {
				continue
			}
			refused(f.name+" shorter", func(s subject) {
				b := s.d.p.Buffers[value]
				n := b.Len - 1
				if b.Type != format.ElemF32 && b.Type != format.ElemRoute {
					n = b.Len - 32 + b.Len/32%2*64 // a whole number of blocks
				}
				f.at(s.op()).SetUint(uint64(s.d.like(b, n, b.Type)))
			})
			refused(f.name+" of another type", func(s subject) {
				b := s.d.p.Buffers[value]
				other := format.ElemRoute
				if b.Type == other {
					other = format.ElemF32
				}
				f.at(s.op()).SetUint(uint64(s.d.like(b, b.Len, other)))
			})
			refused(f.name+" not per row", func(s subject) {
				b := s.d.p.Buffers[value]
				b.Region, b.Offset = format.RegionFixed, 0
				s.d.p.Buffers = append(s.d.p.Buffers, b)
				s.d.p.Fixed = 4 * uint64(b.Len)
				if b.Type == format.ElemRoute {
					s.d.p.Fixed *= 2
				} else if b.Type != format.ElemF32 {
					s.d.p.Fixed = uint64(b.Len) / 32 * 48
				}
				s.d.p.Fixed = (s.d.p.Fixed + 63) &^ 63
				f.at(s.op()).SetUint(uint64(len(s.d.p.Buffers) - 1))
			})
			alias(t, build, is, fields, f, refused)
		case in(is.tensors, f.name):
			for _, x := range []uint64{uint64(len(s.d.tensors)), 1 << 31, 1<<32 - 2} {
				refused(fmt.Sprint(f.name, " out of range: ", x), set(x))
			}
			require.NotPanics(t, func() { _ = spoil(build, set(uint64(format.None))) })
			if !used {
				continue
			}
			for what, change := range map[string]func(w *format.Tensor){
				"of another class": func(w *format.Tensor) { w.Class = format.ClassAside },
				"cut":              func(w *format.Tensor) { w.Slots += 3 },
				"one row less": func(w *format.Tensor) {
					if w.Rows == 1 {
						w.Cols--
						w.TileRowBytes -= 4
					} else {
						w.Rows--
						w.RowsPerSlot = w.Rows
					}
				},
				"of another layout": func(w *format.Tensor) { w.Layout = 999 },
			} {
				if what == "cut" && s.d.tensors[value].Rows > 1 {
					continue // a matrix may be, and of those of experts the table of tensors has proved that they are not
				}
				refused(f.name+" "+what, func(s subject) {
					w := s.d.tensors[value]
					change(&w)
					s.d.tensors = append(s.d.tensors, w)
					f.at(s.op()).SetUint(uint64(len(s.d.tensors) - 1))
				})
			}
		case in(is.states, f.name):
			for _, x := range []uint64{uint64(len(s.d.p.States)), 1 << 31, 1<<32 - 1} {
				refused(fmt.Sprint(f.name, " out of range: ", x), set(x))
			}
			for what, change := range map[string]func(x *format.State){
				"of another kind": func(x *format.State) {
					x.Kind = map[format.StateKind]format.StateKind{format.StateKV: format.StateRecurrent, format.StateRecurrent: format.StateKV}[x.Kind]
				},
				"wider": func(x *format.State) { x.KeyDim++ },
			} {
				refused(f.name+" "+what, func(s subject) {
					x := s.d.p.States[value]
					x.Window = 0
					change(&x)
					s.d.p.States = append(s.d.p.States, x)
					f.at(s.op()).SetUint(uint64(len(s.d.p.States) - 1))
				})
			}
		case in(is.numbers, f.name):
			for _, x := range []uint64{1<<32 - 1, 1 << 31, value + 1} {
				refused(fmt.Sprint(f.name, " = ", x), set(x))
			}
			require.NotPanics(t, func() { _ = spoil(build, set(0)) })
		case in(is.free, f.name):
			for _, x := range []uint64{1<<32 - 1, 1 << 31, 0} {
				require.NotPanics(t, func() { _ = spoil(build, set(x)) })
			}
		default:
			t.Errorf("field %s of %s is in no list of operands", f.name, s.op().Kind)
		}
	}
}

// alias makes an operand the buffer of every other one of the operation: an input that is an output holds nothing yet, and an output that is an input is refused unless it may be computed in place.
func alias(t *testing.T, build func() subject, is operand, fields []field, f field, refused func(what string, change func(s subject))) {
	outputs := "Out Q Gathered GateOut UpOut Hidden DownOut"
	if _, ok := build().op().Params.(*format.DeltaParams); ok {
		outputs = "Out"
	}
	s := build()
	switch s.op().Params.(type) {
	case *format.RetainParams, *format.AttentionParams:
		outputs = "Out"
	}
	out := slices.Contains(strings.Fields(outputs), f.name)
	for _, g := range fields {
		if g.name == f.name || !slices.Contains(strings.Fields(is.buffers), g.name) {
			continue
		}
		other := g.at(s.op()).Uint()
		otherOut := slices.Contains(strings.Fields(outputs), g.name)
		if uint32(other) == format.None || other == f.at(s.op()).Uint() || !out && !otherOut {
			continue
		}
		if in := strings.Fields(is.inPlace); slices.Contains(in, f.name+"="+g.name) || slices.Contains(in, g.name+"="+f.name) {
			continue
		}
		refused(f.name+" is "+g.name, func(s subject) { f.at(s.op()).SetUint(other) })
	}
}

// like adds a buffer of another length or type.
func (d *draft) like(b format.Buffer, n uint32, typ format.ElemType) uint32 {
	b.Len, b.Type, b.Offset = n, typ, d.p.PerRow
	size := 4 * uint64(n)
	switch typ {
	case format.ElemRoute:
		size = 8 * uint64(n)
	case format.ElemQ8X:
		size = uint64(n) / 32 * 48
	case format.ElemQ8X2:
		size = 2 * ((uint64(n)/32*48 + 63) &^ 63)
	}
	d.p.PerRow += (size + 63) &^ 63
	d.p.Buffers = append(d.p.Buffers, b)
	return uint32(len(d.p.Buffers) - 1)
}

func TestHostileOperandsAreRefusedWithTheOperation(t *testing.T) {
	seen := map[format.OpKind]bool{}
	for name, build := range subjects {
		t.Run(name, func(t *testing.T) {
			made := func() subject {
				d := newDraft()
				p, out := build(d)
				d.op(p)
				i := len(d.p.Ops) - 1
				d.p.Logits = d.buffer(64)
				d.op(&format.SelectParams{In: out, Out: d.p.Logits})
				return subject{d, i}
			}
			seen[made().op().Kind] = true
			hostile(t, made)
		})
	}
	for i, op := range formattest.Draft(true).Program.Ops {
		t.Run(fmt.Sprint(i, " ", op.Kind), func(t *testing.T) {
			seen[op.Kind] = true
			hostile(t, func() subject {
				d := formattest.Draft(true)
				return subject{&draft{p: d.Program, tensors: d.Tensors}, i}
			})
		})
	}
	for kind := range operandsOf {
		require.True(t, seen[kind], "no program has the operation %s", kind)
	}
}
