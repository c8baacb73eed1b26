package arch

import (
	"jns/compiler/internal/gguf"
	"jns/format"
)

var (
	_ = register("rwkv7", rwkv7)
	_ = register("arwkv7", arwkv7)
)

// rwkv7 is RWKV 7: a state for each head that every position decays, corrects and adds to, and a feed-forward part; both see a mixture of the position and the one before it.
// Values are drawn towards those of the first layer.
func rwkv7(b *Builder) {
	n := b.NEmbed
	if b.bounded("token_shift_count", 2, 0, 8) != 2 {
		b.corrupt("%d shifts make no sense", b.Uint("token_shift_count", 2))
	}
	dim := b.headSize()
	x := b.LayerNorm(b.Embed(1), "token_embd_norm")
	first := NoValue
	b.Layers(func(int) {
		x = b.Add(b.timeMix(b.LayerNorm(x, "attn_norm"), dim, &first), x)
		y := b.LayerNorm(x, "attn_norm_2")
		k := b.Affine(b.before(y), y, b.flat("channel_mix_lerp_k.weight", n), 0)
		x = b.Add(b.Linear(b.Activate(b.Linear(k, "channel_mix_key", b.FF()), NoValue, format.ActReLU2), "channel_mix_value", n), x)
	})
	b.Logits(b.LayerNorm(x, "output_norm"), 1, 0)
}

// arwkv7 is RWKV 7's state in the layers of Qwen 2.5; files may lack the norm of heads and the gate.
func arwkv7(b *Builder) {
	dim := b.headSize()
	x := b.Embed(1)
	first := NoValue
	b.Layers(func(int) {
		x = b.Add(b.timeMix(b.Norm(x, "attn_norm.weight"), dim, &first), x)
		x = b.Add(b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true, Unbias: true}), x)
	})
	b.Output(x, 1, 0)
}

// before is the position before less this one.
func (b *Builder) before(x Value) Value {
	n := b.width(x)
	p := &format.ConvParams{State: b.state(1, 1, n), Taps: 2}
	return b.add(Node{Params: p, In: []Value{x}, W: []*gguf.Tensor{nil, nil}, Name: "shift", Width: n})
}

// Affine is x·w + y, where w is a range of a vector; y may be NoValue.
func (b *Builder) Affine(x, y Value, w *gguf.Tensor, from uint32) Value {
	return b.add(Node{Params: &format.AffineParams{From: from}, In: []Value{x, y}, W: []*gguf.Tensor{w}, Name: b.g.Nodes[x].Name + "_mixed", Width: b.width(x)})
}

// low is x through a narrow matrix, a function (0: none) and a wide one, with a bias if there is one.
func (b *Builder) low(x Value, name, rank string, act uint8, bias bool) Value {
	n := b.NEmbed
	y := b.plain(x, "time_mix_"+name+"1", b.bounded("attention."+rank+"_lora_rank", 0, 1, 1<<16))
	if act != 0 {
		y = b.Activate(y, NoValue, act)
	}
	var v *gguf.Tensor
	if bias {
		v = b.flat("time_mix_"+name+"0.weight", n)
	}
	return b.matmul(y, b.Matrix("time_mix_"+name+"2.weight", b.width(y), n), v, "time_mix_"+name, 1)
}

// less is x − y.
func (b *Builder) less(x, y Value) Value {
	p := &format.ElementParams{Element: format.ElementAdd, Scale: -1}
	return b.add(Node{Params: p, In: []Value{x, y}, Name: b.g.Nodes[x].Name + "_less", Width: b.width(x)})
}

func (b *Builder) timeMix(x Value, dim uint32, first *Value) Value {
	n, heads := b.NEmbed, b.NEmbed/dim
	shares := uint32(6)
	if t := b.find("time_mix_lerp_fused.weight"); t != nil && len(t.Dims) == 4 && t.Dims[3] == 5 && !b.Has("time_mix_g1.weight") {
		shares = 5 // none for a gate
	}
	shift, lerp := b.before(x), b.flat("time_mix_lerp_fused.weight", b.times(n, shares))
	mixed := func(i uint32) Value { return b.Affine(shift, x, lerp, i*n) }
	r := b.Linear(mixed(0), "time_mix_receptance", n)
	w := b.low(mixed(1), "w", "decay", format.ActTanh, true)
	k := b.Linear(mixed(2), "time_mix_key", n)
	xv := mixed(3)
	v := b.Linear(xv, "time_mix_value", n)
	if *first == NoValue {
		*first = v
		for _, s := range []string{"0", "1", "2"} {
			if t := b.find("time_mix_v" + s + ".weight"); t != nil {
				b.g.Uses[t] = b.use(RoleAside, "not used in the first layer")
			}
		}
	} else {
		rate := b.low(xv, "v", "value_residual_mix", 0, true)
		v = b.Add(b.Activate(rate, b.less(*first, v), format.ActSigmoid), v)
	}
	a := b.Activate(b.low(mixed(4), "a", "iclr", 0, true), NoValue, format.ActSigmoid)
	kk := b.norm(b.Affine(k, NoValue, b.flat("time_mix_k_k.weight", n), 0), format.NormL2, nil, nil, heads, false, 1e-24)
	ka := b.Affine(k, NoValue, b.flat("time_mix_k_a.weight", n), 0)
	k = b.Add(b.less(b.Mul(a, ka), ka), k)
	p := &format.WKVParams{State: b.state(heads, dim, dim), Heads: heads, Dim: dim}
	y := b.add(Node{Params: p, In: []Value{r, w, k, v, b.Scale(kk, -1), b.Mul(kk, a)}, Name: "wkv", Width: n})
	if b.Has("time_mix_ln.weight") {
		y = b.norm(y, format.NormLayer, b.flat("time_mix_ln.weight", n), b.flat("time_mix_ln.bias", n), heads, true, 64e-5)
	}
	dot := &format.ElementParams{Element: format.ElementDot}
	rk := b.add(Node{Params: dot, In: []Value{b.Affine(r, NoValue, b.flat("time_mix_r_k.weight", n), 0), k}, Name: "wkv_bonus", Width: heads})
	bonus := b.add(Node{Params: &format.ElementParams{Element: format.ElementSpread}, In: []Value{v, rk}, Name: "wkv_bonus", Width: n})
	y = b.Add(bonus, y)
	if b.Has("time_mix_g1.weight") {
		y = b.Mul(b.low(mixed(5), "g", "gate", format.ActSigmoid, false), y)
	}
	return b.Linear(y, "time_mix_output", n)
}
