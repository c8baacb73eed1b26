package arch

import (
	"jns/compiler/internal/gguf"
	"jns/format"
)

var _ = register("t5encoder", t5encoder)

// t5encoder is the encoder of T5: every token sees all others, scores are not divided but shifted by a number for every head and bucket of distances, which all layers have from the first
// unless they have their own. Its results are hidden states.
func t5encoder(b *Builder) {
	b.refuse("expert_count")
	b.stack = "enc."
	a := Attn{Rope: NoRope, Scale: 1, All: true, Unscale: true, Last: "attn_o"}
	buckets := b.buckets(&a.Distance, true)
	x := b.Embed(1)
	var shared *gguf.Tensor
	b.Layers(func(i int) {
		const name = "attn_rel_b.weight"
		a.Biases = shared
		if i == 0 || b.Has(name) {
			a.Biases = b.VectorOf(name, uint64(b.Heads()), uint64(buckets))
		}
		if i == 0 {
			shared = a.Biases
		}
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		f := FFN{Act: format.ActGELU, Unscale: true, Width: b.FF()}
		if !b.Has("ffn_gate.weight") {
			f.Act, f.Plain = format.ActReLU, true
		}
		x = b.Add(b.FFN(b.Norm(x, "ffn_norm.weight"), f), x)
	})
	b.hidden(b.Norm(x, "enc.output_norm.weight"))
}

// buckets sets the buckets of distances, half of them for positions behind where later is set, and gives their number.
func (b *Builder) buckets(d *Distance, later bool) uint32 {
	const key = "attention.relative_buckets_count"
	n := b.bounded(key, 0, 4, 256)
	if n%4 != 0 {
		b.unsupported("key %q is %d, no multiple of 4", b.key(key), n)
		n = 4
	}
	side := n
	if later {
		side /= 2
	}
	if side/2 >= t5Distance {
		b.unsupported("key %q is %d; distances from %d on share a bucket", b.key(key), n, t5Distance)
		side = 2
	}
	d.Edges, d.Later = t5Edges(side), later
	return n
}
