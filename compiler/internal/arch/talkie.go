package arch

import (
	"math"

	"jns/format"
)

var _ = register("talkie", talkie)

// talkie is Talkie: norms without weights, also of query and key heads after the rotation; a factor for each query head; the normed embedding comes back, with a factor, after
// every layer.
func talkie(b *Builder) {
	b.refuse("expert_count")
	r := b.Rotation()
	r.Factors = nil
	table := b.RopeTable(r)
	bare := func(x Value, groups uint32) Value { return b.norm(x, format.NormRMS, nil, nil, groups, false, b.Eps) }
	first := bare(b.Embed(1), 1)
	x := first
	b.Layers(func(int) {
		heads, kv, dim := b.Heads(), b.KVHeads(), b.HeadDim
		if heads == 0 || kv == 0 || heads%kv != 0 || uint64(heads)*uint64(dim) > maxWidth/2 || b.ValDim != dim {
			b.corrupt("layer %d has %d heads of %d elements for %d of keys", b.layer, heads, dim, kv)
			return
		}
		turn := Attn{Rope: table, NeoX: true, Bare: true, LateNorm: true}
		q, k, v := b.qkv(bare(x, 1), Attn{}, heads*dim, kv*dim, kv*dim)
		q = b.headFactors(b.turned(q, "", turn, heads, dim), "attn_q_norm.weight", heads)
		k = b.turned(k, "", turn, kv, dim)
		y := b.attend(q, k, v, heads, kv, float32(1/math.Sqrt(float64(dim))), 0)
		x = b.Add(b.Linear(y, "attn_output", b.NEmbed), x)
		f := FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true, Down: true}
		x = b.Add(b.FFN(bare(x, 1), f), x)
		again := b.folded("layer_output_scale.weight", 1, "folded into the program as the embedding's factor")[0]
		x = b.Add(x, b.Scale(first, again))
	})
	b.Logits(bare(x, 1), float32(b.Nonzero("logit_scale", 1)), 0)
}

// headFactors multiplies each head of x by its element of a tensor.
func (b *Builder) headFactors(x Value, name string, heads uint32) Value {
	f := b.foldedAs(name, "folded into the program as the heads' factors", 1, uint64(heads))
	p := &format.MixParams{Rows: heads, Cols: heads, Offset: make([]float32, b.times(heads, heads))}
	for i, v := range f {
		p.Offset[i*int(heads)+i] = v
	}
	return b.add(Node{Params: p, In: []Value{NoValue, x, NoValue}, Name: b.g.Nodes[x].Name, Width: b.width(x)})
}
