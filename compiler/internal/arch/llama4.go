package arch

import (
	"jns/format"
)

var _ = register("llama4", llama4)

// llama4 is Llama 4: three layers of four rotate and see chunks of 8192 positions, the fourth sees all without rotation, its queries growing with the position; every
// n-th layer has experts whose weights multiply their input, and a shared one.
func llama4(b *Builder) {
	step := int(b.bounded("interleave_moe_layer_step", 1, 1, maxLayers))
	const chunk = 8192
	every, chunked := 4, true
	if v, ok, err := b.set.Uint(b.key("attention.sliding_window")); ok && err == nil && v == 0 {
		every, chunked = b.NLayer, false
	}
	full := b.Rotation()
	near := full
	swa := make([]bool, b.NLayer)
	if chunked {
		swa = b.windowPattern(chunk, 4)
		near.Base = b.Nonzero("rope.freq_base_swa", full.Base)
	}
	tables := map[bool]int{false: b.RopeTable(full)}
	tables[true] = b.RopeTable(near)
	m := Moe{Act: format.ActSiLU, Func: format.RouteSigmoid, Scale: b.WeightScale(), Width: b.ExpertFF(), WeightIn: true}
	x := b.Embed(1)
	b.Layers(func(i int) {
		a := Attn{Rope: tables[swa[i]], Bare: b.NExpert != 128, LateNorm: true, Scale: float32(b.Float("attention.scale", 0))}
		if (i+1)%every == 0 {
			a = Attn{Rope: NoRope, Scale: a.Scale}
			if chunked {
				a.Temper = b.temperBy(0.1, chunk, 1)
			}
		}
		if swa[i] {
			a.Window, a.Chunked = chunk, true
		}
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		y := b.Norm(x, "ffn_norm.weight")
		if (i+1)%step != 0 {
			x = b.Add(b.FFN(y, FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true}), x)
			return
		}
		x = b.Add(b.SharedExpert(y, b.Experts(y, m), FFN{Act: format.ActSiLU, Width: m.Width, Unscale: true}), x)
	})
	b.Output(x, 1, 0)
}
