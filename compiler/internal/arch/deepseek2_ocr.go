package arch

import "jns/format"

var _ = register("deepseek2-ocr", deepseekOCR)

// deepseekOCR is the language model of DeepSeek OCR, for text: as deepseek.
func deepseekOCR(b *Builder) {
	b.mixture(Attn{}, b.Gating(format.RouteSoftmax), b.Bool("expert_weights_norm", false), b.ExpertFF(), b.leadingDense())
}
