package arch

import (
	"math"

	"jns/format"
)

var (
	_ = register("deepseek2", deepseek2)
	_ = register("mistral4", deepseek2)
)

// deepseek2 is DeepSeek V2, V3 and R1, Kimi K2, GLM 4.7 Flash, Mistral 4 and others of that form: latent attention, leading dense layers, then groups of experts and shared ones. YaRN's factor
// goes into the attention's scale.
func deepseek2(b *Builder) { b.deepseek(format.RouteSoftmax, false) }

func (b *Builder) deepseek(gating uint8, scaled bool) {
	b.Predicted()
	l := b.Latent()
	r := b.Rotation()
	logMul := 10 * b.Float("rope.scaling.yarn_log_multiplier", 0)
	if r.Scaling != ScaleNone && r.Factor > 0 {
		ln := nearest(bigLn(newBig(r.Factor)))
		own := r.Magnitude
		switch {
		case r.Scaling != ScaleYaRN || logMul == 0:
			own *= 1 + 0.1*ln
		default:
			r.LogMul = 1 // the rotation keeps its length
		}
		m := own * (1 + 0.1*logMul*ln)
		l.Scale = float32(m * m / math.Sqrt(float64(l.Key)))
	}
	l.Table = b.RopeTable(r)
	l.Temper = b.temperLength()
	if (b.NLayer == 47 || b.NLayer == 48) && b.NVocab == 154880 {
		gating = format.RouteSigmoid
	}
	dense := int(b.Uint("leading_dense_block_count", 0))
	m := Moe{Act: format.ActSiLU, Func: b.Gating(gating), Renormalise: b.Bool("expert_weights_norm", false), Scale: b.WeightScale(), Width: b.ExpertFF(), Choice: true, Scaled: scaled}
	shared := b.times(m.Width, b.bounded("expert_shared_count", 0, 0, maxExpert))
	x := b.Embed(1)
	b.Layers(func(i int) {
		x = b.Add(b.LatentAttention(b.Norm(x, "attn_norm.weight"), l), x)
		x = b.Add(b.leading(i < dense, b.Norm(x, "ffn_norm.weight"), m, shared), x)
	})
	b.Output(x, 1, 0)
}
