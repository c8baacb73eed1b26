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
	{"*.nextn.*", "multi-token prediction, not used in decoding"},
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
