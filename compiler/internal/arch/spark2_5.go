package arch

import "jns/format"

var _ = register("spark2_5", spark)

// spark is Spark 2.5: layers with a sliding window among full ones, with a rotation of their own; the gate of each head multiplies attention's output.
func spark(b *Builder) {
	b.refuse("expert_count")
	window := b.bounded("attention.sliding_window", 0, 1, 1<<31)
	swa := b.windowPattern(window, 0)
	full := b.Rotation()
	full.Factors = nil
	near := full
	near.Base, near.Dims = b.Nonzero("rope.freq_base_swa", full.Base), b.nearDims(full.Dims)
	x := b.Embed(1)
	b.Layers(func(i int) {
		a := Attn{Rope: b.RopeTable(full), NeoX: true, Gate: format.ActSigmoid}
		if swa[i] {
			a.Rope, a.Window = b.RopeTable(near), window
		}
		x = b.sequential(x, false, a, FFN{Act: format.ActGELU, Unscale: true})
	})
	b.Output(x, 1, 0)
}

// nearDims is how many elements of a head are rotated in layers with a sliding window.
func (b *Builder) nearDims(def uint32) uint32 {
	if n := b.bounded("rope.dimension_count_swa", 0, 0, uint64(b.HeadDim)); n != 0 {
		return n &^ 1
	}
	return def
}
