package arch

import "jns/format"

var _ = register("hunyuan-moe", hunyuanMoe)

// hunyuanMoe is Hunyuan with experts and a shared one: norms of query and key heads come after the rotation.
func hunyuanMoe(b *Builder) {
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true, QKNorm: true, LateNorm: true}
	m := Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Renormalise: true, Scale: b.WeightScale(), Width: b.FF()}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		m.Width = b.FF()
		x = b.Add(b.leading(false, b.Norm(x, "ffn_norm.weight"), m, b.SharedFF(b.FF())), x)
	})
	b.Output(x, 1, 0)
}
