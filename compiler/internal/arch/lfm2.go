package arch

import "jns/format"

var (
	_ = register("lfm2", lfm2)
	_ = register("lfm2moe", lfm2)
)

// lfm2 is LFM2: layers without heads of keys have a short convolution between two gates, the others attention with norms of query and key heads; in the larger models experts
// after the leading layers.
func lfm2(b *Builder) {
	taps := b.bounded("shortconv.l_cache", 0, 2, 64)
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true, QKNorm: true, NoBias: true, Window: b.bounded("attention.sliding_window", 0, 0, 1<<31)}
	dense := b.NLayer
	if b.g.Arch == "lfm2moe" {
		dense = int(b.Uint("leading_dense_block_count", 0))
	}
	m := Moe{Act: format.ActSiLU, Func: b.Gating(format.RouteSigmoid), Renormalise: true, Scale: b.WeightScale(), Width: b.ExpertFF(), Choice: true}
	x := b.Embed(1)
	b.Layers(func(i int) {
		y := b.Norm(x, "attn_norm.weight")
		if b.KVHeads() == 0 {
			n := b.NEmbed
			in := b.Fused(y, "shortconv.in_proj", []uint32{n, n, n}, []string{"conv_b", "conv_c", "conv_x"}, false)
			y = b.Conv(b.Mul(in[0], in[2]), "shortconv.conv", taps, 0)
			y = b.plain(b.Mul(in[1], y), "shortconv.out_proj", n)
		} else {
			y = b.SelfAttention(y, a)
		}
		x = b.Add(y, x)
		x = b.Add(b.leading(i < dense, b.Norm(x, "ffn_norm.weight"), m, 0), x)
	})
	if x = b.Norm(x, "token_embd_norm.weight"); b.Has("dense_2.weight") { // ColBERT: an embedding for each token
		b.hidden(x)
		return
	}
	b.Logits(x, 1, 0)
}
