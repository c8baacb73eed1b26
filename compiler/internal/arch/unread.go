package arch

import "jns/format"

// unread looks at keys that any architecture's file may have and that say how it computes. Where this one's code has not asked for them they change nothing that it built, so what they
// say must hold already, or be made so.
func (b *Builder) unread() {
	if !b.asked["nextn_predict_layers"] {
		b.refuse("nextn_predict_layers")
	}
	if b.windowed() {
		for near, full := range map[string]uint32{"attention.key_length_swa": b.HeadDim, "attention.value_length_swa": b.ValDim,
			"rope.dimension_count_swa": uint32(b.Uint("rope.dimension_count", uint64(b.HeadDim)))} {
			if asked := b.asked[near]; !asked && b.Uint(near, uint64(full)) != uint64(full) {
				b.unsupported("key %q is %d beside %d; architecture %s is known here with the same in layers with and without a window", b.key(near), b.Uint(near, 0), full, b.g.Arch)
			}
		}
	}
	if !b.Bool("attention.causal", true) {
		b.seeAll()
	}
}

// windowed says whether a layer's attention does not see everything.
func (b *Builder) windowed() bool {
	for _, n := range b.g.Nodes {
		if p, ok := n.Params.(*format.AttentionParams); ok && (p.Reach > 0 || b.g.States[p.State].Window > 0) {
			return true
		}
	}
	return false
}

// seeAll makes all attention see later positions too, in a model whose results are embeddings.
func (b *Builder) seeAll() {
	for _, n := range b.g.Nodes {
		p, ok := n.Params.(*format.AttentionParams)
		if !ok || p.All {
			continue
		}
		if b.g.Output == format.OutputLogits || b.g.Output >= format.OutputScoreFirst || b.g.States[p.State].Window > 0 {
			b.unsupported("key %q is false: tokens see later ones; architecture %s is known here so for embeddings without a window only (key %q is 1, 2 or 3)",
				b.key("attention.causal"), b.g.Arch, b.key("pooling_type"))
			return
		}
		p.All = true
	}
}
