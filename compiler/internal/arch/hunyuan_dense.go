package arch

import "jns/format"

var (
	_ = register("hunyuan-dense", hunyuanDense)
	_ = register("hunyuan_vl", hunyuanDense)
)

// hunyuanDense is Hunyuan, dense, and the language model of Hunyuan VL, for text: as llama, with norms of query and key heads after the rotation, which turns halves and whose base may be stretched.
func hunyuanDense(b *Builder) {
	b.refuse("expert_count")
	r := b.Rotation()
	if alpha := b.Float("rope.scaling.alpha", 0); alpha > 0 {
		// base · alpha^(n/(n−2)), in float32 as the model was converted with.
		p := bigPow(alpha, int64(b.HeadDim), int64(max(b.HeadDim, 3))-2)
		r.Base = float64(float32(r.Base) * float32(nearest(p)))
	}
	if b.g.Arch == "hunyuan_vl" {
		b.sections(&r, false)
	}
	a := Attn{NeoX: true, QKNorm: true, LateNorm: true}
	a.Rope = b.RopeTable(r)
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true}), x)
	})
	b.Output(x, 1, 0)
}
