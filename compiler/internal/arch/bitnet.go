package arch

import "jns/format"

var _ = register("bitnet", bitNet)

// bitNet is BitNet b1.58: as llama with rotation of halves, and norms between attention and its output matrix and between the gated product and the last matrix.
func bitNet(b *Builder) {
	b.refuse("expert_count")
	a := Attn{Rope: b.RopeTable(b.Rotation()), NeoX: true, SubNorm: "attn_sub_norm.weight"}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		y := b.Norm(x, "ffn_norm.weight")
		h := b.Activate(b.Linear(y, "ffn_gate", b.FF()), b.Linear(y, "ffn_up", b.FF()), format.ActSiLU)
		x = b.Add(b.Linear(b.Norm(h, "ffn_sub_norm.weight"), "ffn_down", b.NEmbed), x)
	})
	b.Output(x, 1, 0)
}
