package arch

import (
	"math"

	"jns/compiler/internal/gguf"
	"jns/format"
)

var (
	_ = register("rwkv6", rwkv6)
	_ = register("rwkv6qwen2", rwkv6Qwen2)
)

// rwkv6 is RWKV 6: a memory for each head that decays by as much as the token says, where the present token counts by a weight of its own, and a gated feed-forward part. Both see mixtures of
// the position and the one before it; how much of each, the token says too.
func rwkv6(b *Builder) {
	n := b.NEmbed
	if b.bounded("token_shift_count", 2, 0, 8) != 2 {
		b.corrupt("%d shifts make no sense", b.Uint("token_shift_count", 2))
	}
	dim, every := b.headSize(), int(b.bounded("rescale_every_n_layers", 0, 0, maxLayers))
	x := b.LayerNorm(b.Embed(1), "token_embd_norm")
	b.Layers(func(i int) {
		x = b.Add(b.timeMix6(b.LayerNorm(x, "attn_norm"), dim, true), x)
		y := b.LayerNorm(x, "attn_norm_2")
		shift := b.before(y)
		mixed := func(name string) Value { return b.Affine(shift, y, b.flat("channel_mix_lerp_"+name+".weight", n), 0) }
		r := b.plain(mixed("r"), "channel_mix_receptance", n)
		k := b.Activate(b.plain(mixed("k"), "channel_mix_key", b.FF()), NoValue, format.ActReLU2)
		x = b.Add(b.Activate(r, b.plain(k, "channel_mix_value", n), format.ActSigmoid), x)
		if every > 0 && (i+1)%every == 0 {
			x = b.Scale(x, 0.5)
		}
	})
	b.Logits(b.LayerNorm(x, "output_norm"), 1, 0)
}

// rwkv6Qwen2 is RWKV 6's memory, with keys that count the less the less is forgotten, in the layers of Qwen 2.5.
func rwkv6Qwen2(b *Builder) {
	dim := b.headSize()
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.timeMix6(b.Norm(x, "attn_norm.weight"), dim, false), x)
		x = b.Add(b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true, Unbias: true}), x)
	})
	b.Logits(b.norm(x, format.NormRMS, b.Vector("output_norm.weight", b.NEmbed), b.Optional("output_norm.bias", b.NEmbed), 1, false, b.Eps), 1, 0)
}

// headSize is the width of RWKV's heads.
func (b *Builder) headSize() uint32 {
	dim := b.bounded("wkv.head_size", 0, 1, 1<<12)
	if b.NEmbed%dim != 0 {
		b.corrupt("heads of %d elements of %d make no sense", dim, b.NEmbed)
		return b.NEmbed
	}
	return dim
}

// timeMix6 is the memory's part of a layer. Where the file weighs the present token apart (first), a norm of heads follows.
func (b *Builder) timeMix6(x Value, dim uint32, first bool) Value {
	n, heads := b.NEmbed, b.NEmbed/dim
	shift := b.before(x)
	mixed := b.mixtures6(x, shift)
	w := b.Activate(b.plain(mixed[0], "time_mix_decay_w1", b.bounded("time_decay_extra_dim", 0, 1, 1<<16)), NoValue, format.ActTanh)
	w = b.matmul(w, b.Matrix("time_mix_decay_w2.weight", b.width(w), n), b.flat("time_mix_decay.weight", n), "time_mix_decay", 1)
	w = b.exp(b.exp(w, 1), -1)
	kv := heads
	if k := b.KVHeads(); k > 0 && k < heads && heads%k == 0 {
		kv = k
	}
	k := b.widened(b.linear(mixed[1], "time_mix_key", kv*dim, false), kv, heads)
	v := b.widened(b.linear(mixed[2], "time_mix_value", kv*dim, false), kv, heads)
	r := b.linear(mixed[3], "time_mix_receptance", n, false)
	g := b.plain(mixed[4], "time_mix_gate", n)
	p := &format.RetainParams{State: b.state(heads, dim, dim), Heads: heads, KeyDim: dim, ValDim: dim, Scale: 1}
	act := uint8(format.ActSiLU)
	var weights *gguf.Tensor
	if first {
		weights = b.flat("time_mix_first.weight", n)
	} else {
		p.Scale = float32(1 / math.Sqrt(float64(dim)))
		act = format.ActSigmoid
		k = b.less(k, b.Mul(k, w))
	}
	y := b.add(Node{Params: p, In: []Value{r, k, v, w}, W: []*gguf.Tensor{weights}, Name: "wkv", Width: n})
	if first {
		y = b.norm(y, format.NormLayer, b.flat("time_mix_ln.weight", n), b.flat("time_mix_ln.bias", n), heads, true, 64e-5)
	}
	return b.plain(b.Activate(g, y, act), "time_mix_output", n)
}

// mixtures6 are the five inputs of a layer's matrices, for decay, key, value, receptance and gate: x and what changed since the position before, by shares that a narrow matrix for each
// adds to fixed ones.
func (b *Builder) mixtures6(x, shift Value) (out [5]Value) {
	n := b.NEmbed
	extra := b.bounded("time_mix_extra_dim", 0, 1, 1<<16)
	low := b.Activate(b.plain(b.Affine(shift, x, b.flat("time_mix_lerp_x.weight", n), 0), "time_mix_w1", 5*extra), NoValue, format.ActTanh)
	shares := b.headMatMul(low, "time_mix_w2.weight", 5, n)
	fused := b.Has("time_mix_lerp_fused.weight")
	if fused {
		shares = b.norm(shares, format.NormNone, nil, b.flat("time_mix_lerp_fused.weight", b.times(n, 5)), 1, false, 1)
	}
	for i, s := range []string{"w", "k", "v", "r", "g"} {
		share := b.Slice(shares, uint32(i)*n, n, n, n)
		if !fused {
			share = b.norm(share, format.NormNone, nil, b.flat("time_mix_lerp_"+s+".weight", n), 1, false, 1)
		}
		out[i] = b.Add(b.Mul(share, shift), x)
	}
	return out
}

// exp is e^(x·scale).
func (b *Builder) exp(x Value, scale float32) Value {
	p := &format.ElementParams{Element: format.ElementExp, Scale: scale}
	return b.add(Node{Params: p, In: []Value{x, NoValue}, Name: b.g.Nodes[x].Name + "_exp", Width: b.width(x)})
}

// widened gives each of have heads of x to as many of want heads as share it.
func (b *Builder) widened(x Value, have, want uint32) Value {
	if have == want {
		return x
	}
	p := &format.MixParams{Rows: want, Cols: have, Offset: make([]float32, b.times(want, have))}
	for i := range want {
		p.Offset[i*have+i/(want/have)] = 1
	}
	return b.add(Node{Params: p, In: []Value{NoValue, x, NoValue}, Name: b.g.Nodes[x].Name, Width: b.width(x) / have * want})
}
