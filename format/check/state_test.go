package check_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
	"jns/format/check"
	"jns/format/formattest"
)

// draft is a program that looks rows up, does one operation over them and selects rows of its result.
type draft struct {
	p       *format.Program
	tensors format.TensorList
}

func newDraft() *draft {
	d := &draft{p: &format.Program{Vocab: 64, Embed: 64}}
	d.op(&format.RowsParams{Out: d.buffer(64), W: d.matrix(64, 64), Scale: 1})
	return d
}

func (d *draft) buffer(n uint32) uint32 {
	d.p.Buffers = append(d.p.Buffers, format.Buffer{Type: format.ElemF32, Region: format.RegionPerRow, Len: n, Offset: d.p.PerRow})
	d.p.PerRow += (4*uint64(n) + 63) &^ 63
	return uint32(len(d.p.Buffers) - 1)
}

func (d *draft) matrix(rows, cols uint64) uint32 {
	d.tensors = append(d.tensors, format.Tensor{Name: "m", Layout: formattest.PortableF32, Rows: rows, Cols: cols, Count: 1, Class: format.ClassLayer, Slots: 1, RowsPerSlot: rows,
		TileRows: 1, TileRowBytes: 4 * cols})
	return uint32(len(d.tensors) - 1)
}

func (d *draft) vector(n uint64) uint32 {
	d.tensors = append(d.tensors, format.Tensor{Name: "v", Rows: 1, Cols: n, Count: 1, Class: format.ClassPinned, Slots: 1, RowsPerSlot: 1, TileRows: 1, TileRowBytes: 4 * n})
	return uint32(len(d.tensors) - 1)
}

func (d *draft) op(p format.Params) {
	d.p.Ops = append(d.p.Ops, format.Op{Kind: p.Kind(), Version: 1, Params: p})
}

// part is a buffer with the first n elements of the rows.
func (d *draft) part(n uint32) uint32 {
	out := d.buffer(n)
	d.op(&format.SliceParams{In: 0, Out: out, Width: n, Stride: n})
	return out
}

func (d *draft) state(heads, key, val uint32) uint32 {
	d.p.States = append(d.p.States, format.State{Kind: format.StateRecurrent, KVHeads: heads, KeyDim: key, ValDim: val})
	return uint32(len(d.p.States) - 1)
}

// proved ends the program.
func (d *draft) proved(out uint32) error {
	d.p.Logits = d.buffer(64)
	d.op(&format.SelectParams{In: out, Out: d.p.Logits})
	return check.Program(d.p, d.tensors, formattest.Size)
}

// judge proves that an operation is proved as it is and refused after every change.
func judge[P format.Params](t *testing.T, build func(d *draft) (P, uint32), changes map[string]func(d *draft, p P)) {
	d := newDraft()
	p, out := build(d)
	d.op(p)
	require.NoError(t, d.proved(out))
	for name, change := range changes {
		d := newDraft()
		p, out := build(d)
		d.op(p)
		change(d, p)
		require.Error(t, d.proved(out), name)
	}
}

func TestConvolutionsAreProved(t *testing.T) {
	judge(t, func(d *draft) (*format.ConvParams, uint32) {
		out := d.buffer(64)
		return &format.ConvParams{X: 0, Out: out, State: d.state(1, 3, 64), W: d.vector(256), Bias: d.vector(64), Taps: 4, Act: format.ActSiLU}, out
	}, map[string]func(d *draft, p *format.ConvParams){
		"in place":            func(_ *draft, p *format.ConvParams) { p.Out = p.X },
		"fewer taps":          func(_ *draft, p *format.ConvParams) { p.Taps = 3 },
		"one tap":             func(_ *draft, p *format.ConvParams) { p.Taps = 1 },
		"many taps":           func(_ *draft, p *format.ConvParams) { p.Taps = 1 << 31 },
		"short weights":       func(d *draft, p *format.ConvParams) { p.W = d.vector(255) },
		"short bias":          func(d *draft, p *format.ConvParams) { p.Bias = p.W },
		"unknown function":    func(_ *draft, p *format.ConvParams) { p.Act = 200 },
		"function of two":     func(_ *draft, p *format.ConvParams) { p.Act = format.ActSwigluOAI },
		"smaller state":       func(d *draft, _ *format.ConvParams) { d.p.States[0].KeyDim = 2 },
		"state of keys":       func(d *draft, _ *format.ConvParams) { d.p.States[0].Kind = format.StateKV },
		"state with a window": func(d *draft, _ *format.ConvParams) { d.p.States[0].Window = 4 },
		"state too large":     func(d *draft, _ *format.ConvParams) { d.p.States[0].KVHeads = 1 << 31 },
		"state used twice":    func(d *draft, p *format.ConvParams) { d.op(p) },
		"no such state":       func(_ *draft, p *format.ConvParams) { p.State = 7 },
		"a state left over":   func(d *draft, _ *format.ConvParams) { d.state(1, 1, 1) },
		"appended to": func(d *draft, p *format.ConvParams) {
			d.op(&format.KVAppendParams{K: 0, V: 0, State: p.State})
		},
	})
}

func TestConvolutionsOverSelectedRowsAreRefused(t *testing.T) {
	d := newDraft()
	x, out := d.buffer(64), d.buffer(64)
	d.op(&format.SelectParams{In: 0, Out: x})
	d.op(&format.ConvParams{X: x, Out: out, State: d.state(1, 3, 64), W: d.vector(256), Bias: format.None, Taps: 4})
	d.p.Logits = out
	require.ErrorContains(t, check.Program(d.p, d.tensors, formattest.Size), "rows have been selected")
}

func TestScansAreProved(t *testing.T) {
	judge(t, func(d *draft) (*format.ScanParams, uint32) {
		out := d.buffer(64)
		return &format.ScanParams{X: 0, DT: d.part(4), B: d.part(16), C: d.part(16), Out: out, State: d.state(4, 8, 16), A: d.vector(4), Bias: d.vector(4), D: d.vector(4),
			Heads: 4, HeadDim: 16, N: 8, Groups: 2}, out
	}, map[string]func(d *draft, p *format.ScanParams){
		"in place":          func(_ *draft, p *format.ScanParams) { p.Out = p.X },
		"no heads":          func(_ *draft, p *format.ScanParams) { p.Heads = 0 },
		"more heads":        func(_ *draft, p *format.ScanParams) { p.Heads = 8 },
		"wider heads":       func(_ *draft, p *format.ScanParams) { p.HeadDim = 32 },
		"more numbers":      func(_ *draft, p *format.ScanParams) { p.N = 16 },
		"three groups":      func(_ *draft, p *format.ScanParams) { p.Groups = 3 },
		"one group":         func(_ *draft, p *format.ScanParams) { p.Groups = 1 },
		"decays per number": func(d *draft, p *format.ScanParams) { p.A = d.vector(32) },
		"no decays":         func(_ *draft, p *format.ScanParams) { p.A = format.None },
		"short bias":        func(d *draft, p *format.ScanParams) { p.Bias = d.vector(3) },
		"long skip":         func(d *draft, p *format.ScanParams) { p.D = d.vector(64) },
		"short steps":       func(d *draft, p *format.ScanParams) { p.DT = p.B },
		"other state":       func(d *draft, _ *format.ScanParams) { d.p.States[0].ValDim = 8 },
		"overflow":          func(_ *draft, p *format.ScanParams) { p.Heads, p.HeadDim, p.N = 1<<31, 1<<31, 1<<31 },
	})
	judge(t, func(d *draft) (*format.ScanParams, uint32) {
		out := d.buffer(64)
		return &format.ScanParams{X: 0, DT: d.part(64), B: d.part(8), C: d.part(8), Out: out, State: d.state(1, 8, 64), A: d.vector(512), Bias: format.None, D: format.None,
			Heads: 64, HeadDim: 1, N: 8, Groups: 1}, out
	}, map[string]func(d *draft, p *format.ScanParams){
		"two groups": func(_ *draft, p *format.ScanParams) { p.Groups = 2 },
		"state of 64": func(d *draft, _ *format.ScanParams) {
			d.p.States[0] = format.State{Kind: format.StateRecurrent, KVHeads: 64, KeyDim: 8, ValDim: 1}
		},
		"short decay": func(d *draft, p *format.ScanParams) { p.A = d.vector(511) },
	})
}

func TestDeltaRulesAreProved(t *testing.T) {
	judge(t, func(d *draft) (*format.DeltaParams, uint32) {
		out := d.buffer(64)
		return &format.DeltaParams{Q: d.part(16), K: d.part(16), V: 0, Alpha: d.part(4), Beta: d.part(4), Out: out, State: d.state(4, 8, 16), A: d.vector(4), Bias: d.vector(4),
			Heads: 4, KeyHeads: 2, KeyDim: 8, ValDim: 16, Scale: 1}, out
	}, map[string]func(d *draft, p *format.DeltaParams){
		"in place":             func(_ *draft, p *format.DeltaParams) { p.Out = p.V },
		"three heads of keys":  func(_ *draft, p *format.DeltaParams) { p.KeyHeads = 3 },
		"no heads of keys":     func(_ *draft, p *format.DeltaParams) { p.KeyHeads = 0 },
		"more heads":           func(_ *draft, p *format.DeltaParams) { p.Heads = 8 },
		"wider keys":           func(_ *draft, p *format.DeltaParams) { p.KeyDim = 16 },
		"wider values":         func(_ *draft, p *format.DeltaParams) { p.ValDim = 32 },
		"decays of no kind":    func(d *draft, p *format.DeltaParams) { p.Alpha = d.part(8) },
		"bias of another kind": func(d *draft, p *format.DeltaParams) { p.Bias = d.vector(32) },
		"short decay":          func(d *draft, p *format.DeltaParams) { p.A = d.vector(3) },
		"no rates":             func(_ *draft, p *format.DeltaParams) { p.Beta = p.Q },
		"other state":          func(d *draft, _ *format.DeltaParams) { d.p.States[0].KVHeads = 3 },
	})
}

func TestMatricesOfHeadsAreProved(t *testing.T) {
	judge(t, func(d *draft) (*format.HeadMatMulParams, uint32) {
		out := d.buffer(64)
		return &format.HeadMatMulParams{In: 0, W: d.matrix(64, 16), Out: out, Heads: 4, Scale: 1}, out
	}, map[string]func(d *draft, p *format.HeadMatMulParams){
		"in place":        func(_ *draft, p *format.HeadMatMulParams) { p.Out = p.In },
		"no heads":        func(_ *draft, p *format.HeadMatMulParams) { p.Heads = 0 },
		"three heads":     func(_ *draft, p *format.HeadMatMulParams) { p.Heads = 3 },
		"fewer rows":      func(d *draft, p *format.HeadMatMulParams) { p.W = d.matrix(32, 16) },
		"wider":           func(d *draft, p *format.HeadMatMulParams) { p.W = d.matrix(64, 32) },
		"a vector":        func(d *draft, p *format.HeadMatMulParams) { p.W = d.vector(1024) },
		"two rows of one": func(_ *draft, p *format.HeadMatMulParams) { p.Fine = true },
	})
}

func TestJoinsAndRunsAreProved(t *testing.T) {
	judge(t, func(d *draft) (*format.JoinParams, uint32) {
		out := d.buffer(64)
		return &format.JoinParams{A: d.part(48), B: d.part(4), Out: out, Groups: 4, Shared: true}, out
	}, map[string]func(d *draft, p *format.JoinParams){
		"of its own":  func(_ *draft, p *format.JoinParams) { p.Shared = false },
		"more groups": func(_ *draft, p *format.JoinParams) { p.Groups = 5 },
		"no groups":   func(_ *draft, p *format.JoinParams) { p.Groups = 0 },
		"in place":    func(_ *draft, p *format.JoinParams) { p.A = p.Out },
	})
	judge(t, func(d *draft) (*format.ElementParams, uint32) {
		out := d.buffer(64)
		return &format.ElementParams{Element: format.ElementSpread, A: 0, B: d.part(4), Out: out}, out
	}, map[string]func(d *draft, p *format.ElementParams){
		"five runs": func(d *draft, p *format.ElementParams) { p.B = d.part(5) },
		"no runs":   func(_ *draft, p *format.ElementParams) { p.B = format.None },
	})
	judge(t, func(d *draft) (*format.ElementParams, uint32) {
		out, four := d.buffer(64), d.buffer(4)
		d.op(&format.ElementParams{Element: format.ElementDot, A: 0, B: 0, Out: four})
		return &format.ElementParams{Element: format.ElementSpread, A: 0, B: four, Out: out}, out
	}, map[string]func(d *draft, p *format.ElementParams){
		"of five": func(d *draft, p *format.ElementParams) {
			d.op(&format.ElementParams{Element: format.ElementDot, A: 0, B: 0, Out: d.buffer(5)})
		},
		"of unequal lengths": func(d *draft, p *format.ElementParams) {
			d.op(&format.ElementParams{Element: format.ElementDot, A: 0, B: p.B, Out: d.buffer(4)})
		},
	})
	judge(t, func(d *draft) (*format.ElementParams, uint32) {
		out := d.buffer(64)
		return &format.ElementParams{Element: format.ElementClamp, A: 0, B: format.None, Out: out, Scale: 8}, out
	}, map[string]func(d *draft, p *format.ElementParams){
		"no bound":         func(_ *draft, p *format.ElementParams) { p.Scale = 0 },
		"a negative bound": func(_ *draft, p *format.ElementParams) { p.Scale = -1 },
		"a second input":   func(_ *draft, p *format.ElementParams) { p.B = p.A },
	})
}

func TestProductsWithVectorsAreProved(t *testing.T) {
	judge(t, func(d *draft) (*format.AffineParams, uint32) {
		out := d.buffer(64)
		return &format.AffineParams{A: 0, B: 0, Out: out, W: d.vector(192), From: 128}, out
	}, map[string]func(d *draft, p *format.AffineParams){
		"beyond the vector": func(_ *draft, p *format.AffineParams) { p.From = 129 },
		"far beyond":        func(_ *draft, p *format.AffineParams) { p.From = 1<<32 - 64 },
		"a matrix":          func(d *draft, p *format.AffineParams) { p.W = d.matrix(192, 64) },
		"no vector":         func(_ *draft, p *format.AffineParams) { p.W = format.None },
		"a short sum":       func(d *draft, p *format.AffineParams) { p.B = d.part(32) },
	})
}

func TestUpdatesOfRWKVAreProved(t *testing.T) {
	judge(t, func(d *draft) (*format.WKVParams, uint32) {
		out := d.buffer(64)
		return &format.WKVParams{R: 0, W: 0, K: 0, V: 0, A: 0, B: 0, Out: out, State: d.state(4, 16, 16), Heads: 4, Dim: 16}, out
	}, map[string]func(d *draft, p *format.WKVParams){
		"in place":     func(_ *draft, p *format.WKVParams) { p.Out = p.R },
		"more heads":   func(_ *draft, p *format.WKVParams) { p.Heads = 8 },
		"no heads":     func(_ *draft, p *format.WKVParams) { p.Heads = 0 },
		"short keys":   func(d *draft, p *format.WKVParams) { p.K = d.part(32) },
		"other state":  func(d *draft, _ *format.WKVParams) { d.p.States[0].ValDim = 8 },
		"no such heap": func(_ *draft, p *format.WKVParams) { p.B = 99 },
	})
}

func TestMemoriesThatDecayAreProved(t *testing.T) {
	judge(t, func(d *draft) (*format.RetainParams, uint32) {
		out := d.buffer(64)
		return &format.RetainParams{Q: 0, K: 0, V: 0, Decay: 0, Out: out, State: d.state(4, 16, 16), First: d.vector(64), Heads: 4, KeyDim: 16, ValDim: 16, Scale: 1}, out
	}, map[string]func(d *draft, p *format.RetainParams){
		"in place":          func(_ *draft, p *format.RetainParams) { p.Out = p.Q },
		"more heads":        func(_ *draft, p *format.RetainParams) { p.Heads = 8 },
		"no heads":          func(_ *draft, p *format.RetainParams) { p.Heads = 0 },
		"short values":      func(d *draft, p *format.RetainParams) { p.V = d.part(32) },
		"other state":       func(d *draft, _ *format.RetainParams) { d.p.States[0].KeyDim = 8 },
		"no decay":          func(_ *draft, p *format.RetainParams) { p.Decay = format.None },
		"two decays":        func(_ *draft, p *format.RetainParams) { p.Decays = []float32{1, 1, 1, 1} },
		"too few decays":    func(_ *draft, p *format.RetainParams) { p.Decay, p.Decays = format.None, []float32{1, 1, 1} },
		"short weights":     func(d *draft, p *format.RetainParams) { p.First = d.vector(63) },
		"no such operand":   func(_ *draft, p *format.RetainParams) { p.K = 99 },
		"infinite constant": func(_ *draft, p *format.RetainParams) { p.Scale = float32(math.Inf(1)) },
	})
}

func TestDifferencesAndChunksAreProved(t *testing.T) {
	judge(t, func(d *draft) (*format.ConvParams, uint32) {
		out := d.buffer(64)
		return &format.ConvParams{X: 0, Out: out, State: d.state(1, 1, 64), W: format.None, Bias: format.None, Taps: 2}, out
	}, map[string]func(d *draft, p *format.ConvParams){
		"three taps": func(d *draft, p *format.ConvParams) { p.Taps, d.p.States[0].KeyDim = 3, 2 },
		"a bias":     func(d *draft, p *format.ConvParams) { p.Bias = d.vector(64) },
		"a function": func(_ *draft, p *format.ConvParams) { p.Act = format.ActSiLU },
	})
	d := formattest.Draft(false)
	find[*format.AttentionParams](d.Program, 0).Chunked = true
	require.ErrorContains(t, check.Program(d.Program, format.TensorList(d.Tensors), formattest.Size), "window")
	d.Program.States[0].Window = 64
	require.NoError(t, check.Program(d.Program, format.TensorList(d.Tensors), formattest.Size))
}

// In every program of a mixture the new operands of experts are held to their sizes.
func TestFactorsAndBiasesOfExpertsAreProved(t *testing.T) {
	vector := func(d *format.Draft, n uint64) uint32 {
		d.Tensors = append(d.Tensors, format.Tensor{Name: "v", Rows: 1, Cols: n, Count: 1, Class: format.ClassPinned, Slots: 1, RowsPerSlot: 1, TileRows: 1, TileRowBytes: 4 * n})
		return uint32(len(d.Tensors) - 1)
	}
	proved := func(change func(d *format.Draft, e *format.ExpertsParams)) error {
		d := formattest.Draft(true)
		change(d, find[*format.ExpertsParams](d.Program, 0))
		return check.Program(d.Program, format.TensorList(d.Tensors), formattest.Size)
	}
	require.NoError(t, proved(func(d *format.Draft, e *format.ExpertsParams) {
		n := uint64(formattest.Experts)
		e.GateScale, e.DownScale, e.UpBias, e.DownBias = vector(d, n), vector(d, n), vector(d, n*formattest.Hidden), vector(d, n*formattest.Embed)
		e.WeightIn = true
	}))
	require.NoError(t, proved(func(_ *format.Draft, e *format.ExpertsParams) {
		e.GateOut, e.Gate, e.Hidden = format.None, format.None, e.UpOut
	}))
	for name, change := range map[string]func(d *format.Draft, e *format.ExpertsParams){
		"short scale":     func(d *format.Draft, e *format.ExpertsParams) { e.UpScale = vector(d, 3) },
		"short bias":      func(d *format.Draft, e *format.ExpertsParams) { e.DownBias = vector(d, formattest.Embed) },
		"not one tensor":  func(_ *format.Draft, e *format.ExpertsParams) { e.Fused = true },
		"fused, but wide": func(_ *format.Draft, e *format.ExpertsParams) { e.Fused, e.Gate = true, e.Up },
		"no gate, but an output of it": func(_ *format.Draft, e *format.ExpertsParams) {
			e.Gate, e.Hidden = format.None, e.UpOut
		},
		"no gate, but a function of two": func(_ *format.Draft, e *format.ExpertsParams) {
			e.Gate, e.GateOut, e.Hidden, e.Act = format.None, format.None, e.UpOut, format.ActSwigluOAI
		},
	} {
		require.Error(t, proved(change), name)
	}
}
