package arch

import "jns/format"

var _ = register("smallthinker", smallthinker)

// smallthinker is SmallThinker: experts are chosen before attention, from the layer's input; the first of every four layers sees everything and does not rotate, where there are windows.
func smallthinker(b *Builder) {
	full := b.Rotation()
	near := full
	window := b.bounded("attention.sliding_window", 0, 0, 1<<31)
	if window > 0 {
		window = 4096
		near.Base = b.Nonzero("rope.freq_base_swa", full.Base)
	}
	swa := b.denseFirst(window, 4)
	m := Moe{Act: format.ActReLU, Func: b.Gating(format.RouteSoftmax), Renormalise: true, Scale: b.WeightScale(), Width: b.ExpertFF()}
	x := b.Embed(1)
	b.Layers(func(i int) {
		m.Router = b.Linear(x, "ffn_gate_inp", b.NExpert)
		a := Attn{Rope: NoRope, NeoX: true}
		switch {
		case window > 0 && i%4 == 0:
		case swa[i]:
			a.Rope = b.RopeTable(near)
		default:
			a.Rope = b.RopeTable(full)
		}
		if swa[i] {
			a.Window = window
		}
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.Experts(b.Norm(x, "ffn_norm.weight"), m), x)
	})
	b.Output(x, 1, 0)
}
