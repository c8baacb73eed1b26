package tile

// ID names a layout. IDs are for ever: a golden list pins ID, name, rows and sizes; a changed layout is a new ID.
type ID uint16

// Layout is one arrangement of a matrix. A matrix of r rows is ceil(r/Rows) tile rows, one after the other, each of RowBytes(cols)
// bytes, a multiple of 64 for x16 layouts. Rows that pad the last tile row are zero bytes in source form before Pack.
type Layout struct {
	ID    ID
	Name  string // "q8_0x16", "q8_0" (portable)
	Type  Type   // source type
	Rows  int    // matrix rows per tile row: 1 (portable) or 16
	Codec *Codec
	// Wants is the feature of a target that has fast kernels for the layout, where the type has another one for the rest; empty: any.
	Wants string

	// RowBytes is the size of one tile row of a matrix with cols columns; cols must be a multiple of Codec.Elems.
	RowBytes func(cols int) int
	// Pack writes one tile row to dst (RowBytes(cols) bytes, every byte written) from the source rows in src, which are Rows ×
	// Codec.RowBytes(cols) bytes back to back.
	Pack func(dst, src []byte, cols int)
	// Unpack is the inverse of Pack on every byte pattern.
	Unpack func(dst, src []byte, cols int)
	// Row extracts matrix row r (0 ≤ r < Rows) of a tile row in source form (Codec.RowBytes(cols) bytes).
	Row func(dst, src []byte, r, cols int)
}

// TileRows is the number of tile rows of a matrix with the given number of rows.
func (l *Layout) TileRows(rows int) int { return (rows + l.Rows - 1) / l.Rows }

// Bytes is the size of a whole matrix.
func (l *Layout) Bytes(rows, cols int) int { return l.TileRows(rows) * l.RowBytes(cols) }

var layouts []*Layout

// register adds a layout and gives it the codec of its type; two with one ID or one name are a mistake of ours.
func register(l Layout) *Layout {
	if l.Codec == nil {
		l.Codec, _ = CodecFor(l.Type)
	}
	for _, o := range layouts {
		if o.ID == l.ID || o.Name == l.Name {
			panic("tile: duplicate layout " + l.Name)
		}
	}
	p := &l
	layouts = append(layouts, p)
	return p
}
