package arch

import (
	"math"

	"jns/format"
)

var (
	_ = register("minicpm3", minicpm3)
	_ = register("plm", plm)
)

// minicpm3 is MiniCPM 3: latent attention and a dense feed-forward part, with factors on embeddings, residual branches and logits that the files do not hold.
func minicpm3(b *Builder) {
	l := b.Latent()
	l.Table, l.NeoX = b.RopeTable(b.Rotation()), true
	residual := float32(1.4 / math.Sqrt(float64(b.NLayer)))
	x := b.Embed(12)
	b.Layers(func(int) {
		x = b.Add(b.Scale(b.LatentAttention(b.Norm(x, "attn_norm.weight"), l), residual), x)
		y := b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true})
		x = b.Add(b.Scale(y, residual), x)
	})
	b.Output(x, float32(256/float64(b.NEmbed)), 0)
}

// plm is PLM: latent attention and a feed-forward part without gate.
func plm(b *Builder) {
	l := b.Latent()
	l.Table = b.RopeTable(b.Rotation())
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.LatentAttention(b.Norm(x, "attn_norm.weight"), l), x)
		x = b.Add(b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActReLU2, Width: b.FF(), Plain: true, Unscale: true}), x)
	})
	b.Output(x, 1, 0)
}
