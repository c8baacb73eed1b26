package arch

import (
	"math"

	"jns/compiler/internal/gguf"
	"jns/format"
)

// Attn says how a layer's self-attention differs from the plain form.
type Attn struct {
	Rope    int     // index of the rope table, NoRope
	NeoX    bool    // pairs (i, i+n/2)
	Scale   float32 // of q·k; 0: 1/√(head width)
	Window  uint32  // positions visible to a query, 0: all
	QKNorm  bool    // per-head RMS norms attn_q_norm, attn_k_norm before the rotation
	SoftCap float32
}

// NoRope is the rope table of a layer without rotation.
const NoRope = -1

// SelfAttention is the current layer's attention from the normed input to the output projection.
func (b *Builder) SelfAttention(x Value, a Attn) Value {
	heads, kv, dim := b.Heads(), b.KVHeads(), b.HeadDim
	if heads == 0 || kv == 0 || heads%kv != 0 {
		b.corrupt("layer %d has %d heads for %d key-value heads", b.layer, heads, kv)
		heads, kv = 1, 1
	}
	if uint64(heads)*uint64(max(dim, b.ValDim)) > maxWidth {
		b.corrupt("layer %d has %d heads of width %d", b.layer, heads, max(dim, b.ValDim))
		heads, kv = 1, 1
	}
	q := b.Linear(x, "attn_q", heads*dim)
	k := b.Linear(x, "attn_k", kv*dim)
	v := b.Linear(x, "attn_v", kv*b.ValDim)
	if a.QKNorm {
		q = b.HeadNorm(q, "attn_q_norm.weight", heads)
		k = b.HeadNorm(k, "attn_k_norm.weight", kv)
	}
	if a.Rope != NoRope {
		q = b.rope(q, a, heads)
		k = b.rope(k, a, kv)
	}
	state := uint32(len(b.g.States))
	b.g.States = append(b.g.States, format.State{
		Kind: format.StateKV, KVHeads: kv, KeyDim: dim, ValDim: b.ValDim, Window: a.Window,
	})
	b.add(Node{Params: &format.KVAppendParams{State: state}, In: []Value{k, v}})
	scale := a.Scale
	if scale == 0 {
		scale = float32(1 / math.Sqrt(float64(dim)))
	}
	p := &format.AttentionParams{State: state, Heads: heads, Scale: scale, SoftCap: a.SoftCap}
	y := b.add(Node{Params: p, In: []Value{q}, W: []*gguf.Tensor{nil}, Name: "attn", Width: heads * b.ValDim})
	return b.Linear(y, "attn_output", b.NEmbed)
}

func (b *Builder) rope(x Value, a Attn, heads uint32) Value {
	p := &format.RopeParams{Table: uint32(a.Rope), Heads: heads, HeadDim: b.HeadDim, NeoX: a.NeoX}
	return b.add(Node{Params: p, In: []Value{x}, Name: b.g.Nodes[x].Name, Width: b.width(x)})
}

// FeedForward is down(act(gate(x)) · up(x)) with the matrices prefix_gate, prefix_up and prefix_down; suffix names a variant
// ("_shexp").
func (b *Builder) FeedForward(x Value, act uint8, suffix string, width uint32) Value {
	if width == 0 {
		b.corrupt("layer %d has a feed-forward part of width 0", b.layer)
		width = 1
	}
	gate := b.Linear(x, "ffn_gate"+suffix, width)
	up := b.Linear(x, "ffn_up"+suffix, width)
	h := b.add(Node{Params: &format.ActivationParams{Act: act}, In: []Value{gate, up}, Name: "ffn_hidden", Width: width})
	return b.Linear(h, "ffn_down"+suffix, b.NEmbed)
}

// Moe says how a layer's experts are chosen.
type Moe struct {
	Act         uint8
	Func        uint8 // format.Route…
	Renormalise bool
	Scale       float32
	Width       uint32 // hidden width of an expert
}

// minWeightSum is the least sum of chosen weights that is divided by: the smallest normal half, as llama.cpp has it.
const minWeightSum = 6.103515625e-05

// Experts is a mixture of gated feed-forward experts with the router ffn_gate_inp.
func (b *Builder) Experts(x Value, m Moe) Value {
	if m.Width == 0 {
		b.corrupt("layer %d has experts of width 0", b.layer)
		m.Width = 1
	}
	for _, s := range []string{"ffn_gate_inp.scale", "ffn_gate_exps.scale", "ffn_up_exps.scale", "ffn_down_exps.scale",
		"ffn_gate_exps.bias", "ffn_up_exps.bias", "ffn_down_exps.bias", "exp_probs_b.bias"} {
		if b.Has(s) {
			b.unsupported("tensor %q: architecture %s is known here without it", b.Name(s), b.g.Arch)
		}
	}
	logits := b.Linear(x, "ffn_gate_inp", b.NExpert)
	p := &format.RouteParams{
		Func: m.Func, Experts: b.NExpert, Top: b.NUsed, Renormalise: m.Renormalise, MinSum: minWeightSum, Scale: m.Scale, Groups: 1, TopGroups: 1,
	}
	if p.Scale == 0 {
		p.Scale = 1
	}
	route := b.add(Node{Params: p, In: []Value{logits}, W: []*gguf.Tensor{nil}, Name: "route", Width: b.NUsed})
	gate := b.expertTensor("ffn_gate_exps.weight", 0, b.NEmbed, m.Width)
	up := b.expertTensor("ffn_up_exps.weight", 1, b.NEmbed, m.Width)
	down := b.expertTensor("ffn_down_exps.weight", 2, m.Width, b.NEmbed)
	if isFloat(gate.Type) != isFloat(up.Type) {
		b.unsupported("layer %d mixes float and quantised experts (%s gate, %s up)", b.layer, gate.Type, up.Type)
	}
	e := &format.ExpertsParams{Act: m.Act}
	return b.add(Node{Params: e, In: []Value{x, route}, W: []*gguf.Tensor{gate, up, down}, Name: "experts", Width: b.NEmbed})
}

func (b *Builder) expertTensor(name string, part int, cols, rows uint32) *gguf.Tensor {
	t := b.tensor(RoleExperts, name, uint64(cols), uint64(rows), uint64(b.NExpert))
	if u := b.g.Uses[t]; u != nil {
		u.Part = part
	}
	b.checkWeight(t)
	return t
}
