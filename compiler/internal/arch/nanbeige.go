package arch

import "jns/format"

var _ = register("nanbeige", nanbeige)

// nanbeige is Nanbeige: as llama; its layers may run several times over, each time with keys and values of their own, a norm between the turns.
func nanbeige(b *Builder) {
	b.refuse("expert_count")
	turns := int(b.bounded("num_loops", 1, 1, 16))
	between := !b.Bool("skip_loop_final_norm", false)
	a := Attn{Rope: b.RopeTable(b.Rotation()), Scale: float32(b.Float("attention.scale", 0))}
	x := b.Embed(1)
	for turn := range turns {
		if turn > 0 && between {
			x = b.Norm(x, "output_norm.weight")
		}
		b.Layers(func(int) {
			x = b.sequential(x, false, a, FFN{Act: format.ActSiLU})
		})
	}
	b.Output(x, 1, 0)
}
