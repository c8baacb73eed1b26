package arch

import "jns/format"

var _ = register("mimo2", mimo2)

// mimo2 is MiMo V2: layers with a sliding window, which have attention sinks and heads of their own number, and full ones; a factor on attention's output; dense layers, and layers
// with experts; blocks of multi-token prediction may follow.
func mimo2(b *Builder) {
	b.Predicted()
	full := b.Rotation()
	near := full
	near.Base = b.Nonzero("rope.freq_base_swa", full.Base)
	window := b.bounded("attention.sliding_window", 0, 1, 1<<31)
	swa := b.windowPattern(window, 0)
	value := float32(b.Nonzero("attention.value_scale", 1))
	m := Moe{Act: format.ActSiLU, Func: format.RouteSigmoid, Renormalise: true, Scale: b.WeightScale(), Width: b.ExpertFF(), Choice: true}
	x := b.Embed(1)
	b.Layers(func(i int) {
		a := Attn{Rope: b.RopeTable(full), NeoX: true, NoBias: true, PlainQKV: true, Sinks: b.Has("attn_sinks.weight")}
		if swa[i] {
			a.Rope, a.Window = b.RopeTable(near), window
		}
		x = b.Add(b.Scale(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), value), x)
		x = b.Add(b.leading(!b.Has("ffn_gate_inp.weight"), b.Norm(x, "ffn_norm.weight"), m, 0), x)
		if b.Has("ffn_gate_inp.weight") {
			b.ignoreDense()
		}
	})
	b.Output(x, 1, 0)
}
