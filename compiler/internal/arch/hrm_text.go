package arch

import (
	"strings"

	"jns/format"
)

var _ = register("hrm_text", hrmText)

// hrmText is HRM-Text: two stacks of layers that run in turn over the same tokens, the low one several times for every time of the high one, each pass with keys and values of its own;
// norms without weights, gated attention.
func hrmText(b *Builder) {
	b.refuse("expert_count")
	each, high, low := int(b.bounded("hrm.layers_per_stack", 0, 1, maxLayers/2)), int(b.bounded("hrm.h_cycles", 0, 1, 64)), int(b.bounded("hrm.l_cycles", 0, 1, 64))
	if b.NLayer != each*high*(low+1) {
		b.corrupt("key %q is %d for %d passes of %d layers", b.key("block_count"), b.NLayer, high*(low+1), each)
		return
	}
	r := b.Rotation()
	r.Factors = nil
	a := Attn{Rope: b.RopeTable(r), NeoX: true, Gate: format.ActSigmoid, NoBias: true}
	bare := func(x Value) Value { return b.norm(x, format.NormRMS, nil, nil, 1, false, b.Eps) }
	pass := func(x Value, first int) Value {
		for b.layer = first; b.layer < first+each; b.layer++ {
			b.pass++
			x = b.Add(b.SelfAttention(bare(x), a), x)
			x = b.Add(b.FFN(bare(x), FFN{Act: format.ActSiLU, Width: b.FF(), Unscale: true}), x)
		}
		b.layer = -1
		return bare(x)
	}
	above := b.Embed(float32(b.Nonzero("embedding_scale", 1)))
	below := b.Constant("hrm.z_l_init", b.NEmbed)
	for range high {
		for range low {
			below = pass(b.Add(above, below), 0)
		}
		above = pass(b.Add(above, below), each)
	}
	b.pass = -1
	for _, t := range b.set.Tensors {
		if strings.HasSuffix(t.Name, ".scale") && b.g.Uses[t] == nil {
			b.g.Uses[t] = b.use(RoleAside, "scale that this architecture does not use")
		}
	}
	b.Logits(above, 1, 0)
}
