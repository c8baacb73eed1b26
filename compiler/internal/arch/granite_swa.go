package arch

import "jns/format"

var _ = register("granite_swa", graniteSWA)

// graniteSWA is IBM Granite with sliding windows: as granite, with attention sinks, layers with a window among full ones, and layers that do not rotate where the file says so.
func graniteSWA(b *Builder) {
	window := b.bounded("attention.sliding_window", 0, 1, 1<<31)
	swa := b.windowPattern(window, 0)
	turns := b.rotates("attention.rope_pattern", true)
	table := b.RopeTable(b.Rotation())
	residual := float32(b.Nonzero("residual_scale", 1))
	x := b.Embed(float32(b.Nonzero("embedding_scale", 1)))
	b.Layers(func(i int) {
		a := Attn{Rope: table, Scale: float32(b.Float("attention.scale", 0)), Sinks: true}
		if swa[i] {
			a.Window = window
		}
		if !turns[i] {
			a.Rope = NoRope
		}
		x = b.Add(b.Scale(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), residual), x)
		y := b.Norm(x, "ffn_norm.weight")
		if b.NExpert == 0 {
			y = b.FFN(y, FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true})
		} else {
			z := b.Experts(y, Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Renormalise: true, Scale: b.WeightScale(), Width: b.FF()})
			if n := b.SharedFF(0); n > 0 {
				z = b.SharedExpert(y, z, FFN{Act: format.ActSiLU, Width: n, Fused: true, Unscale: true})
			}
			y = z
		}
		x = b.Add(b.Scale(y, residual), x)
	})
	b.Output(x, float32(1/b.Nonzero("logit_scale", 1)), 0)
}

// rotates reads an array with a truth value for each layer; def where there is none.
func (b *Builder) rotates(key string, def bool) []bool {
	out := make([]bool, b.NLayer)
	for i := range out {
		out[i] = def
	}
	a, ok, err := b.set.Array(b.key(key))
	if !ok || err != nil {
		return out
	}
	flags, err := b.flags(a)
	if err != nil || len(flags) < b.NLayer {
		b.corrupt("key %q has %d values for %d layers", b.key(key), len(flags), b.NLayer)
		return out
	}
	copy(out, flags)
	return out
}
