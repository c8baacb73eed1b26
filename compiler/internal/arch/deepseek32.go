package arch

import (
	"strings"

	"jns/format"
)

var (
	_ = register("deepseek32", deepseek32)
	_ = register("glm-dsa", deepseek32)
)

// deepseek32 is DeepSeek 3.2 and GLM 5, as deepseek2, where an indexer chooses which positions attention sees. As long as it chooses no fewer than there are, that is all of them: files
// whose context is no longer than that compile, others need an operation that is not known here.
func deepseek32(b *Builder) {
	b.indexed(b.bounded("attention.indexer.top_k", 0, 0, 1<<31), 1)
	gating := uint8(format.RouteSoftmax)
	if b.g.Arch == "glm-dsa" {
		gating = format.RouteSigmoid
	}
	b.deepseek(gating, true)
}

// indexed sets the indexer's tensors aside where it would choose everything: most choices of so many positions each.
func (b *Builder) indexed(most, positions uint32) {
	if uint64(most)*uint64(positions) < uint64(b.Context) {
		b.unsupported("architecture %s: an indexer chooses %d of up to %d positions (key %q), and attention over chosen positions is an operation that is not known here",
			b.g.Arch, uint64(most)*uint64(positions), b.Context, b.key("attention.indexer.top_k"))
	}
	for _, t := range b.set.Tensors {
		if strings.HasPrefix(t.Name, "blk.") && strings.Contains(t.Name, ".indexer.") && b.g.Uses[t] == nil {
			b.g.Uses[t] = b.use(RoleAside, "of an indexer that chooses all positions there are")
		}
	}
}
