package arch

import "jns/format"

var _ = register("glm4", glm4)

// glm4 is GLM 4: norms before and after both parts of a layer, partial rotation of neighbouring pairs (of halves in files with rotation sections) and a fused
// matrix for gate and up.
func glm4(b *Builder) {
	b.refuse("expert_count", "nextn_predict_layers")
	r := b.Rotation()
	a := Attn{NeoX: b.sections(&r)}
	a.Rope = b.RopeTable(r)
	x := b.Embed(1)
	b.Layers(func(int) {
		y := b.SelfAttention(b.Norm(x, "attn_norm.weight"), a)
		x = b.Add(b.Norm(y, "post_attention_norm.weight"), x)
		y = b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActSiLU, Width: b.FF(), Fused: true, Unscale: true})
		x = b.Add(b.Norm(y, "post_ffw_norm.weight"), x)
	})
	b.Output(x, 1, 0)
}

// sections reads the parts into which the rotated pairs are divided where images are read too. For text the first three parts turn by the position and the last
// not at all. It says whether the file has such parts.
func (b *Builder) sections(r *Rotation) bool {
	a, ok, err := b.set.Array(b.key("rope.dimension_sections"))
	if err != nil || !ok {
		if err != nil {
			b.fail(err)
		}
		return false
	}
	s, err := a.Uint64s()
	if err != nil || len(s) < 3 || len(s) > 4 {
		b.corrupt("key %q must have 3 or 4 lengths", b.key("rope.dimension_sections"))
		return false
	}
	turned, all := s[0]+s[1]+s[2], uint64(0)
	for _, n := range s {
		if n > maxWidth {
			b.corrupt("key %q has the length %d", b.key("rope.dimension_sections"), n)
			return false
		}
		all += n
	}
	if s[0] == 0 || s[1] == 0 {
		return false
	}
	r.Turned, r.Cycle = uint32(turned), uint32(all)
	return true
}
