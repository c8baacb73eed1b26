package arch

import (
	"strings"

	"jns/format"
)

var _ = register("cogvlm", cogVLM)

// cogVLM is the language model of CogVLM, for text: as llama with rotation of halves. The matrices that images take are set aside.
func cogVLM(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(Rotation{Dims: b.HeadDim &^ 1, Base: 10000, Factor: 1, Magnitude: 1}), NeoX: true, PlainQKV: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.sequential(x, false, a, FFN{Act: format.ActSiLU, Unscale: true})
	})
	for _, t := range b.set.Tensors {
		if strings.HasPrefix(t.Name, "blk.") && strings.Contains(t.Name, ".vis_") && b.g.Uses[t] == nil {
			b.g.Uses[t] = b.use(RoleAside, "for images, which have no part in text")
		}
	}
	b.Output(x, 1, 0)
}
