package arch

import "jns/format"

var (
	_ = register("eurobert", euroBERT)
	_ = register("neo-bert", euroBERT)
)

// euroBERT is EuroBERT and NeoBERT: as llama, but every token sees all others, and the results are hidden states. EuroBERT rotates halves; NeoBERT has fused matrices and
// another name for the last norm.
func euroBERT(b *Builder) {
	b.refuse("expert_count")
	neo := b.g.Arch == "neo-bert"
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: !neo, All: true}
	f := FFN{Act: format.ActSiLU, Fused: neo, Unscale: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, false, a, f)
	})
	last := "output_norm.weight"
	if neo {
		last = "enc.output_norm.weight"
	}
	b.hidden(b.Norm(x, last))
}
