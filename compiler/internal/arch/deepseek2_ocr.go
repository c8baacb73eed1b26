package arch

import "jns/format"

var _ = register("deepseek2-ocr", deepseekOCR)

// deepseekOCR is the language model of DeepSeek OCR, for text: as deepseek, but whole heads turn, in halves and as they are, whatever the file says of rotated elements, which is a remnant of
// latent attention.
func deepseekOCR(b *Builder) {
	r := b.Rotation()
	r.Dims, r.Scaling, r.Factor, r.Magnitude = b.HeadDim, ScaleNone, 1, 1
	a := Attn{Rope: b.RopeTable(r), NeoX: true}
	b.mixtureOf(a, b.Gating(format.RouteSoftmax), b.Bool("expert_weights_norm", false), b.ExpertFF(), b.leadingDense())
}
