package formattest

import (
	"crypto/sha256"
	"fmt"
	"math"

	"jns/format"
)

// Draft gives a tiny model: two layers of attention and feed-forward, float32 throughout; with moe the feed-forward has four experts of which two run.
func Draft(moe bool) *format.Draft {
	b := &builder{tensors: map[string]uint32{}}
	b.weights(moe)
	header := []byte("GGUF header of a tiny model, for tests only")
	d := &format.Draft{
		Target:   "portable",
		Model:    format.Model{Name: "tiny", Vocab: Vocab, Context: 128, Params: b.params, Facts: []format.Fact{{Key: "licence", Value: "none"}}},
		Compiler: format.Compiler{Name: "formattest", Revision: 1, Options: "moe=" + fmt.Sprint(moe)},
		Source: []format.Shard{{
			Length: 1 << 16, SHA256: sha256.Sum256([]byte("whole file")), HeaderLength: uint64(len(header)), HeaderSHA256: sha256.Sum256(header),
		}},
		SourceFiles: []format.SourceFile{{Length: 1 << 16, Header: header, Gaps: []format.Gap{
			{Offset: 43, Length: 21}, {Offset: 60000, Length: 4, Data: []byte{0, 1, 2, 3}},
		}}},
		Template: []byte("{{ messages[0].content }}"),
		Tensors:  b.list,
		Slots:    b.slots,
	}
	d.Program = b.program(moe)
	return d
}

// builder collects tensors, slots, buffers and operations.
type builder struct {
	list    []format.Tensor
	slots   []format.Slot
	tensors map[string]uint32
	params  uint64

	p format.Program
}

// tensor adds a float32 tensor to a slot, behind what lies there.
func (b *builder) tensor(name string, rows, cols uint64, class format.Class, slot uint32, count uint64) {
	layout, reason := uint16(PortableF32), format.ReasonTarget
	if rows == 1 {
		layout, reason = 0, format.ReasonVector
	}
	if class == format.ClassRows {
		reason = format.ReasonRowLookup
	}
	at := (b.slots[slot].Length + 63) &^ 63
	t := format.Tensor{
		Name: name, Index: uint32(len(b.list)), Layout: layout, Reason: reason, Rows: rows, Cols: cols, Count: count, Class: class,
		FirstSlot: slot, Slots: uint32(count), RowsPerSlot: rows, SlotOffset: at, TileRowBytes: 4 * cols, TileRows: 1,
	}
	for e := range uint32(count) {
		b.slots[slot+e].Length = at + rows*4*cols
	}
	b.tensors[name] = uint32(len(b.list))
	b.list = append(b.list, t)
	b.params += rows * cols * count
}

func (b *builder) slot(class format.Class, layer, expert uint32) uint32 {
	b.slots = append(b.slots, format.Slot{Class: class, Layer: layer, Expert: expert})
	return uint32(len(b.slots) - 1)
}

// weights declares slots class by class, then their tensors.
func (b *builder) weights(moe bool) {
	pinned := b.slot(format.ClassPinned, format.None, format.None)
	b.tensor("output_norm.weight", 1, Embed, format.ClassPinned, pinned, 1)
	for l := range uint32(Layers) {
		b.tensor(fmt.Sprintf("blk.%d.attn_norm.weight", l), 1, Embed, format.ClassPinned, pinned, 1)
		b.tensor(fmt.Sprintf("blk.%d.ffn_norm.weight", l), 1, Embed, format.ClassPinned, pinned, 1)
	}
	matrix := func(l uint32, name string, rows, cols uint64) {
		b.tensor(name, rows, cols, format.ClassLayer, b.slot(format.ClassLayer, l, format.None), 1)
	}
	for l := range uint32(Layers) {
		for _, n := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
			matrix(l, fmt.Sprintf("blk.%d.%s.weight", l, n), Embed, Embed)
		}
		if moe {
			matrix(l, fmt.Sprintf("blk.%d.ffn_gate_inp.weight", l), Experts, Embed)
			continue
		}
		matrix(l, fmt.Sprintf("blk.%d.ffn_gate.weight", l), Hidden, Embed)
		matrix(l, fmt.Sprintf("blk.%d.ffn_up.weight", l), Hidden, Embed)
		matrix(l, fmt.Sprintf("blk.%d.ffn_down.weight", l), Embed, Hidden)
	}
	matrix(format.None, "output.weight", Vocab, Embed)
	for l := range uint32(Layers) {
		if !moe {
			break
		}
		first := b.slot(format.ClassExpert, l, 0)
		for e := uint32(1); e < Experts; e++ {
			b.slot(format.ClassExpert, l, e)
		}
		b.tensor(fmt.Sprintf("blk.%d.ffn_gate_exps.weight", l), Hidden, Embed, format.ClassExpert, first, Experts)
		b.tensor(fmt.Sprintf("blk.%d.ffn_up_exps.weight", l), Hidden, Embed, format.ClassExpert, first, Experts)
		b.tensor(fmt.Sprintf("blk.%d.ffn_down_exps.weight", l), Embed, Hidden, format.ClassExpert, first, Experts)
	}
	b.tensor("token_embd.weight", Vocab, Embed, format.ClassRows, b.slot(format.ClassRows, format.None, format.None), 1)
}

func (b *builder) buffer(name string, t format.ElemType, r format.Region, n uint32) uint32 {
	size := uint64(n) * 4
	if t == format.ElemRoute {
		size = uint64(n) * 8
	}
	total := &b.p.PerRow
	if r == format.RegionFixed {
		total = &b.p.Fixed
	} else if r == format.RegionPerWorker {
		total = &b.p.PerWorker
	}
	b.p.Buffers = append(b.p.Buffers, format.Buffer{Name: name, Type: t, Region: r, Len: n, Offset: *total})
	*total += (size + 63) &^ 63
	return uint32(len(b.p.Buffers) - 1)
}

func (b *builder) op(p format.Params) {
	b.p.Ops = append(b.p.Ops, format.Op{Kind: p.Kind(), Version: 1, Params: p})
}

func (b *builder) matmul(in uint32, out, residual uint32, name string) {
	b.op(&format.MatMulParams{In: in, Parts: []format.MatMulPart{{W: b.tensors[name], Bias: format.None, Out: out, Residual: residual, Scale: 1}}})
}

func (b *builder) norm(in, out uint32, name string) {
	b.op(&format.NormParams{Norm: format.NormRMS, In: in, Out: out, Q: format.None, W: b.tensors[name], Bias: format.None, Groups: 1, Eps: 1e-5})
}

func (b *builder) program(moe bool) *format.Program {
	b.p = format.Program{Vocab: Vocab, Context: 128, Embed: Embed}
	freqs := make([]float64, HeadDim/2)
	for i := range freqs {
		freqs[i] = 1 / math.Sqrt(float64(int(1)<<(2*i))) // powers of 1/2, exact
	}
	b.p.Ropes = []format.Rope{{Freqs: freqs, MScale: 1}}
	const f32, row = format.ElemF32, format.RegionPerRow
	x, n := b.buffer("x", f32, row, Embed), b.buffer("normed", f32, row, Embed)
	q, k, v := b.buffer("q", f32, row, Embed), b.buffer("k", f32, row, Embed), b.buffer("v", f32, row, Embed)
	att := b.buffer("attended", f32, row, Embed)
	var gate, up uint32
	var router, route, gathered, down uint32
	if !moe {
		gate, up = b.buffer("gate", f32, row, Hidden), b.buffer("up", f32, row, Hidden)
	} else {
		router, route = b.buffer("router", f32, row, Experts), b.buffer("route", format.ElemRoute, row, Top)
		gathered, down = b.buffer("gathered", f32, row, Embed*Top), b.buffer("down", f32, row, Embed*Top)
		gate, up = b.buffer("gates", f32, row, Hidden*Top), b.buffer("ups", f32, row, Hidden*Top)
	}
	b.op(&format.RowsParams{Out: x, W: b.tensors["token_embd.weight"], Scale: 1})
	for l := range uint32(Layers) {
		name := func(s string) string { return fmt.Sprintf("blk.%d.%s.weight", l, s) }
		b.p.States = append(b.p.States, format.State{Kind: format.StateKV, KVHeads: Heads, KeyDim: HeadDim, ValDim: HeadDim})
		b.norm(x, n, name("attn_norm"))
		b.op(&format.MatMulParams{In: n, Parts: []format.MatMulPart{
			{W: b.tensors[name("attn_q")], Bias: format.None, Out: q, Residual: format.None, Scale: 1},
			{W: b.tensors[name("attn_k")], Bias: format.None, Out: k, Residual: format.None, Scale: 1},
			{W: b.tensors[name("attn_v")], Bias: format.None, Out: v, Residual: format.None, Scale: 1},
		}})
		b.op(&format.RopeParams{X: q, Table: 0, Heads: Heads, HeadDim: HeadDim})
		b.op(&format.RopeParams{X: k, Table: 0, Heads: Heads, HeadDim: HeadDim})
		b.op(&format.KVAppendParams{K: k, V: v, State: l})
		b.op(&format.AttentionParams{Q: q, Out: att, State: l, Heads: Heads, Scale: 0.25, Sinks: format.None})
		b.matmul(att, x, x, name("attn_output"))
		b.norm(x, n, name("ffn_norm"))
		if moe {
			b.matmul(n, router, format.None, name("ffn_gate_inp"))
			b.op(&format.RouteParams{
				Func: format.RouteSoftmax, In: router, Out: route, Bias: format.None, Experts: Experts, Top: Top,
				Renormalise: true, MinSum: 1e-20, Scale: 1, Groups: 1, TopGroups: 1,
			})
			b.op(&format.ExpertsParams{
				In: n, Route: route, Gate: b.tensors[name("ffn_gate_exps")], Up: b.tensors[name("ffn_up_exps")], Down: b.tensors[name("ffn_down_exps")],
				Act: format.ActSiLU, Out: x, Residual: x,
				Gathered: gathered, GateOut: gate, UpOut: up, Hidden: gate, DownOut: down,
				GateScale: format.None, UpScale: format.None, DownScale: format.None, GateBias: format.None, UpBias: format.None, DownBias: format.None,
			})
			continue
		}
		b.op(&format.MatMulParams{In: n, Parts: []format.MatMulPart{
			{W: b.tensors[name("ffn_gate")], Bias: format.None, Out: gate, Residual: format.None, Scale: 1},
			{W: b.tensors[name("ffn_up")], Bias: format.None, Out: up, Residual: format.None, Scale: 1},
		}})
		b.op(&format.ActivationParams{Act: format.ActSiLU, Gate: gate, Up: up, Out: gate, Q: format.None})
		b.matmul(gate, x, x, name("ffn_down"))
	}
	selected, logits := b.buffer("selected", f32, row, Embed), b.buffer("logits", f32, row, Vocab)
	b.op(&format.SelectParams{In: x, Out: selected})
	b.norm(selected, n, "output_norm.weight")
	b.matmul(n, logits, format.None, "output.weight")
	b.p.Logits = logits
	p := b.p
	return &p
}
