package arch

import (
	"math"
	"strings"

	"jns/compiler/internal/gguf"
	"jns/format"
)

// Attn says how a layer's self-attention differs from the plain form.
type Attn struct {
	Rope    int     // index of the rope table, NoRope
	NeoX    bool    // pairs (i, i+n/2)
	Scale   float32 // of q·k; 0: 1/√(head width)
	Window  uint32  // positions visible to a query, 0: all
	SoftCap float32

	QKNorm    bool // RMS norms attn_q_norm, attn_k_norm of every head, all with one weight, before the rotation
	RowNorm   bool // the same norms, of the whole row
	LayerNorm bool // the same norms, layer norms of every head, each with its own weight, and a bias if there is one; files may lack them
	RowLayer  bool // the same norms, layer norms of the whole row, with a bias if there is one; files may lack them
	OwnNorms  bool // RMS norms of every head, each with its own weight
	LateNorm  bool // those norms come after the rotation
	ValNorm   bool // values are normed too, without weight

	All      bool                 // later positions are seen too
	Reach    uint32               // how far, before and behind; 0: all
	SubNorm  string               // norm of the result before the output matrix
	Temper   *format.TemperParams // of the queries
	Dim      uint32               // width of this layer's heads; 0: the model's
	ValueK   bool                 // where the file has no attn_v, values are the keys before norm and rotation
	Shared   bool                 // no keys and values of its own: those of layer From
	From     int
	Unscale  bool    // scales of the matrices are not used
	PlainQKV bool    // neither biases nor scales of the matrices of queries, keys and values are used
	Clamp    float32 // queries, keys and values are cut to ± this; 0: not
	Bare     bool    // norms of query and key heads without weight
	Gate     uint8   // function of attn_gate's product, which multiplies the output, element by element or, where it has so few rows, head by head; 0: no gate
	Alibi    float64 // the linear bias of distance (ALiBi), see linearBias; 0: none
	Chunked  bool    // the window does not slide: positions from its last multiple on
	NoBias   bool    // the bias of attn_output is not used
	Sinks    bool    // attn_sinks, a logit without a value for every head
	Distance         // what scores change by with the distance
	Last     string  // name of the output matrix; "": attn_output
}

// NoRope is the rope table of a layer without rotation.
const NoRope = -1

// SelfAttention is the current layer's attention from the normed input to the output projection.
func (b *Builder) SelfAttention(x Value, a Attn) Value {
	heads, kv, dim, val := b.Heads(), b.KVHeads(), b.HeadDim, b.ValDim
	if a.Dim != 0 {
		dim, val = a.Dim, a.Dim
	}
	if heads == 0 || kv == 0 || heads%kv != 0 {
		b.corrupt("layer %d has %d heads for %d key-value heads", b.layer, heads, kv)
		heads, kv = 1, 1
	}
	if uint64(heads)*uint64(max(dim, val)) > maxWidth {
		b.corrupt("layer %d has %d heads of width %d", b.layer, heads, max(dim, val))
		heads, kv = 1, 1
	}
	q, k, v := b.qkv(x, a, heads*dim, kv*dim, kv*val)
	if a.Clamp > 0 {
		q, k, v = b.Clamp(q, a.Clamp), b.Clamp(k, a.Clamp), b.Clamp(v, a.Clamp)
	}
	q = b.turned(q, "attn_q_norm.weight", a, heads, dim)
	scale := a.Scale
	if scale == 0 {
		scale = float32(1 / math.Sqrt(float64(dim)))
	}
	if a.Temper != nil {
		q = b.add(Node{Params: a.Temper, In: []Value{q}, Name: "attn_q", Width: heads * dim})
	}
	if !a.Shared {
		k = b.turned(k, "attn_k_norm.weight", a, kv, dim)
	}
	if a.Alibi > 0 {
		q, k = b.linearBias(q, k, heads, kv, scale, a.Alibi)
		dim += positionParts
	}
	if !a.Shared {
		if a.ValNorm {
			v = b.norm(v, format.NormRMS, nil, nil, kv, false, b.Eps)
		}
		b.states[b.layer] = uint32(len(b.g.States))
		b.g.States = append(b.g.States, format.State{Kind: format.StateKV, KVHeads: kv, KeyDim: dim, ValDim: val, Window: a.Window})
		b.add(Node{Params: &format.KVAppendParams{State: b.states[b.layer]}, In: []Value{k, v}})
		a.From = b.layer
	}
	state, ok := b.states[a.From]
	if s := b.g.States[state:]; !ok || len(s) == 0 || s[0].KeyDim != dim || s[0].ValDim != val || s[0].KVHeads == 0 || heads%s[0].KVHeads != 0 {
		b.corrupt("layer %d cannot use the keys and values of layer %d, which has none of that shape", b.layer, a.From)
	}
	p := &format.AttentionParams{State: state, Heads: heads, Scale: scale, SoftCap: a.SoftCap, Chunked: a.Chunked, All: a.All, Reach: a.Reach}
	var sinks *gguf.Tensor
	if a.Sinks {
		sinks = b.Vector("attn_sinks.weight", heads)
	}
	y := b.add(Node{Params: p, In: []Value{q}, W: []*gguf.Tensor{sinks, b.distance(p, a.Distance)}, Name: "attn", Width: heads * val})
	if a.Gate != 0 {
		y = b.gated(x, y, a.Gate, heads)
	}
	if a.NoBias && b.Has("attn_output.bias") {
		b.folded("attn_output.bias", b.NEmbed, "bias that this architecture does not use")
		return b.matmul(y, b.Matrix("attn_output.weight", b.width(y), b.NEmbed), nil, "attn_output", b.scaleOf("attn_output", !a.Unscale))
	}
	if a.SubNorm != "" {
		y = b.Norm(y, a.SubNorm)
	}
	if a.Last == "" {
		a.Last = "attn_output"
	}
	return b.linear(y, a.Last, b.NEmbed, !a.Unscale)
}

// qkv makes queries, keys and values, from a matrix each or from ranges of the rows of attn_qkv. Keys and values are NoValue in a layer that shares those of
// another.
func (b *Builder) qkv(x Value, a Attn, nq, nk, nv uint32) (q, k, v Value) {
	scaled := !a.Unscale && !a.PlainQKV
	if a.PlainQKV {
		for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_qkv"} {
			b.ignore("not used by this architecture", name+".bias", name+".scale")
		}
	}
	if !b.Has("attn_qkv.weight") {
		q = b.linear(x, "attn_q", nq, scaled)
		if a.Shared {
			// Files may have what such a layer does not use.
			for _, name := range []string{"attn_k.weight", "attn_k.bias", "attn_k_norm.weight", "attn_v.weight", "attn_v.bias"} {
				if t := b.find(name); t != nil && b.g.Uses[t] == nil {
					b.g.Uses[t] = b.use(RoleAside, "of a layer that shares another's keys and values")
				}
			}
			return q, NoValue, NoValue
		}
		k = b.linear(x, "attn_k", nk, scaled)
		if a.ValueK && !b.Has("attn_v.weight") {
			return q, k, k
		}
		return q, k, b.linear(x, "attn_v", nv, scaled)
	}
	parts := b.Fused(x, "attn_qkv", []uint32{nq, nk, nv}, []string{"attn_q", "attn_k", "attn_v"}, scaled)
	return parts[0], parts[1], parts[2]
}

// turned is queries or keys after norm and rotation.
func (b *Builder) turned(x Value, name string, a Attn, heads, dim uint32) Value {
	rotate := func() {
		if a.Rope != NoRope {
			p := &format.RopeParams{Table: uint32(a.Rope), Heads: heads, HeadDim: dim, NeoX: a.NeoX}
			x = b.add(Node{Params: p, In: []Value{x}, Name: b.g.Nodes[x].Name, Width: b.width(x)})
		}
	}
	if a.LateNorm {
		rotate()
	}
	switch {
	case a.QKNorm:
		x = b.HeadNorm(x, name, heads)
	case a.OwnNorms:
		x = b.norm(x, format.NormRMS, b.VectorOf(name, uint64(dim), uint64(heads)), nil, heads, true, b.Eps)
	case a.Bare:
		x = b.norm(x, format.NormRMS, nil, nil, heads, false, b.Eps)
	case a.RowLayer && b.Has(name):
		x = b.LayerNorm(x, strings.TrimSuffix(name, ".weight"))
	case a.RowNorm:
		x = b.Norm(x, name)
	case a.LayerNorm && b.Has(name):
		w := b.VectorOf(name, uint64(dim), uint64(heads))
		var bias *gguf.Tensor
		if name = strings.TrimSuffix(name, ".weight") + ".bias"; b.Has(name) {
			bias = b.VectorOf(name, uint64(dim), uint64(heads))
		}
		x = b.norm(x, format.NormLayer, w, bias, heads, true, b.LayerEps)
	}
	if !a.LateNorm {
		rotate()
	}
	return x
}

// FeedForward is down(act(gate(x)) · up(x)) with the matrices prefix_gate, prefix_up and prefix_down; suffix names a variant
// ("_shexp").
func (b *Builder) FeedForward(x Value, act uint8, suffix string, width uint32) Value {
	return b.FFN(x, FFN{Act: act, Suffix: suffix, Width: width})
}

// FFN says how a layer's feed-forward part differs from the gated form.
type FFN struct {
	Act     uint8
	Suffix  string
	Width   uint32
	Plain   bool // down(act(up(x))), no gate
	Fused   bool // the rows of ffn_up are those of the gate, then those of up
	Unscale bool // scales of the matrices are not used
	Down    bool // but for that of the last
	Unbias  bool // biases are not used
	Limit   float32
	LimitIn bool // the gate is limited before its function
}

// FFN is a layer's feed-forward part. Where a matrix has a bias and a scale, the scale multiplies the bias too.
func (b *Builder) FFN(x Value, f FFN) Value {
	if f.Width == 0 || f.Width > maxWidth/2 {
		b.corrupt("layer %d has a feed-forward part of width %d", b.layer, f.Width)
		f.Width = 1
	}
	if f.Unbias {
		b.ignore("bias that this architecture does not use", "ffn_gate"+f.Suffix+".bias", "ffn_up"+f.Suffix+".bias", "ffn_down"+f.Suffix+".bias")
	}
	in := []Value{NoValue, NoValue}
	switch {
	case f.Plain:
		in[0] = b.biased(x, "ffn_up"+f.Suffix, f.Width, !f.Unscale)
	case f.Fused:
		copy(in, b.Fused(x, "ffn_up"+f.Suffix, []uint32{f.Width, f.Width}, []string{"ffn_gate", "ffn_up"}, !f.Unscale))
	default:
		in[0] = b.biased(x, "ffn_gate"+f.Suffix, f.Width, !f.Unscale)
		in[1] = b.biased(x, "ffn_up"+f.Suffix, f.Width, !f.Unscale)
	}
	h := b.limited(in, f)
	return b.biased(h, "ffn_down"+f.Suffix, b.NEmbed, !f.Unscale || f.Down)
}

// limited is act(gate)·up, where up is cut to ±Limit and act(gate), or the gate before it, to at most that.
func (b *Builder) limited(in []Value, f FFN) Value {
	act := &format.ActivationParams{Act: f.Act}
	if !(f.Limit > 0) || in[1] == NoValue {
		return b.add(Node{Params: act, In: in, Name: "ffn_hidden", Width: f.Width})
	}
	atMost := func(x Value) Value {
		p := &format.ElementParams{Element: format.ElementMin, Scale: f.Limit}
		return b.add(Node{Params: p, In: []Value{x, NoValue}, Name: "ffn_gate", Width: f.Width})
	}
	up := b.Clamp(in[1], f.Limit)
	if f.LimitIn {
		return b.add(Node{Params: act, In: []Value{atMost(in[0]), up}, Name: "ffn_hidden", Width: f.Width})
	}
	return b.Mul(atMost(b.Activate(in[0], NoValue, f.Act)), up)
}

// sequential adds attention and then a feed-forward part to the stream, each over a norm of it, which is a layer norm if layer.
func (b *Builder) sequential(x Value, layer bool, a Attn, f FFN) Value {
	norm := func(x Value, name string) Value {
		if layer {
			return b.LayerNorm(x, name)
		}
		return b.Norm(x, name+".weight")
	}
	x = b.Add(b.SelfAttention(norm(x, "attn_norm"), a), x)
	f.Width = b.FF()
	return b.Add(b.FFN(norm(x, "ffn_norm"), f), x)
}
