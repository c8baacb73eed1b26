package arch

import "strings"

// knownExtras are tensors that files of many architectures carry and that no program needs. A name ends or begins with the
// pattern as the star says.
var knownExtras = []struct{ pattern, reason string }{
	{"rope_freqs.weight", "rotation factors that this architecture does not use"},
	{"*.rope_freqs.weight", "rotation factors that this architecture does not use"},
	{"*.attn_rot_embd.weight", "rotation table of old files, computed instead"},
	{"*.attn_rot_embd", "rotation table of old files, computed instead"},
	{"*.attention.rotary_emb.inv_freq", "rotation table of old files, computed instead"},
	{"*.input_scale", "scale of quantised activations, which this program computes itself"},
	{"cls.*", "classifier behind the hidden states; the model gives logits"},
	{"*.nextn.*", "multi-token prediction, not used in decoding"},
}

// ignore sets tensors of the current layer aside that the file may have and that the graph has not used.
func (b *Builder) ignore(reason string, names ...string) {
	for _, name := range names {
		if t := b.find(name); t != nil && b.g.Uses[t] == nil {
			b.g.Uses[t] = b.use(RoleAside, reason)
		}
	}
}

// ignoreDense sets the matrices of a dense feed-forward part aside, in a layer that has experts.
func (b *Builder) ignoreDense() {
	for _, name := range []string{"ffn_gate", "ffn_up", "ffn_down"} {
		b.ignore("dense form of a layer that has experts", name+".weight", name+".bias", name+".scale")
	}
}

func knownExtra(name string) (reason string, ok bool) {
	for _, e := range knownExtras {
		if matches(e.pattern, name) {
			return e.reason, true
		}
	}
	return "", false
}

// matches knows patterns with a star at either end.
func matches(pattern, name string) bool {
	core := strings.Trim(pattern, "*")
	front, back := strings.HasPrefix(pattern, "*"), strings.HasSuffix(pattern, "*")
	switch {
	case front && back:
		return strings.Contains(name, core)
	case front:
		return strings.HasSuffix(name, core)
	case back:
		return strings.HasPrefix(name, core)
	}
	return name == core
}
