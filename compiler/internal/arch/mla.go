package arch

import (
	"math"

	"jns/compiler/internal/gguf"
	"jns/format"
)

// Latent says how attention over a compressed form of keys and values is shaped (multi-head latent attention).
type Latent struct {
	Rank, QRank uint32 // of the compressed form, and of the queries' (0: not compressed)
	Rope        uint32 // elements of a head that are rotated, the last ones; all heads share those of the keys
	Key, Val    uint32 // width of a head's keys and values
	Table       int    // rotation, NoRope
	NeoX        bool   // it turns halves
	Scale       float32
	Temper      *format.TemperParams
	Gate        uint8 // function of attn_gate's product, which multiplies the result, element by element or head by head; 0: no gate
	Unscale     bool  // neither bias nor scale of the output matrix is used
}

// Latent reads the shape.
func (b *Builder) Latent() Latent {
	l := Latent{
		Rank: b.bounded("attention.kv_lora_rank", 0, 1, 1<<14), QRank: b.bounded("attention.q_lora_rank", 0, 0, 1<<20), Rope: b.bounded("rope.dimension_count", 0, 1, 1<<14),
		Key: b.bounded("attention.key_length_mla", 0, 0, 1<<14), Val: b.bounded("attention.value_length_mla", 0, 0, 1<<14),
		Table: NoRope,
	}
	if l.Key == 0 {
		l.Key = b.HeadDim
	}
	if l.Val == 0 {
		l.Val = b.ValDim
	}
	if l.Key < l.Rope {
		b.corrupt("heads of %d elements, %d of them rotated, make no sense", l.Key, l.Rope)
		l.Key = l.Rope + 1
	}
	l.Scale = float32(1 / math.Sqrt(float64(l.Key)))
	return l
}

// LatentAttention is the current layer's attention. Where the file has the halves attn_k_b and attn_v_b, queries are taken into the compressed space and attention runs there, with
// one head of keys and values for all; otherwise keys and values are made from the compressed form.
func (b *Builder) LatentAttention(x Value, l Latent) Value {
	heads, nope := b.Heads(), l.Key-l.Rope
	if heads == 0 || uint64(heads)*uint64(max(l.Key, l.Rank+l.Rope, nope+l.Val)) > maxWidth {
		b.corrupt("layer %d has %d heads", b.layer, heads)
		return x
	}
	var q Value
	if l.QRank > 0 && b.Has("attn_q_a.weight") {
		q = b.plain(b.Norm(b.plain(x, "attn_q_a", l.QRank), "attn_q_a_norm.weight"), "attn_q_b", heads*l.Key)
	} else {
		q = b.plain(x, "attn_q", heads*l.Key)
	}
	turn := func(x Value, heads uint32) Value {
		return b.turned(x, "", Attn{Rope: l.Table, NeoX: l.NeoX}, heads, l.Rope)
	}
	qRope := turn(b.Slice(q, nope, l.Rope, l.Key, heads*l.Rope), heads)
	kv := b.plain(x, "attn_kv_a_mqa", l.Rank+l.Rope)
	c := b.Norm(b.Slice(kv, 0, l.Rank, l.Rank, l.Rank), "attn_kv_a_norm.weight")
	kRope := turn(b.Slice(kv, l.Rank, l.Rope, l.Rope, l.Rope), 1)
	var y Value
	switch {
	case nope == 0:
		// Nothing but the part that all heads share.
		v := b.plain(c, "attn_kv_b", heads*l.Val)
		y = b.attend(b.tempered(qRope, l.Temper), b.Repeat(kRope, heads), v, heads, heads, l.Scale, 0)
	case b.Has("attn_k_b.weight"):
		qNope := b.Slice(q, 0, nope, l.Key, heads*nope)
		q = b.Join(b.headMatMul(qNope, "attn_k_b.weight", heads, l.Rank), qRope, heads, false)
		y = b.attend(b.tempered(q, l.Temper), b.Join(c, kRope, 1, false), c, heads, 1, l.Scale, 0)
		y = b.headMatMul(y, "attn_v_b.weight", heads, l.Val)
	default:
		qNope := b.Slice(q, 0, nope, l.Key, heads*nope)
		kv = b.plain(c, "attn_kv_b", heads*(nope+l.Val))
		k, v := b.Slice(kv, 0, nope, nope+l.Val, heads*nope), b.Slice(kv, nope, l.Val, nope+l.Val, heads*l.Val)
		q = b.Join(qNope, qRope, heads, false)
		y = b.attend(b.tempered(q, l.Temper), b.Join(k, kRope, heads, true), v, heads, heads, l.Scale, 0)
	}
	if l.Gate != 0 && b.Has("attn_gate.weight") {
		y = b.gated(x, y, l.Gate, heads)
	}
	if l.Unscale {
		return b.plain(y, "attn_output", b.NEmbed)
	}
	return b.Linear(y, "attn_output", b.NEmbed)
}

func (b *Builder) tempered(q Value, t *format.TemperParams) Value {
	if t == nil {
		return q
	}
	return b.add(Node{Params: t, In: []Value{q}, Name: b.g.Nodes[q].Name, Width: b.width(q)})
}

// headMatMul multiplies each head's part of x with its own matrix of rows rows.
func (b *Builder) headMatMul(x Value, name string, heads, rows uint32) Value {
	cols := b.width(x) / heads
	t := b.tensor(RoleMatrix, name, uint64(cols), uint64(rows), uint64(heads))
	b.checkWeight(t)
	if rows%16 != 0 || !isFloat(t.Type) && cols%32 != 0 {
		b.unsupported("tensor %q has matrices of %d × %d, which must be multiples of 16 × 32", t.Name, rows, cols)
	}
	return b.add(Node{Params: &format.HeadMatMulParams{Heads: heads, Scale: 1}, In: []Value{x}, W: []*gguf.Tensor{t}, Name: shortName(name), Width: heads * rows})
}

// attend stores keys and values of kv heads and attends with heads queries.
func (b *Builder) attend(q, k, v Value, heads, kv uint32, scale float32, window uint32) Value {
	dim, val := b.width(k)/kv, b.width(v)/kv
	state := uint32(len(b.g.States))
	b.states[b.layer] = state
	b.g.States = append(b.g.States, format.State{Kind: format.StateKV, KVHeads: kv, KeyDim: dim, ValDim: val, Window: window})
	b.add(Node{Params: &format.KVAppendParams{State: state}, In: []Value{k, v}})
	p := &format.AttentionParams{State: state, Heads: heads, Scale: scale}
	return b.add(Node{Params: p, In: []Value{q}, W: []*gguf.Tensor{nil}, Name: "attn", Width: heads * val})
}

// Repeat is x, times times, one behind the other.
func (b *Builder) Repeat(x Value, times uint32) Value {
	p := &format.MixParams{Rows: times, Cols: 1, Offset: make([]float32, times)}
	for i := range p.Offset {
		p.Offset[i] = 1
	}
	return b.add(Node{Params: p, In: []Value{NoValue, x, NoValue}, Name: b.g.Nodes[x].Name, Width: b.times(b.width(x), times)})
}
