package arch

// sections reads the parts into which the rotated pairs are divided where images are read too: for text the first three parts turn by the position and the last
// not at all. Parts lie one behind the other or, interleaved, pair by pair. It says whether the file has such parts.
func (b *Builder) sections(r *Rotation, interleaved bool) bool {
	const key = "rope.dimension_sections"
	a, ok, err := b.set.Array(b.key(key))
	if err != nil {
		b.fail(err)
	}
	if !ok || err != nil {
		return false
	}
	s, err := a.Uint64s()
	if err != nil || len(s) < 3 || len(s) > 4 {
		b.corrupt("key %q must have 3 or 4 lengths", b.key(key))
		return false
	}
	all := uint64(0)
	for _, n := range s {
		if n > maxWidth/4 {
			b.corrupt("key %q has the length %d", b.key(key), n)
			return false
		}
		all += n
	}
	if s[0] == 0 || s[1] == 0 {
		return false
	}
	r.Still = make([]bool, min(all, uint64(r.Dims)))
	for i := range r.Still {
		p := uint64(i)
		if interleaved {
			r.Still[i] = p >= 3*s[p%3]
		} else {
			r.Still[i] = p >= s[0]+s[1]+s[2]
		}
	}
	return true
}
