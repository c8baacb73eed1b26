package check_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"jns/format"
	"jns/format/check"
	"jns/format/formattest"
)

func TestTinyProgramsAreProved(t *testing.T) {
	for _, moe := range []bool{false, true} {
		d := formattest.Draft(moe)
		require.NoError(t, check.Program(d.Program, format.TensorList(d.Tensors), formattest.Size))
	}
}

// find gives the n-th operation of type P.
func find[P format.Params](p *format.Program, n int) P {
	for _, o := range p.Ops {
		if x, ok := o.Params.(P); ok {
			if n == 0 {
				return x
			}
			n--
		}
	}
	panic("no such operation")
}

func TestUnprovableProgramsAreRefusedWithTheOperation(t *testing.T) {
	type program = format.Program
	tensor := func(ts []format.Tensor, name string) *format.Tensor {
		for i := range ts {
			if ts[i].Name == name {
				return &ts[i]
			}
		}
		panic(name)
	}
	cases := []struct {
		name, want string
		moe        bool
		change     func(p *program, ts []format.Tensor)
	}{
		{"buffer out of range", "operation 0 (rows)", false, func(p *program, _ []format.Tensor) { find[*format.RowsParams](p, 0).Out = 1000 }},
		{"table out of range", "operation 0 (rows): tensor 999", false, func(p *program, _ []format.Tensor) { find[*format.RowsParams](p, 0).W = 999 }},
		{"table narrower than its buffer", "operation 0 (rows)", false, func(_ *program, ts []format.Tensor) { tensor(ts, "token_embd.weight").Cols = 16 }},
		{"table with too few rows", "there are 64 tokens", false, func(_ *program, ts []format.Tensor) { tensor(ts, "token_embd.weight").Rows = 63 }},
		{"unknown layout", "layout 77", false, func(_ *program, ts []format.Tensor) { tensor(ts, "output.weight").Layout = 77 }},
		{"tile row too short", "bytes, layout", false, func(_ *program, ts []format.Tensor) { tensor(ts, "output.weight").TileRowBytes = 64 }},
		{"norm weight too short", "operation 1 (norm)", false, func(_ *program, ts []format.Tensor) { tensor(ts, "blk.0.attn_norm.weight").Cols = 31 }},
		{"norm weight not float32", "not a float32 vector", false, func(_ *program, ts []format.Tensor) { tensor(ts, "blk.0.attn_norm.weight").Type = 1 }},
		{"aside tensor used", "does not belong here", false, func(_ *program, ts []format.Tensor) { tensor(ts, "output.weight").Class = format.ClassAside }},
		{"region too small", "arena per row", false, func(p *program, _ []format.Tensor) { p.PerRow -= 64 }},
		{"region too large", "arena per row", false, func(p *program, _ []format.Tensor) { p.PerRow += 64 }},
		{"offset not aligned", "multiple of 64", false, func(p *program, _ []format.Tensor) { p.Buffers[1].Offset += 4 }},
		{"empty buffer", "0 elements", false, func(p *program, _ []format.Tensor) { p.Buffers[1].Len = 0 }},
		{"output longer than the matrix", "operation 2 (matmul)", false, func(p *program, _ []format.Tensor) { find[*format.MatMulParams](p, 0).Parts[0].Out = 6 }},
		{"no matrices", "operation 2 (matmul)", false, func(p *program, _ []format.Tensor) { find[*format.MatMulParams](p, 0).Parts = nil }},
		{"two outputs in one buffer", "overlap", false, func(p *program, _ []format.Tensor) {
			m := find[*format.MatMulParams](p, 0)
			m.Parts[1].Out = m.Parts[0].Out
		}},
		{"output is input", "is the input", false, func(p *program, _ []format.Tensor) {
			m := find[*format.MatMulParams](p, 1)
			m.Parts[0].Out, m.Parts[0].Residual = m.In, m.In
		}},
		{"residual of another part's output", "of another matrix", false, func(p *program, _ []format.Tensor) {
			m := find[*format.MatMulParams](p, 0)
			m.Parts[1].Residual = m.Parts[0].Out
		}},
		{"output over a live buffer", "have been overwritten", false, func(p *program, _ []format.Tensor) { p.Buffers[2].Offset = p.Buffers[0].Offset }},
		{"rope wider than the head", "pairs", false, func(p *program, _ []format.Tensor) { p.Ropes[0].Freqs = make([]float64, 9) }},
		{"rope frequency not a number", "frequency", false, func(p *program, _ []format.Tensor) { p.Ropes[0].Freqs[0] = math.NaN() }},
		{"rope with fewer long frequencies", "8 frequencies, 3 beyond 64", false, func(p *program, _ []format.Tensor) { p.Ropes[0].Long, p.Ropes[0].LongFrom = make([]float64, 3), 64 }},
		{"heads overflow", "operation 3 (rope)", false, func(p *program, _ []format.Tensor) { find[*format.RopeParams](p, 0).Heads = 1 << 31 }},
		{"state read before it is filled", "before it is filled", false, func(p *program, _ []format.Tensor) { find[*format.AttentionParams](p, 0).State = 1 }},
		{"state filled twice", "a second time", false, func(p *program, _ []format.Tensor) { find[*format.KVAppendParams](p, 1).State = 0 }},
		{"state never filled", "never filled", false, func(p *program, _ []format.Tensor) { p.States = append(p.States, p.States[0]) }},
		{"state with larger heads", "operation 5 (kv_append)", false, func(p *program, _ []format.Tensor) { p.States[0].KeyDim = 32 }},
		{"reach of a causal attention", "reach of 3", false, func(p *program, _ []format.Tensor) { find[*format.AttentionParams](p, 0).Reach = 3 }},
		{"all positions in a window", "window of 8", false, func(p *program, _ []format.Tensor) {
			p.States[0].Window, find[*format.AttentionParams](p, 0).All = 8, true
		}},
		{"output that is unknown", "output 9", false, func(p *program, _ []format.Tensor) { p.Output = 9 }},
		{"hidden states of the wrong length", "must have 32", false, func(p *program, _ []format.Tensor) { p.Output = format.OutputMean }},
		{"heads not a multiple", "heads over", false, func(p *program, _ []format.Tensor) { find[*format.AttentionParams](p, 0).Heads = 3 }},
		{"constant infinite", "constant", false, func(p *program, _ []format.Tensor) { find[*format.AttentionParams](p, 0).Scale = float32(math.Inf(1)) }},
		{"no selection", "selects rows", false, func(p *program, _ []format.Tensor) {
			for i, o := range p.Ops {
				if s, ok := o.Params.(*format.SelectParams); ok {
					p.Ops[i] = format.Op{Kind: format.OpElement, Version: 1, Params: &format.ElementParams{Element: format.ElementScale, A: s.In, B: format.None, Out: s.Out, Scale: 1}}
				}
			}
		}},
		{"unselected rows read after selection", "other rows", false, func(p *program, _ []format.Tensor) { find[*format.NormParams](p, 4).In = 0 }},
		{"logits of the wrong length", "logits", false, func(p *program, _ []format.Tensor) { p.Vocab = 63 }},
		{"buffer not used", "no operation", false, func(p *program, _ []format.Tensor) {
			p.Buffers = append(p.Buffers, format.Buffer{Type: format.ElemF32, Region: format.RegionPerRow, Len: 16})
		}},
		{"rope not used", "rope 1 is used by no operation", false, func(p *program, _ []format.Tensor) { p.Ropes = append(p.Ropes, p.Ropes[0]) }},
		{"range of rows beyond the matrix", "rows 1 … 33", false, func(p *program, _ []format.Tensor) {
			m := find[*format.MatMulParams](p, 0)
			m.Parts[0].From, m.Parts[0].Rows = 1, 32
		}},
		{"range of rows longer than the output", "must have 16", false, func(p *program, _ []format.Tensor) { find[*format.MatMulParams](p, 0).Parts[0].Rows = 16 }},
		{"range of no rows", "rows 16 … 16", false, func(p *program, _ []format.Tensor) { find[*format.MatMulParams](p, 0).Parts[0].From = 16 }},
		{"row chosen in an unknown way", "choice 3", false, func(p *program, _ []format.Tensor) { find[*format.RowsParams](p, 0).By = 3 }},
		{"slice beyond its input", "of 32", false, func(p *program, _ []format.Tensor) {
			slice(p, &format.SliceParams{From: 1, Width: 16, Stride: 16})
		}},
		{"slice of a width that does not divide", "elements from", false, func(p *program, _ []format.Tensor) {
			slice(p, &format.SliceParams{Width: 5, Stride: 5})
		}},
		{"mix of other runs", "must have 16", false, func(p *program, _ []format.Tensor) {
			n := find[*format.NormParams](p, 0)
			p.Ops[1] = format.Op{Kind: format.OpMix, Version: 1, Params: &format.MixParams{A: format.None, B: n.In, Out: n.Out, Coef: format.None, Rows: 2, Cols: 1}}
		}},
		{"mix with fewer offsets", "3 offsets", false, func(p *program, _ []format.Tensor) {
			n := find[*format.NormParams](p, 0)
			p.Ops[1] = format.Op{Kind: format.OpMix, Version: 1, Params: &format.MixParams{A: format.None, B: n.In, Out: n.Out, Coef: format.None, Rows: 2, Cols: 2, Offset: make([]float32, 3)}}
		}},
		{"temper without factors", "0 factors", false, func(p *program, _ []format.Tensor) {
			p.Ops[3] = format.Op{Kind: format.OpTemper, Version: 1, Params: &format.TemperParams{X: find[*format.RopeParams](p, 0).X, Step: 1}}
		}},
		{"unknown activation", "not supported", false, func(p *program, _ []format.Tensor) { find[*format.ActivationParams](p, 0).Act = 99 }},
		{"unknown version", "version 2", false, func(p *program, _ []format.Tensor) { p.Ops[1].Version = 2 }},
		{"foreign operands", "do not belong", false, func(p *program, _ []format.Tensor) { p.Ops[1].Params = p.Ops[0].Params }},
		{"route of fewer experts", "chooses among", true, func(p *program, ts []format.Tensor) {
			for _, n := range []string{"gate", "up", "down"} {
				tensor(ts, "blk.0.ffn_"+n+"_exps.weight").Count = 3
			}
		}},
		{"more choices than experts", "5 of 4 experts", true, func(p *program, _ []format.Tensor) { find[*format.RouteParams](p, 0).Top = 5 }},
		{"groups too small", "groups", true, func(p *program, _ []format.Tensor) { find[*format.RouteParams](p, 0).Groups = 3 }},
		{"scratch shared", "overlap", true, func(p *program, _ []format.Tensor) {
			e := find[*format.ExpertsParams](p, 0)
			e.UpOut = e.GateOut
		}},
		{"scratch too short", "operation", true, func(p *program, _ []format.Tensor) {
			e := find[*format.ExpertsParams](p, 0)
			e.DownOut = e.Out
		}},
		{"one expert cut into parts", "cut into 4 parts", true, func(p *program, ts []format.Tensor) {
			r := find[*format.RouteParams](p, 0)
			r.Experts, r.Top = 1, 1
			for _, n := range []string{"gate", "up", "down"} {
				x := tensor(ts, "blk.0.ffn_"+n+"_exps.weight")
				x.Count, x.RowsPerSlot = 1, x.Rows/4 // in 4 slots; lawful for a matrix of any other class
			}
			tensor(ts, "blk.0.ffn_gate_inp.weight").Rows = 1
			for _, b := range []uint32{r.In, r.Out} {
				p.Buffers[b].Len = 1
			}
		}},
		{"experts of other slots", "share the slots", true, func(_ *program, ts []format.Tensor) { tensor(ts, "blk.0.ffn_up_exps.weight").FirstSlot++ }},
		{"hidden sizes differ", "do not fit", true, func(_ *program, ts []format.Tensor) { tensor(ts, "blk.0.ffn_up_exps.weight").Rows = 32 }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := formattest.Draft(c.moe)
			c.change(d.Program, d.Tensors)
			err := check.Program(d.Program, format.TensorList(d.Tensors), formattest.Size)
			require.ErrorContains(t, err, c.want)
			var e *format.Error
			require.ErrorAs(t, err, &e)
		})
	}
}

func TestWorkForARowIsBounded(t *testing.T) {
	const n = 1 << 20
	f32 := func(offset uint64) format.Buffer {
		return format.Buffer{Type: format.ElemF32, Region: format.RegionPerRow, Len: n, Offset: offset}
	}
	table := format.Tensor{Name: "t", Layout: formattest.PortableF32, Rows: n, Cols: n, Count: 1, Class: format.ClassRows, Slots: 1, RowsPerSlot: n, TileRows: 1, TileRowBytes: 4 * n}
	program := func(caps int) error {
		p := &format.Program{Vocab: n, Embed: n, Buffers: []format.Buffer{f32(0), f32(4 * n)}, PerRow: 8 * n, Logits: 1}
		op := func(x format.Params) {
			p.Ops = append(p.Ops, format.Op{Kind: x.Kind(), Version: 1, Params: x})
		}
		op(&format.RowsParams{Out: 0, W: 0, Scale: 1})
		op(&format.SelectParams{In: 0, Out: 1})
		for range caps {
			op(&format.SoftCapParams{X: 1, Cap: 1})
		}
		return check.Program(p, format.TensorList{table}, formattest.Size)
	}
	require.NoError(t, program(500))
	require.ErrorContains(t, program(520), "elements for a row")
}

// slice puts a slice from the first norm's input to its output in that norm's place.
func slice(p *format.Program, s *format.SliceParams) {
	n := find[*format.NormParams](p, 0)
	s.In, s.Out = n.In, n.Out
	p.Ops[1] = format.Op{Kind: format.OpSlice, Version: 1, Params: s}
}

// A mutant that is proved must really keep to its arena: an independent, slower model of memory says so.
func TestProvedMutantsStayInsideTheArena(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := formattest.Draft(rapid.Bool().Draw(t, "moe"))
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			formattest.MutateProgram(d.Program, rapid.Uint32().Draw(t, "which"), rapid.Uint64().Draw(t, "value"))
		}
		if check.Program(d.Program, format.TensorList(d.Tensors), formattest.Size) != nil {
			return
		}
		for _, b := range d.Program.Buffers {
			size := uint64(b.Len) * 4
			if b.Type == format.ElemRoute {
				size *= 2
			}
			if b.Type == format.ElemQ8X {
				size = uint64(b.Len) / 32 * 48
			}
			if b.Region != format.RegionPerRow || b.Offset+(size+63)/64*64 > d.Program.PerRow {
				t.Fatalf("buffer %+v", b)
			}
		}
		replay(t, d)
	})
}

// replay walks the program with one owner per 4 bytes of the arena, as a machine would write it.
func replay(t *rapid.T, d *format.Draft) {
	p := d.Program
	owner := make([]int, p.PerRow/4)
	for i := range owner {
		owner[i] = -1
	}
	words := func(b uint32) []int {
		x := p.Buffers[b]
		n := int(x.Len)
		if x.Type == format.ElemRoute {
			n *= 2
		}
		if x.Type == format.ElemQ8X {
			n = n / 32 * 12
		}
		return owner[x.Offset/4 : int(x.Offset/4)+n]
	}
	read := func(bs ...uint32) {
		for _, b := range bs {
			if b == format.None {
				continue
			}
			for _, o := range words(b) {
				if o != int(b) {
					t.Fatalf("buffer %d read where %d was written", b, o)
				}
			}
		}
	}
	put := func(bs ...uint32) {
		for _, b := range bs {
			if b == format.None {
				continue
			}
			w := words(b)
			for i := range w {
				w[i] = int(b)
			}
		}
	}
	rows := func(w uint32) int { return int(d.Tensors[w].Rows) }
	for _, o := range p.Ops {
		switch x := o.Params.(type) {
		case *format.RowsParams:
			put(x.Out)
		case *format.NormParams:
			read(x.In)
			put(x.Out, x.Q)
		case *format.QuantizeParams:
			read(x.In)
			put(x.Out)
		case *format.MatMulParams:
			read(x.In)
			for _, q := range x.Parts {
				read(q.Residual)
			}
			for _, q := range x.Parts {
				n := rows(q.W)
				if q.Rows != 0 {
					n = int(q.Rows)
				}
				if len(words(q.Out)) < n || int(q.From)+n > rows(q.W) {
					t.Fatalf("matrix of %d rows into buffer %d", rows(q.W), q.Out)
				}
				read(x.In)
				put(q.Out)
			}
		case *format.RopeParams:
			read(x.X)
		case *format.KVAppendParams:
			read(x.K, x.V)
		case *format.AttentionParams:
			read(x.Q)
			put(x.Out)
		case *format.ActivationParams:
			read(x.Gate, x.Up)
			put(x.Out, x.Q)
		case *format.ElementParams:
			read(x.A, x.B)
			put(x.Out)
		case *format.SelectParams:
			read(x.In)
			put(x.Out)
		case *format.RouteParams:
			read(x.In)
			put(x.Out)
		case *format.ExpertsParams:
			read(x.In, x.Route, x.Residual)
			put(x.Gathered)
			read(x.Gathered, x.Route)
			put(x.GateOut, x.UpOut)
			read(x.GateOut, x.UpOut, x.Gathered, x.Route)
			put(x.Hidden, x.DownOut)
			read(x.Hidden, x.DownOut, x.Route, x.Residual)
			put(x.Out)
		case *format.SoftCapParams:
			read(x.X)
		case *format.TemperParams:
			read(x.X)
		case *format.MixParams:
			read(x.A, x.B, x.Coef)
			n := len(words(x.Out)) / int(x.Rows)
			_ = words(x.B)[:n*int(x.Cols)]
			put(x.Out)
		case *format.SliceParams:
			read(x.In)
			for g := range len(words(x.Out)) / int(x.Width) {
				_ = words(x.In)[int(x.From)+g*int(x.Stride):][:x.Width]
			}
			put(x.Out)
		}
	}
	read(p.Logits)
}

func FuzzProgramIsProvedOrRefused(f *testing.F) {
	for i := range uint32(40) {
		f.Add(binary.LittleEndian.AppendUint32(nil, i*2654435761), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, moe bool) {
		m, ok := formattest.Mutant(moe, data)
		if !ok {
			return
		}
		c, err := format.Open(m, int64(len(m)))
		if err != nil {
			require.True(t, sentinel(err), "%v", err)
			return
		}
		if err := check.Program(c.Program, c.Tensors, formattest.Size); err != nil {
			require.True(t, sentinel(err), "%v", err)
		}
	})
}
