package arch

import "jns/format"

var (
	_ = register("mamba", mamba)
	_ = register("mamba2", mamba)
	_ = register("jamba", jamba)
)

// mamba is Mamba, of both forms: norm and mixer in every layer, nothing else.
func mamba(b *Builder) {
	s := b.SSM()
	x := b.Embed(1)
	b.Layers(func(int) {
		y := b.Norm(x, "attn_norm.weight")
		if b.g.Arch == "mamba2" {
			y = b.Mamba2(y, s)
		} else {
			y = b.Mamba1(y, s)
		}
		x = b.Add(y, x)
	})
	b.Output(x, 1, 0)
}

// jamba is Jamba: layers without heads of keys have a mixer of Mamba's first form, the others attention without rotation; experts in some layers.
func jamba(b *Builder) {
	s := b.SSM()
	x := b.Embed(1)
	b.Layers(func(int) {
		y := b.Norm(x, "attn_norm.weight")
		if b.KVHeads() == 0 {
			y = b.Mamba1(y, s)
		} else {
			y = b.SelfAttention(y, Attn{Rope: NoRope})
		}
		x = b.Add(y, x)
		y = b.Norm(x, "ffn_norm.weight")
		if b.Has("ffn_gate_inp.weight") {
			y = b.Experts(y, Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Scale: b.WeightScale(), Width: b.FF()})
		} else {
			y = b.FFN(y, FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true})
		}
		x = b.Add(y, x)
	})
	b.Output(x, 1, 0)
}
