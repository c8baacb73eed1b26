package tile

import (
	"slices"
	"strings"
)

// PortableID is the bit that marks a portable layout: its ID is PortableID | Type. Layouts made for kernels have IDs below it.
const PortableID ID = 0x1000

var portables = registerPortables(codecs)

// registerPortables gives each codec the layout that keeps source blocks as they are, one matrix row per tile row.
func registerPortables(codecs []*Codec) map[Type]*Layout {
	m := make(map[Type]*Layout, len(codecs))
	for _, c := range codecs {
		m[c.Type] = register(Layout{
			ID:       PortableID | ID(c.Type),
			Name:     strings.ToLower(c.Name),
			Type:     c.Type,
			Rows:     1,
			Codec:    c,
			RowBytes: c.RowBytes,
			Pack:     func(dst, src []byte, cols int) { n := c.RowBytes(cols); copy(dst[:n], src[:n]) },
			Unpack:   func(dst, src []byte, cols int) { n := c.RowBytes(cols); copy(dst[:n], src[:n]) },
			Row:      func(dst, src []byte, _, cols int) { n := c.RowBytes(cols); copy(dst[:n], src[:n]) },
		})
	}
	return m
}

// Portable is the layout that keeps a type's blocks as they are in GGUF; nil for a type without a codec.
func Portable(t Type) *Layout { return portables[t] }

// Layouts lists every layout in order of ID. The slice is the caller's, the layouts are not to be changed.
func Layouts() []*Layout {
	all := slices.Clone(layouts)
	slices.SortFunc(all, func(a, b *Layout) int { return int(a.ID) - int(b.ID) })
	return all
}

// ByID finds a layout by its ID.
func ByID(id ID) (*Layout, bool) {
	return find(func(l *Layout) bool { return l.ID == id })
}

// ByName finds a layout by its name, such as "q8_0x16" or "q8_0".
func ByName(name string) (*Layout, bool) {
	return find(func(l *Layout) bool { return l.Name == name })
}

func find(is func(*Layout) bool) (*Layout, bool) {
	if i := slices.IndexFunc(layouts, is); i >= 0 {
		return layouts[i], true
	}
	return nil, false
}
