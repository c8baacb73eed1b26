package arch

import (
	"jns/compiler/internal/gguf"
	"jns/format"
)

var _ = register("apertus", apertus)

// apertus is Apertus: norms of query and key heads, and a feed-forward part without gate whose activation has parameters of its own in every layer. Files have the alphas as they were trained:
// what multiplies is softplus of the positive side's, and of the negative side's with beta.
func apertus(b *Builder) {
	b.refuse("expert_count")
	an, ap, beta, eps := b.plainFloats("xielu.alpha_n"), b.plainFloats("xielu.alpha_p"), b.plainFloats("xielu.beta"), b.plainFloats("xielu.eps")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true, QKNorm: true}
	x := b.Embed(1)
	b.Layers(func(i int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		up := b.plain(b.Norm(x, "ffn_norm.weight"), "ffn_up", b.FF())
		p := &format.XIELUParams{AlphaN: float32(float64(beta[i]) + softplus(an[i])), AlphaP: float32(softplus(ap[i])), Beta: beta[i], Eps: eps[i]}
		h := b.add(Node{Params: p, In: []Value{up}, Name: "ffn_hidden", Width: b.width(up)})
		x = b.Add(b.plain(h, "ffn_down", b.NEmbed), x)
	})
	b.Output(x, 1, 0)
}

// softplus is ln(1 + e^x), the float64 nearest to it; beyond ±100 float32 cannot tell it from x and from 0.
func softplus(x float32) float64 {
	switch {
	case x > 100 || x != x:
		return float64(x)
	case x < -100:
		return 0
	}
	return nearest(bigLn(zero().Add(newBig(1), bigExp(newBig(float64(x))))))
}

// floats is a number for each layer, given once or as an array; 0 where the file has none.
func (b *Builder) floats(key string) []float32 { return b.floatsOf(b.key(key), false) }

// plainFloats is floats of a key that does not begin with the architecture's name, and that the file must have.
func (b *Builder) plainFloats(key string) []float32 { return b.floatsOf(key, true) }

func (b *Builder) floatsOf(key string, must bool) []float32 {
	out := make([]float32, b.NLayer)
	v, ok := b.set.Get(key)
	if !ok {
		if must {
			b.corrupt("key %q must be given", key)
		}
		return out
	}
	values := []float32{}
	switch v := v.(type) {
	case gguf.Array:
		f, err := v.Float32s()
		if err != nil {
			b.fail(err)
		}
		values = f
	default:
		f, _, err := b.set.Float(key)
		if err != nil {
			b.fail(err)
		}
		for range out {
			values = append(values, float32(f))
		}
	}
	if len(values) < b.NLayer {
		b.corrupt("key %q has %d values for %d layers", key, len(values), b.NLayer)
		return out
	}
	for i := range out {
		if !format.Finite(values[i]) {
			b.corrupt("key %q has the value %v", key, values[i])
			continue
		}
		out[i] = values[i]
	}
	return out
}
