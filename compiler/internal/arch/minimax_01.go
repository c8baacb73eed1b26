package arch

import (
	"math/big"

	"jns/compiler/internal/gguf"
	"jns/format"
)

var _ = register("minimax-01", minimax01)

// minimax01 is MiniMax Text 01: layers of linear attention whose memory decays by a rate for each head (lightning attention), its result normed and gated; after every seven of them one of
// attention. The residual is the normed input, scaled. Every layer has experts.
func minimax01(b *Builder) {
	b.refuse("expert_shared_feed_forward_length", "leading_dense_block_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true}
	m := Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Renormalise: true, Scale: b.WeightScale(), Width: b.FF()}
	residual := float32(b.Float("residual_scale", 1))
	full := b.fullLayers("attention.recurrent_layers", "full_attention_interval", 8)
	x := b.Embed(1)
	b.Layers(func(i int) {
		y := b.Norm(x, "attn_norm.weight")
		z := y
		if full[i] {
			z = b.SelfAttention(y, a)
		} else {
			z = b.lightning(y, i)
		}
		y = b.Norm(b.Add(z, b.Scale(y, residual)), "ffn_norm.weight")
		x = b.Add(b.Experts(y, m), b.Scale(y, residual))
	})
	b.Output(x, 1, 0)
}

// fullLayers says which layers are not recurrent: by a list of those that are, or every so many.
func (b *Builder) fullLayers(list, every string, def uint64) []bool {
	out := make([]bool, b.NLayer)
	if v, ok := b.set.Get(b.key(list)); ok {
		a, isArray := v.(gguf.Array)
		if !isArray {
			b.unsupported("key %q is no list", b.key(list))
			return out
		}
		flags, err := b.flags(a)
		if err != nil || len(flags) < b.NLayer {
			b.corrupt("key %q must be a list of %d truth values", b.key(list), b.NLayer)
			return out
		}
		for i := range out {
			out[i] = !flags[i]
		}
		return out
	}
	n := int(b.bounded(every, def, 1, maxLayers))
	for i := range out {
		out[i] = (i+1)%n == 0
	}
	return out
}

func (b *Builder) lightning(x Value, layer int) Value {
	heads, dim := b.Heads(), b.HeadDim
	n := b.times(heads, dim)
	if heads == 0 || dim != b.ValDim || uint64(n)*3 > maxWidth {
		b.corrupt("layer %d has %d heads of keys of %d and values of %d", b.layer, heads, dim, b.ValDim)
		return x
	}
	qkv := b.Activate(b.plain(x, "attn_qkv", 3*n), NoValue, format.ActSiLU)
	part := func(i uint32) Value { return b.Slice(qkv, i*dim, dim, 3*dim, n) }
	p := &format.RetainParams{State: b.state(heads, dim, dim), Heads: heads, KeyDim: dim, ValDim: dim, Scale: 1, Decays: lightningDecays(heads, layer, b.NLayer)}
	y := b.add(Node{Params: p, In: []Value{part(0), part(1), part(2), NoValue}, Name: "lightning", Width: n})
	y = b.Norm(y, "attn_norm_2.weight")
	return b.plain(b.Activate(b.plain(x, "attn_gate", n), y, format.ActSigmoid), "attn_output", b.NEmbed)
}

// lightningDecays are e^−s for the heads of a layer, where the slope s of head h is 2^(−8·(h+1)/heads), lessened from the first layer to the last, where hardly anything is forgotten.
func lightningDecays(heads uint32, layer, layers int) []float32 {
	last := max(1, layers-1)
	share := newBig(1)
	share.Sub(share, zero().Quo(newBig(float64(layer)), newBig(float64(last))))
	share.Add(share, newBig(1e-5))
	out := make([]float32, heads)
	for h := range out {
		slope := zero().Mul(bigPow(2, -8*int64(h+1), int64(heads)), share)
		out[h] = float32(nearest(bigExp(new(big.Float).Neg(slope))))
	}
	return out
}
