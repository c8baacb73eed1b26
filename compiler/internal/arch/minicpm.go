package arch

import (
	"math"
)

var _ = register("minicpm", miniCPM)

// miniCPM is MiniCPM 1 and 2: as granite, with factors that older files do not give.
func miniCPM(b *Builder) {
	a := Attn{Rope: b.RopeTable(b.Rotation()), Scale: float32(b.Float("attention.scale", 0))}
	residual := float32(b.Nonzero("residual_scale", float64(float32(1.4)/float32(math.Sqrt(float64(b.NLayer))))))
	x := b.Embed(float32(b.Nonzero("embedding_scale", 12)))
	b.Layers(func(int) {
		y := b.SelfAttention(b.Norm(x, "attn_norm.weight"), a)
		x = b.Add(b.Scale(y, residual), x)
		y = b.graniteFeedForward(b.Norm(x, "ffn_norm.weight"))
		x = b.Add(b.Scale(y, residual), x)
	})
	b.Output(x, float32(1/b.Nonzero("logit_scale", 256/float64(b.NEmbed))), 0)
}
