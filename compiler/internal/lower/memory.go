package lower

import (
	"cmp"
	"math"
	"slices"

	"jns/format"
)

// planMemory gives every buffer a place in the arena. Buffers that are live at the same time, the operations at both ends
// included, do not overlap; larger ones are placed first, each at the lowest offset that is free. Buffers of one name and
// form at one offset become one, so a program names a few dozen buffers however many layers there are.
func planMemory(e *emitter, prog *format.Program) error {
	order := make([]int, len(e.bufs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(bytesOf(e.bufs[b].typ, e.bufs[b].len), bytesOf(e.bufs[a].typ, e.bufs[a].len))
	})
	offsets := make([]uint64, len(e.bufs))
	var placed []int
	for _, i := range order {
		b := e.bufs[i]
		if b.len > math.MaxUint32 {
			return tooLarge("buffer "+b.name+" of length", b.len)
		}
		offsets[i] = lowestFree(e.bufs, offsets, placed, i)
		placed = append(placed, i)
		prog.PerRow = max(prog.PerRow, offsets[i]+bytesOf(b.typ, b.len))
	}
	number := mergeBuffers(e.bufs, offsets, prog)
	renumber(prog.Ops, number)
	prog.Logits = number[e.out]
	return nil
}

// lowestFree is the lowest offset at which buffer i meets no placed buffer that is live when it is.
func lowestFree(bufs []*buffer, offsets []uint64, placed []int, i int) uint64 {
	type span struct{ from, to uint64 }
	var busy []span
	for _, j := range placed {
		if bufs[j].first <= bufs[i].last && bufs[i].first <= bufs[j].last {
			busy = append(busy, span{offsets[j], offsets[j] + bytesOf(bufs[j].typ, bufs[j].len)})
		}
	}
	slices.SortFunc(busy, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	at, size := uint64(0), bytesOf(bufs[i].typ, bufs[i].len)
	for _, s := range busy {
		if at+size <= s.from {
			break
		}
		at = max(at, s.to)
	}
	return at
}

// mergeBuffers writes the program's buffers and says which one each virtual buffer became.
func mergeBuffers(bufs []*buffer, offsets []uint64, prog *format.Program) []uint32 {
	type form struct {
		name   string
		typ    format.ElemType
		len    uint64
		offset uint64
	}
	number := make([]uint32, len(bufs))
	known := map[form]uint32{}
	for i, b := range bufs {
		f := form{b.name, b.typ, b.len, offsets[i]}
		n, ok := known[f]
		if !ok {
			n = uint32(len(prog.Buffers))
			known[f] = n
			prog.Buffers = append(prog.Buffers, format.Buffer{
				Name: b.name, Type: b.typ, Region: format.RegionPerRow, Len: uint32(b.len), Offset: offsets[i],
			})
		}
		number[i] = n
	}
	return number
}

// renumber replaces virtual buffers by the program's in every operand that names a buffer.
func renumber(ops []format.Op, number []uint32) {
	for _, op := range ops {
		for _, b := range bufferOperands(op.Params) {
			if *b != format.None {
				*b = number[*b]
			}
		}
	}
}

// bufferOperands are the operands of an operation that name buffers.
func bufferOperands(params format.Params) []*uint32 {
	switch p := params.(type) {
	case *format.RowsParams:
		return []*uint32{&p.Out}
	case *format.NormParams:
		return []*uint32{&p.In, &p.Out, &p.Q}
	case *format.QuantizeParams:
		return []*uint32{&p.In, &p.Out}
	case *format.MatMulParams:
		all := []*uint32{&p.In}
		for i := range p.Parts {
			all = append(all, &p.Parts[i].Out, &p.Parts[i].Residual)
		}
		return all
	case *format.RopeParams:
		return []*uint32{&p.X}
	case *format.KVAppendParams:
		return []*uint32{&p.K, &p.V}
	case *format.AttentionParams:
		return []*uint32{&p.Q, &p.Out}
	case *format.ActivationParams:
		return []*uint32{&p.Gate, &p.Up, &p.Out, &p.Q}
	case *format.ElementParams:
		return []*uint32{&p.A, &p.B, &p.Out}
	case *format.SelectParams:
		return []*uint32{&p.In, &p.Out}
	case *format.RouteParams:
		return []*uint32{&p.In, &p.Out}
	case *format.ExpertsParams:
		return []*uint32{&p.In, &p.Route, &p.Out, &p.Residual, &p.Gathered, &p.GateOut, &p.UpOut, &p.Hidden, &p.DownOut}
	case *format.SoftCapParams:
		return []*uint32{&p.X}
	case *format.SliceParams:
		return []*uint32{&p.In, &p.Out}
	case *format.TemperParams:
		return []*uint32{&p.X}
	case *format.MixParams:
		return []*uint32{&p.A, &p.B, &p.Out, &p.Coef}
	case *format.ConvParams:
		return []*uint32{&p.X, &p.Out}
	case *format.ScanParams:
		return []*uint32{&p.X, &p.DT, &p.B, &p.C, &p.Out}
	case *format.DeltaParams:
		return []*uint32{&p.Q, &p.K, &p.V, &p.Alpha, &p.Beta, &p.Out}
	case *format.HeadMatMulParams:
		return []*uint32{&p.In, &p.Out}
	case *format.JoinParams:
		return []*uint32{&p.A, &p.B, &p.Out}
	case *format.AffineParams:
		return []*uint32{&p.A, &p.B, &p.Out}
	case *format.PositionParams:
		return []*uint32{&p.Out}
	case *format.XIELUParams:
		return []*uint32{&p.In, &p.Out}
	case *format.RetainParams:
		return []*uint32{&p.Q, &p.K, &p.V, &p.Decay, &p.Out}
	case *format.WKVParams:
		return []*uint32{&p.R, &p.W, &p.K, &p.V, &p.A, &p.B, &p.Out}
	}
	return nil
}
