package arch

import "jns/format"

var _ = register("granitehybrid", graniteHybrid)

// graniteHybrid is IBM Granite 4: as granite, where layers without heads of keys have a mixer of Mamba's second form.
func graniteHybrid(b *Builder) {
	s := b.SSM()
	a := Attn{Rope: NoRope, Scale: float32(b.Float("attention.scale", 0))}
	if b.Bool("rope.scaling.finetuned", true) {
		a.Rope = b.RopeTable(b.Rotation())
	}
	logit := float32(b.Nonzero("logit_scale", 1))
	residual := float32(b.Nonzero("residual_scale", 1))
	x := b.Embed(float32(b.Nonzero("embedding_scale", 1)))
	b.Layers(func(int) {
		y := b.Norm(x, "attn_norm.weight")
		if b.KVHeads() == 0 {
			y = b.Mamba2(y, s)
		} else {
			y = b.SelfAttention(y, a)
		}
		x = b.Add(b.Scale(y, residual), x)
		z := b.Norm(x, "ffn_norm.weight")
		if b.NExpert == 0 {
			y = b.FFN(z, FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true})
		} else {
			y = b.Experts(z, Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Renormalise: true, Scale: b.WeightScale(), Width: b.FF()})
			if n := b.SharedFF(0); n > 0 {
				y = b.SharedExpert(z, y, FFN{Act: format.ActSiLU, Width: n, Unscale: true})
			}
		}
		x = b.Add(b.Scale(y, residual), x)
	})
	b.Output(x, 1/logit, 0)
}
