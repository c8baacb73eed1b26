package arch

import (
	"math"

	"jns/compiler/internal/gguf"
	"jns/format"
)

var _ = register("chameleon", chameleon)

// The ids of tokens that stand for pieces of images.
const chameleonImages, chameleonText = 4, 8196

// chameleon is Chameleon, the size of 7 billion: layer norms of query and key heads, each with its own weights. Logits of image tokens are the least there are, for it is to write text. In the larger
// size norms come after the parts of a layer (swin_norm); files of it are refused, as what is known of its feed-forward part disagrees.
func chameleon(b *Builder) {
	b.refuse("expert_count", "swin_norm")
	b.LayerEps = 1e-5
	a := Attn{Rope: b.RopeTable(b.Rotation()), LayerNorm: true}
	f := FFN{Act: format.ActSiLU, Unscale: true, Unbias: true}
	x := b.Embed(1)
	b.Layers(func(int) {
		f.Width = b.FF()
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		x = b.Add(b.FFN(b.Norm(x, "ffn_norm.weight"), f), x)
	})
	b.Output(x, 1, 0)
	if b.g.Output != format.OutputLogits || b.g.Logits == NoValue {
		return
	}
	if b.NVocab <= chameleonText {
		b.corrupt("a vocabulary of %d tokens has no room for those of images", b.NVocab)
		return
	}
	p := b.parts(b.g.Logits, chameleonImages, chameleonText-chameleonImages, b.NVocab-chameleonText)
	least := &format.ElementParams{Element: format.ElementMin, Scale: -math.MaxFloat32}
	none := b.add(Node{Params: least, In: []Value{p[1], NoValue}, W: []*gguf.Tensor{}, Name: "logits", Width: b.width(p[1])})
	b.g.Logits = b.Join(b.Join(p[0], none, 1, false), p[2], 1, false)
}
