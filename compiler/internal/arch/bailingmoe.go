package arch

import "jns/format"

var _ = register("bailingmoe", bailingmoe)

// bailingmoe is Ling, the first: as deepseek, without leading dense layers.
func bailingmoe(b *Builder) {
	b.mixture(Attn{}, format.RouteSoftmax, b.Bool("expert_weights_norm", false), b.ExpertFF(), 0)
}
