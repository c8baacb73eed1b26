package tile

import "encoding/binary"

// Rows16 is the number of matrix rows in one tile row of every x16 layout.
const Rows16 = 16

// An x16 layout moves the fields of a source block, item by item, so that the same item of 16 rows lies side by side: one
// vector lane is one row. A tile row is one or two streams, each padded with zero bytes to a multiple of 64:
//
//	stream 0: for every block, the fields of the block in stream 0 (scales, where the block is small)
//	stream 1: for every block, the fields of the block in stream 1 (codes)
//
// and a field is [items][16 rows][item size]. Items of codes are four consecutive bytes, so one item of 16 rows is a vector
// register of 64 bytes.
type x16Field struct {
	src    int // offset in the source block
	size   int // bytes in an item: 1, 2 or 4
	n      int // items
	stream int
	dst    int  // offset in the stream's part of one block
	xor    byte // applied to every byte
	// bits marks a dword of 32 fifth bits, which is reordered so that byte i, bit j belongs to element 4j+i: the bit of the
	// four elements of code item j is then at bit j of the four bytes, and one shift brings all four into place.
	bits bool
	// move replaces the copying of items where the order within them changes: it moves the field of one block and row between source and
	// tile, whose dwords are 64 bytes apart.
	move func(src, tile []byte, pack bool)
}

// x16 describes one layout: elems and bytes of a source block, bytes of a block of 16 rows in the two streams.
type x16 struct {
	elems, bytes int
	stream       [2]int
	fields       []x16Field
}

func pad64(n int) int { return (n + 63) &^ 63 }

// X16Base is the offset of stream 1 in a tile row whose stream 0 holds per bytes for each of blocks blocks.
func X16Base(blocks, per int) int { return pad64(blocks * per) }

func (t *x16) base(s, blocks int) int {
	if s == 0 {
		return 0
	}
	return X16Base(blocks, t.stream[0])
}

func (t *x16) rowBytes(cols int) int {
	nb := cols / t.elems
	return pad64(nb*t.stream[0]) + pad64(nb*t.stream[1])
}

func (t *x16) pack(dst, src []byte, cols int) {
	nb := cols / t.elems
	clear(dst[nb*t.stream[0] : t.base(1, nb)])
	clear(dst[t.base(1, nb)+nb*t.stream[1] : t.rowBytes(cols)])
	for r := range Rows16 {
		row := src[r*nb*t.bytes : (r+1)*nb*t.bytes]
		t.move(row, dst, r, nb, true)
	}
}

func (t *x16) unpack(dst, src []byte, cols int) {
	nb := cols / t.elems
	for r := range Rows16 {
		t.move(dst[r*nb*t.bytes:(r+1)*nb*t.bytes], src, r, nb, false)
	}
}

func (t *x16) row(dst, src []byte, r, cols int) {
	nb := cols / t.elems
	t.move(dst[:nb*t.bytes], src, r, nb, false)
}

// move copies matrix row r between its source form and the tile row.
func (t *x16) move(row, tile []byte, r, nb int, pack bool) {
	for i := range t.fields {
		f := &t.fields[i]
		step := Rows16 * f.size
		if t.elems == 1 {
			t.moveFloats(row, tile[r*f.size:], f.size, nb, pack)
			continue
		}
		for b := range nb {
			s := row[b*t.bytes+f.src:][: f.n*f.size : f.n*f.size]
			d := tile[t.base(f.stream, nb)+b*t.stream[f.stream]+f.dst+r*f.size:]
			switch {
			case f.move != nil:
				f.move(s, d, pack)
			case f.size == 1:
				moveBytes(s, d, pack)
			case f.size == 2 && pack:
				for j := range f.n {
					binary.LittleEndian.PutUint16(d[j*step:], binary.LittleEndian.Uint16(s[j*2:]))
				}
			case f.size == 2:
				for j := range f.n {
					binary.LittleEndian.PutUint16(s[j*2:], binary.LittleEndian.Uint16(d[j*step:]))
				}
			case f.bits && pack:
				binary.LittleEndian.PutUint32(d, transposeBits(binary.LittleEndian.Uint32(s)))
			case f.bits:
				binary.LittleEndian.PutUint32(s, untransposeBits(binary.LittleEndian.Uint32(d)))
			case pack:
				x := uint32(f.xor) * 0x01010101
				for j := range f.n {
					binary.LittleEndian.PutUint32(d[j*step:], binary.LittleEndian.Uint32(s[j*4:])^x)
				}
			default:
				x := uint32(f.xor) * 0x01010101
				for j := range f.n {
					binary.LittleEndian.PutUint32(s[j*4:], binary.LittleEndian.Uint32(d[j*step:])^x)
				}
			}
		}
	}
}

// moveBytes copies bytes between a source field and every sixteenth place of the tile row.
func moveBytes(src, tile []byte, pack bool) {
	for j := range src {
		if pack {
			tile[j*Rows16] = src[j]
		} else {
			src[j] = tile[j*Rows16]
		}
	}
}

// moveFloats copies a row of single elements to or from every sixteenth place of the tile row.
func (t *x16) moveFloats(row, tile []byte, size, n int, pack bool) {
	step := Rows16 * size
	switch {
	case size == 2 && pack:
		for i := range n {
			binary.LittleEndian.PutUint16(tile[i*step:], binary.LittleEndian.Uint16(row[i*2:]))
		}
	case size == 2:
		for i := range n {
			binary.LittleEndian.PutUint16(row[i*2:], binary.LittleEndian.Uint16(tile[i*step:]))
		}
	case pack:
		for i := range n {
			binary.LittleEndian.PutUint32(tile[i*step:], binary.LittleEndian.Uint32(row[i*4:]))
		}
	default:
		for i := range n {
			binary.LittleEndian.PutUint32(row[i*4:], binary.LittleEndian.Uint32(tile[i*step:]))
		}
	}
}

// transposeBits moves bit 4j+i to bit 8i+j (see x16Field.bits): the product spreads four bits over four bytes.
func transposeBits(v uint32) uint32 {
	var o uint32
	for j := range 8 {
		o |= (v >> (4 * j) & 15) * 0x00204081 & 0x01010101 << j
	}
	return o
}

func untransposeBits(v uint32) uint32 {
	var o uint32
	for j := range 8 {
		o |= (v >> j & 0x01010101) * 0x01020408 >> 24 & 15 << (4 * j)
	}
	return o
}

func (t x16) layout(id ID, name string, typ Type) *Layout {
	return register(Layout{
		ID: id, Name: name, Type: typ, Rows: Rows16,
		RowBytes: t.rowBytes, Pack: t.pack, Unpack: t.unpack, Row: t.row,
	})
}
