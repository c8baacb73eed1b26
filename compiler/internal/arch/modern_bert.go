package arch

import (
	"jns/compiler/internal/gguf"
	"jns/format"
)

var _ = register("modern-bert", modernBERT)

// modernBERT is ModernBERT: rotation of halves, layer norms without bias before both parts of a layer (but not before the first attention), fused matrices, and a
// full layer before every two whose tokens see only those at most half a window away.
func modernBERT(b *Builder) {
	b.refuse("expert_count")
	window := b.bounded("attention.sliding_window", 0, 0, 1<<31)
	full := b.Rotation()
	near := full
	near.Base, near.Scaling = b.Nonzero("rope.freq_base_swa", 10000), ScaleNone
	swa := b.denseFirst(window, 3)
	f := FFN{Act: format.ActGELU, Fused: true, Unscale: true}
	if b.Str("hidden_activation", "") == "silu" {
		f.Act = format.ActSiLU
	}
	x := b.LayerNorm(b.Embed(1), "token_embd_norm")
	b.Layers(func(i int) {
		a := Attn{NeoX: true, All: true}
		if swa[i] {
			a.Rope, a.Reach = b.RopeTable(near), max(1, window/2)
		} else {
			a.Rope = b.RopeTable(full)
		}
		y := x
		if i > 0 || b.Has("attn_norm.weight") {
			y = b.LayerNorm(x, "attn_norm")
		}
		x = b.Add(b.SelfAttention(y, a), x)
		f.Width = b.FF()
		x = b.Add(b.FFN(b.LayerNorm(x, "ffn_norm"), f), x)
	})
	b.hidden(b.LayerNorm(x, "output_norm"))
}

// denseFirst is windowPattern where the first of every n layers is the full one.
func (b *Builder) denseFirst(window uint32, n uint64) []bool {
	v, _ := b.set.Get(b.key("attention.sliding_window_pattern"))
	if _, isArray := v.(gguf.Array); isArray || window == 0 {
		return b.windowPattern(window, n)
	}
	n = b.Uint("attention.sliding_window_pattern", n)
	out := make([]bool, b.NLayer)
	for i := range out {
		out[i] = n == 0 || uint64(i)%n != 0
	}
	return out
}
