package arch

import (
	"strings"

	"jns/format"
)

var (
	_ = register("deepseek32", deepseek32)
	_ = register("glm-dsa", deepseek32)
)

// deepseek32 is DeepSeek 3.2 and GLM 5, as deepseek2, where an indexer chooses which positions attention sees. As long as it chooses no fewer than there are, that is all of them; further
// positions are not computed.
func deepseek32(b *Builder) {
	b.indexed(b.bounded("attention.indexer.top_k", 0, 0, 1<<31), 1)
	gating := uint8(format.RouteSoftmax)
	if b.g.Arch == "glm-dsa" {
		gating = format.RouteSigmoid
	}
	b.deepseek(gating, true)
}

// indexed sets the indexer's tensors aside. Up to most choices of so many positions each it would choose everything, and positions beyond are not computed: attention over chosen
// positions is an operation that is not known here.
func (b *Builder) indexed(most, positions uint32) {
	all := uint64(most) * uint64(positions)
	if all == 0 {
		b.corrupt("key %q must be given", b.key("attention.indexer.top_k"))
		return
	}
	if all < uint64(b.Context) {
		b.most = uint32(all)
	}
	for _, t := range b.set.Tensors {
		if strings.HasPrefix(t.Name, "blk.") && strings.Contains(t.Name, ".indexer.") && b.g.Uses[t] == nil {
			b.g.Uses[t] = b.use(RoleAside, "of an indexer that chooses all positions there are")
		}
	}
}

// limit keeps sessions within the positions that can be computed.
func (b *Builder) limit() {
	if b.most == 0 {
		return
	}
	b.g.Context = b.most
	for _, n := range b.g.Nodes {
		if p, ok := n.Params.(*format.AttentionParams); ok {
			p.Most = b.most
		}
	}
}
