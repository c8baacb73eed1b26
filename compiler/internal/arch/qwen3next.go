package arch

import (
	"math"

	"jns/format"
)

var (
	_ = register("qwen3next", qwen3next)
	_ = register("qwen35", qwen3next)
	_ = register("qwen35moe", qwen3next)
)

// qwen3next is Qwen3-Next and Qwen 3.5: three layers of a gated delta rule for every one of attention, whose output is gated; experts with a shared one, or dense. A block of
// multi-token prediction may follow.
func qwen3next(b *Builder) {
	b.Predicted()
	s := b.SSM()
	every := int(b.bounded("full_attention_interval", 4, 1, maxLayers))
	recurrent := b.recurrentLayers(func(i int) bool { return (i+1)%every != 0 })
	r := b.Rotation()
	b.sections(&r, true)
	table := b.RopeTable(r)
	x := b.Embed(1)
	b.Layers(func(i int) {
		y := b.Norm(x, "attn_norm.weight")
		if recurrent[i] {
			y = b.gatedDelta(y, s)
		} else {
			y = b.gatedAttention(y, table)
		}
		x = b.Add(y, x)
		y = b.Norm(x, "post_attention_norm.weight")
		if b.g.Arch == "qwen35" {
			x = b.Add(b.FFN(y, FFN{Act: format.ActSiLU, Width: b.FF()}), x)
			return
		}
		z := b.Experts(y, Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Renormalise: true, Scaled: true, Scale: b.WeightScale(), Width: b.qwenExpertFF()})
		x = b.Add(b.SharedExpert(y, z, FFN{Act: format.ActSiLU, Width: b.SharedFF(b.FF())}), x)
	})
	b.Output(x, 1, 0)
}

// recurrentLayers says which layers have a recurrent state: an array of the file, or as def says.
func (b *Builder) recurrentLayers(def func(i int) bool) []bool {
	out := make([]bool, b.NLayer)
	if a, ok, err := b.set.Array(b.key("attention.recurrent_layers")); ok && err == nil && a.Len >= b.NLayer {
		flags, err := b.flags(a)
		if err != nil {
			b.fail(err)
			return out
		}
		copy(out, flags)
		return out
	}
	for i := range out {
		out[i] = def(i)
	}
	return out
}

// gatedAttention is attention whose queries come with gates, head by head, for the output.
func (b *Builder) gatedAttention(x Value, table int) Value {
	heads, kv, dim := b.Heads(), b.KVHeads(), b.HeadDim
	if heads == 0 || kv == 0 || heads%kv != 0 || uint64(heads)*uint64(dim) > maxWidth/2 || b.ValDim != dim {
		b.corrupt("layer %d has %d heads of %d elements for %d of keys", b.layer, heads, dim, kv)
		return x
	}
	both := b.Linear(x, "attn_q", 2*heads*dim)
	k, v := b.Linear(x, "attn_k", kv*dim), b.Linear(x, "attn_v", kv*dim)
	a := Attn{Rope: table, NeoX: true, QKNorm: true}
	q := b.turned(b.Slice(both, 0, dim, 2*dim, heads*dim), "attn_q_norm.weight", a, heads, dim)
	gate := b.Slice(both, dim, dim, 2*dim, heads*dim)
	k = b.turned(k, "attn_k_norm.weight", a, kv, dim)
	scale := float32(b.Nonzero("attention.scale", 1/math.Sqrt(float64(dim))))
	y := b.attend(q, k, v, heads, kv, scale, 0)
	return b.Linear(b.Activate(gate, y, format.ActSigmoid), "attn_output", b.NEmbed)
}

// gatedDelta is a layer of the gated delta rule: convolved queries, keys and values, a decay and a rate for each head, a gated norm.
func (b *Builder) gatedDelta(x Value, s SSM) Value {
	dim, keys, heads := s.State, s.Groups, s.Rank
	if heads%keys != 0 || s.Inner != b.times(dim, heads) {
		b.corrupt("%d heads of %d values and %d of keys make no sense", heads, dim, keys)
		return x
	}
	nk, nv, share := keys*dim, heads*dim, heads/keys
	var mixed, z Value
	scaled := b.g.Arch != "qwen3next"
	if b.Has("attn_qkv.weight") {
		mixed, z = b.linear(x, "attn_qkv", 2*nk+nv, scaled), b.linear(x, "attn_gate", nv, scaled)
		b.ignore("older form of attn_qkv and attn_gate", "ssm_in.weight", "ssm_in.scale")
	} else {
		// The older form has all four, head of keys by head of keys.
		all := b.linear(x, "ssm_in", 2*nk+2*nv, false)
		stride := 2*dim + 2*dim*share
		q, k := b.Slice(all, 0, dim, stride, nk), b.Slice(all, dim, dim, stride, nk)
		v := b.Slice(all, 2*dim, dim*share, stride, nv)
		z = b.Slice(all, 2*dim+dim*share, dim*share, stride, nv)
		mixed = b.Join(b.Join(q, k, 1, false), v, 1, false)
	}
	var alpha, beta Value
	if b.Has("ssm_ba.weight") {
		ba := b.linear(x, "ssm_ba", 2*heads, false)
		beta, alpha = b.Slice(ba, 0, share, 2*share, heads), b.Slice(ba, share, share, 2*share, heads)
	} else {
		beta, alpha = b.Linear(x, "ssm_beta", heads), b.Linear(x, "ssm_alpha", heads)
	}
	c := b.parts(b.Conv(mixed, "ssm_conv1d", s.Taps, format.ActSiLU), nk, nk, nv)
	y := b.Delta(c[0], c[1], c[2], alpha, beta, &format.DeltaParams{
		Heads: heads, KeyHeads: keys, KeyDim: dim, ValDim: dim, Scale: float32(1 / math.Sqrt(float64(dim))), Blocked: b.g.Arch == "qwen3next",
	})
	y = b.Activate(z, b.HeadNorm(y, "ssm_norm.weight", heads), format.ActSiLU)
	return b.linear(y, "ssm_out", b.NEmbed, scaled)
}
