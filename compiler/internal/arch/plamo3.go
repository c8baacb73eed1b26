package arch

import "jns/format"

var _ = register("plamo3", plamo3)

// plamo3 is PLaMo 3: norms before and after both parts and of query and key heads, fused matrices; where there are windows, seven layers of eight have one.
func plamo3(b *Builder) {
	b.refuse("expert_count")
	window := b.bounded("attention.sliding_window", 0, 0, 1<<31)
	swa := b.windowPattern(window, 8)
	full := b.Rotation()
	full.Factors = nil
	near := full
	near.Base, near.Scaling, near.Dims = b.Nonzero("rope.freq_base_swa", 10000), ScaleNone, b.nearDims(full.Dims)
	x := b.Embed(1)
	b.Layers(func(i int) {
		a := Attn{Rope: b.RopeTable(full), NeoX: true, QKNorm: true, PlainQKV: true}
		if swa[i] {
			a.Rope, a.Window = b.RopeTable(near), window
		}
		y := b.SelfAttention(b.Norm(x, "attn_norm.weight"), a)
		x = b.Add(b.Norm(y, b.either("post_attention_norm.weight", "post_attention_norm")), x)
		y = b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActSiLU, Width: b.FF(), Fused: true, Unscale: true})
		x = b.Add(b.Norm(y, b.either("post_ffw_norm.weight", "post_ffw_norm")), x)
	})
	b.Output(x, 1, 0)
}

// either is the first of two names if the file has a tensor of it, else the second.
func (b *Builder) either(name, other string) string {
	if b.Has(name) {
		return name
	}
	return other
}
