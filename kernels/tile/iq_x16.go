package tile

import (
	"encoding/binary"
	"sync"
)

// The types of code books. The index of a book of 256 points can stay: AVX-512 looks it up in registers. Any can be resolved: the layout then holds
// the level numbers of the elements, and Unpack finds the index again, for the points of a book are distinct. That takes more bytes, but a lookup
// among more points, or any without VPERMB, takes longer than reading them.
//
// In all of them a block is d[16] (halves) in stream 0, and in stream 1 items of [16] dwords. Below j is a sub-block of 32 columns, l one of its
// four groups of eight, t one of its eight groups of four, h one of two halves; byte c of a dword is at bits 8c…8c+7. Scales s are nibbles.
//
//	levels   two items of 2-bit level numbers: item l/2, byte c, bits IQField(t)…: level of element 4t+c
//	signs    byte c, bit IQSign(t): sign of element 4t+c, all eight of a group of eight
//	index    of eight: byte l; its sign byte l has the sign of element 8l+4h+i at bit IQ2Place(h, i)
//	         of four: two items, item h, byte c: index of elements 16h+4c…; sign of element 16h+4c+i: byte c, bit IQ3Place(h, i)
const (
	IQ1_Sx16Block = 1088 // s of j and, at bit 3, whether the shift is up; 8 × levels
	IQ1_SHead     = 64

	IQ1_Mx16Block = 1216 // [2] s of sixteen columns; nibbles of j, bit l: the shift is up; 8 × levels
	IQ1_MUp       = 128
	IQ1_MHead     = 192

	IQ2_XXSx16Block = 1088 // s of j; 8 × (index, signs)
	IQ2IHead        = 64
	IQ2ISub         = 128

	IQ2_XXSLx16Block = 1600 // s of j; 8 × (levels, signs)
	IQ2_XXSLHead     = 64
	IQ2Lx16Block     = 1664 // [2] s of sixteen columns; 8 × (levels, signs)
	IQ2LHead         = 128
	IQ2LSub          = 192

	IQ3_XXSx16Block = 1600 // s of j; 8 × (index, signs)
	IQ3IHead        = 64
	IQ3ISub         = 192

	IQ3Nx16Block = 2112 // s of j; 8 × [4] nibbles: item i: vectors t = i low, i + 4 high
	IQ3NHead     = 64
	IQ3NSub      = 256

	IQx16D = 32 // bytes of stream 0
)

// IQField is the bit at which the level of group of four t lies in the bytes of its item of levels. The order lets a kernel put a sign beside a
// level with few shifts.
func IQField(t int) int { return [4]int{4, 0, 6, 2}[t&3] }

// IQSign is the bit of the sign bytes that holds the signs of group of four t.
func IQSign(t int) int { return t>>1 | t&1<<2 }

// IQ2Place and IQ3Place are the bits of signs beside an index, see above.
func IQ2Place(h, i int) int { return [4]int{4, 5, 0, 1}[i] + 2*h }

// IQ3Place: see IQ2Place.
func IQ3Place(h, i int) int { return [4]int{4, 0, 5, 1}[i] + 2*h }

// Book is a code book: per point the level numbers of its elements, least significant first, Bits each.
type Book struct {
	Points []uint16
	Bits   int
	Levels []int8

	once  sync.Once
	index []uint16 // point to index
}

// The books, by type.
var (
	BookIQ1    = newBook(bookIQ1, 2, 8, levelsIQ1)
	BookIQ2XXS = newBook(bookIQ2XXS, 2, 8, levelsIQ2)
	BookIQ2XS  = newBook(bookIQ2XS, 2, 8, levelsIQ2)
	BookIQ2S   = newBook(bookIQ2S, 2, 8, levelsIQ2)
	BookIQ3XXS = newBook(bookIQ3XXS, 3, 4, levelsIQ3XXS)
	BookIQ3S   = newBook(bookIQ3S, 3, 4, levelsIQ3S)
)

func newBook(text string, bits, n int, levels []int8) *Book {
	numbers := points(text, uint(bits), []int8{0, 1, 2, 3, 4, 5, 6, 7}[:1<<bits], 1)
	b := &Book{Bits: bits, Levels: levels, Points: make([]uint16, len(numbers)/n)}
	for i, v := range numbers {
		b.Points[i/n] |= uint16(v) << (i % n * bits)
	}
	return b
}

// find gives the index of a point; 0 for what is none.
func (b *Book) find(p uint16) uint16 {
	b.once.Do(func() {
		b.index = make([]uint16, 1<<16)
		for i, p := range b.Points {
			b.index[p] = uint16(i)
		}
	})
	return b.index[p]
}

// crossSigns moves bit 8l+4h+c to bit 8c+4h+l, and back.
func crossSigns(x uint32) uint32 {
	t := (x ^ x>>7) & 0x00aa00aa
	x ^= t ^ t<<7
	t = (x ^ x>>14) & 0x0000cccc
	return x ^ t ^ t<<14
}

// spread moves four 2-bit numbers to the low bits of four bytes, gather brings them back.
func spread(x uint32) uint32 { return (x&255 | x&255<<6 | x&255<<12 | x&255<<18) & 0x03030303 }

func gather(x uint32) uint32 {
	x &= 0x03030303
	return (x | x>>6 | x>>12 | x>>18) & 255
}

// spreadFours moves four 3-bit numbers to the low bits of four bytes, gatherFours brings them back; spreadBits and gatherBits do so with four bits.
func spreadFours(x uint32) uint32 { return x&7 | x<<5&(7<<8) | x<<10&(7<<16) | x<<15&(7<<24) }

func gatherFours(x uint32) uint32 { return x&7 | x>>5&(7<<3) | x>>10&(7<<6) | x>>15&(7<<9) }

func spreadBits(x uint32) uint32 { return x & 15 * 0x00204081 & 0x01010101 }
func gatherBits(x uint32) uint32 { return x & 0x01010101 * 0x01020408 >> 24 & 15 }

// iqBlock describes a layout by how it moves one block of one row.
type iqBlock struct {
	bytes, s0, s1 int
	pack, unpack  func(src, d0 []byte, d1 items)
	wants         string
}

// items is stream 1 of a block from the place of a row on.
type items []byte

func (d items) get(i int) uint32     { return binary.LittleEndian.Uint32(d[64*i:]) }
func (d items) put(i int, v uint32)  { binary.LittleEndian.PutUint32(d[64*i:], v) }
func (d items) or(i int, v uint32)   { d.put(i, d.get(i)|v) }
func (d items) from(bytes int) items { return d[bytes:] }

// putLevels and levels move the level numbers of group l, which are a point of a book of eights.
func (d items) putLevels(l int, p uint16) {
	if l&1 == 0 {
		d.put(l>>1, 0)
	}
	d.or(l>>1, spread(uint32(p))<<IQField(2*l)|spread(uint32(p)>>8)<<IQField(2*l+1))
}

func (d items) levels(l int) uint16 {
	v := d.get(l >> 1)
	return uint16(gather(v>>IQField(2*l)) | gather(v>>IQField(2*l+1))<<8)
}

func (t *iqBlock) rowBytes(cols int) int {
	return pad64(cols/256*t.s0) + pad64(cols/256*t.s1)
}

func (t *iqBlock) rows(dst, src []byte, cols int) {
	nb := cols / 256
	clear(dst[nb*t.s0 : X16Base(nb, t.s0)])
	for r := range Rows16 {
		t.move(src[r*nb*t.bytes:], dst, r, nb, t.pack)
	}
}

func (t *iqBlock) unrows(dst, src []byte, cols int) {
	for r := range Rows16 {
		t.row(dst[r*(cols/256)*t.bytes:], src, r, cols)
	}
}

func (t *iqBlock) row(dst, src []byte, r, cols int) { t.move(dst, src, r, cols/256, t.unpack) }

func (t *iqBlock) move(row, tile []byte, r, nb int, f func(src, d0 []byte, d1 items)) {
	base := X16Base(nb, t.s0)
	for b := range nb {
		f(row[b*t.bytes:(b+1)*t.bytes:(b+1)*t.bytes], tile[b*t.s0+2*r:(b+1)*t.s0], tile[base+b*t.s1+4*r:base+(b+1)*t.s1])
	}
}

func (t iqBlock) layout(id ID, name string, typ Type) *Layout {
	return register(Layout{
		ID: id, Name: name, Type: typ, Rows: Rows16, Wants: t.wants,
		RowBytes: t.rowBytes, Pack: t.rows, Unpack: t.unrows, Row: t.row,
	})
}

var le = binary.LittleEndian

// allSigns completes the 4 × 7 signs of IQ2_XXS and IQ3_XXS, and someSigns takes the eighth ones away.
func allSigns(w uint32) (signs uint32) {
	for l := range 4 {
		signs |= uint32(evenSigns(w>>(7*l))) << (8 * l)
	}
	return signs
}

func someSigns(x uint32) uint32 { return x&127 | x>>1&(127<<7) | x>>2&(127<<14) | x>>3&(127<<21) }

// signOrder moves signs to their places and back, a byte at a time.
type signOrder struct{ to, from [4][256]uint32 }

func newSignOrder(place func(e int) int) *signOrder {
	o := new(signOrder)
	for e := range 32 {
		p := place(e)
		for x := range 256 {
			o.to[e>>3][x] |= uint32(x) >> (e & 7) & 1 << p
			o.from[p>>3][x] |= uint32(x) >> (p & 7) & 1 << e
		}
	}
	return o
}

func moveBits(t *[4][256]uint32, x uint32) uint32 {
	return t[0][x&255] | t[1][x>>8&255] | t[2][x>>16&255] | t[3][x>>24]
}

func (o *signOrder) put(x uint32) uint32  { return moveBits(&o.to, x) }
func (o *signOrder) take(v uint32) uint32 { return moveBits(&o.from, v) }

var (
	signs2 = newSignOrder(func(e int) int { return e&^7 + IQ2Place(e>>2&1, e&3) })
	signs3 = newSignOrder(func(e int) int { return e>>2&3*8 + IQ3Place(e>>4, e&3) })
)

var (
	IQ1_Sx16 = iqBlock{50, IQx16D, IQ1_Sx16Block, packIQ1_S, unpackIQ1_S, ""}.layout(32, "iq1_sx16", IQ1_S)
	IQ1_Mx16 = iqBlock{56, IQx16D, IQ1_Mx16Block, packIQ1_M, unpackIQ1_M, ""}.layout(33, "iq1_mx16", IQ1_M)

	IQ2_XXSx16 = iqBlock{66, IQx16D, IQ2_XXSx16Block, packIQ2_XXS, unpackIQ2_XXS, "avx512vnni"}.layout(34, "iq2_xxsx16", IQ2_XXS)
	IQ2_XSx16  = iqBlock{74, IQx16D, IQ2Lx16Block, packIQ2_XS, unpackIQ2_XS, ""}.layout(35, "iq2_xsx16", IQ2_XS)
	IQ2_Sx16   = iqBlock{82, IQx16D, IQ2Lx16Block, packIQ2_S, unpackIQ2_S, ""}.layout(36, "iq2_sx16", IQ2_S)
	IQ3_XXSx16 = iqBlock{98, IQx16D, IQ3_XXSx16Block, packIQ3_XXS, unpackIQ3_XXS, "avx512vnni"}.layout(37, "iq3_xxsx16", IQ3_XXS)
	IQ3_Sx16   = iqBlock{110, IQx16D, IQ3Nx16Block, packIQ3_S, unpackIQ3_S, ""}.layout(38, "iq3_sx16", IQ3_S)

	// The resolved forms of what the sets with VPERMB take by index.
	IQ2_XXSLx16 = iqBlock{66, IQx16D, IQ2_XXSLx16Block, packIQ2_XXSL, unpackIQ2_XXSL, ""}.layout(39, "iq2_xxslx16", IQ2_XXS)
	IQ3_XXSLx16 = iqBlock{98, IQx16D, IQ3Nx16Block, packIQ3_XXSL, unpackIQ3_XXSL, ""}.layout(40, "iq3_xxslx16", IQ3_XXS)
)

func packIQ1_S(src, d0 []byte, d1 items) {
	copy(d0[:2], src)
	head := uint32(0)
	for j := range 8 {
		h := le.Uint16(src[34+2*j:])
		head |= uint32(h>>12^8) << (4 * j)
		d := d1.from(IQ1_SHead + 128*j)
		for l := range 4 {
			d.putLevels(l, BookIQ1.Points[int(src[2+4*j+l])|int(h>>(3*l)&7)<<8])
		}
	}
	d1.put(0, head)
}

func unpackIQ1_S(src, d0 []byte, d1 items) {
	copy(src, d0[:2])
	head := d1.get(0)
	for j := range 8 {
		h := uint16(head>>(4*j)&15^8) << 12
		d := d1.from(IQ1_SHead + 128*j)
		for l := range 4 {
			i := BookIQ1.find(d.levels(l))
			src[2+4*j+l] = byte(i)
			h |= i >> 8 & 7 << (3 * l)
		}
		le.PutUint16(src[34+2*j:], h)
	}
}

func packIQ1_M(src, d0 []byte, d1 items) {
	var head [2]uint32
	var d uint16
	up := uint32(0)
	for g := range 16 {
		w := le.Uint16(src[48+g>>2*2:])
		d |= w >> 12 << (4 * (g >> 2))
		hi := src[32+g]
		head[g>>3] |= uint32(w>>(g&3*3)&7) << (4 * (g & 7))
		up |= uint32(hi>>3&1|hi>>6&2^3) << (2 * g)
		to := d1.from(IQ1_MHead + g>>1*128)
		to.putLevels(g&1*2, BookIQ1.Points[int(src[2*g])|int(hi&7)<<8])
		to.putLevels(g&1*2+1, BookIQ1.Points[int(src[2*g+1])|int(hi>>4&7)<<8])
	}
	le.PutUint16(d0, d)
	d1.put(0, head[0])
	d1.put(1, head[1])
	d1.put(2, up)
}

func unpackIQ1_M(src, d0 []byte, d1 items) {
	d, up := le.Uint16(d0), d1.get(2)
	var w [4]uint16
	for g := range 16 {
		from := d1.from(IQ1_MHead + g>>1*128)
		a, b := BookIQ1.find(from.levels(g&1*2)), BookIQ1.find(from.levels(g&1*2+1))
		down := byte(up>>(2*g)&3 ^ 3)
		src[2*g], src[2*g+1] = byte(a), byte(b)
		src[32+g] = byte(a>>8&7) | down&1<<3 | byte(b>>8&7)<<4 | down>>1<<7
		w[g>>2] |= uint16(d1.get(g>>3)>>(4*(g&7))&7) << (g & 3 * 3)
	}
	for i := range w {
		le.PutUint16(src[48+2*i:], w[i]|d>>(4*i)&15<<12)
	}
}

func packIQ2_XXS(src, d0 []byte, d1 items) {
	copy(d0[:2], src)
	head := uint32(0)
	for j := range 8 {
		d, w := d1.from(IQ2IHead+IQ2ISub*j), le.Uint32(src[6+8*j:])
		head |= w >> 28 << (4 * j)
		d.put(0, le.Uint32(src[2+8*j:]))
		d.put(1, signs2.put(allSigns(w)))
	}
	d1.put(0, head)
}

func unpackIQ2_XXS(src, d0 []byte, d1 items) {
	copy(src, d0[:2])
	head := d1.get(0)
	for j := range 8 {
		d := d1.from(IQ2IHead + IQ2ISub*j)
		le.PutUint32(src[2+8*j:], d.get(0))
		le.PutUint32(src[6+8*j:], someSigns(signs2.take(d.get(1)))|head>>(4*j)<<28)
	}
}

func packIQ2_S(src, d0 []byte, d1 items) {
	copy(d0[:2], src)
	d1.put(0, le.Uint32(src[74:]))
	d1.put(1, le.Uint32(src[78:]))
	for j := range 8 {
		d := d1.from(IQ2LHead + IQ2LSub*j)
		for l := range 4 {
			d.putLevels(l, BookIQ2S.Points[int(src[2+4*j+l])|int(src[66+j]>>(2*l)&3)<<8])
		}
		d.put(2, crossSigns(le.Uint32(src[34+4*j:])))
	}
}

func unpackIQ2_S(src, d0 []byte, d1 items) {
	copy(src, d0[:2])
	le.PutUint32(src[74:], d1.get(0))
	le.PutUint32(src[78:], d1.get(1))
	for j := range 8 {
		d := d1.from(IQ2LHead + IQ2LSub*j)
		high := byte(0)
		for l := range 4 {
			i := BookIQ2S.find(d.levels(l))
			src[2+4*j+l] = byte(i)
			high |= byte(i>>8&3) << (2 * l)
		}
		src[66+j] = high
		le.PutUint32(src[34+4*j:], crossSigns(d.get(2)))
	}
}

func packIQ3_XXS(src, d0 []byte, d1 items) {
	copy(d0[:2], src)
	head := uint32(0)
	for j := range 8 {
		d, w := d1.from(IQ3IHead+IQ3ISub*j), le.Uint32(src[66+4*j:])
		head |= w >> 28 << (4 * j)
		d.put(0, le.Uint32(src[2+8*j:]))
		d.put(1, le.Uint32(src[6+8*j:]))
		d.put(2, signs3.put(allSigns(w)))
	}
	d1.put(0, head)
}

func unpackIQ3_XXS(src, d0 []byte, d1 items) {
	copy(src, d0[:2])
	head := d1.get(0)
	for j := range 8 {
		d := d1.from(IQ3IHead + IQ3ISub*j)
		le.PutUint32(src[2+8*j:], d.get(0))
		le.PutUint32(src[6+8*j:], d.get(1))
		le.PutUint32(src[66+4*j:], someSigns(signs3.take(d.get(2)))|head>>(4*j)<<28)
	}
}

func packIQ2_XXSL(src, d0 []byte, d1 items) {
	copy(d0[:2], src)
	head := uint32(0)
	for j := range 8 {
		d := d1.from(IQ2_XXSLHead + IQ2LSub*j)
		w := le.Uint32(src[6+8*j:])
		head |= w >> 28 << (4 * j)
		for l := range 4 {
			d.putLevels(l, BookIQ2XXS.Points[src[2+8*j+l]])
		}
		d.put(2, crossSigns(allSigns(w)))
	}
	d1.put(0, head)
}

func unpackIQ2_XXSL(src, d0 []byte, d1 items) {
	copy(src, d0[:2])
	head := d1.get(0)
	for j := range 8 {
		d := d1.from(IQ2_XXSLHead + IQ2LSub*j)
		for l := range 4 {
			src[2+8*j+l] = byte(BookIQ2XXS.find(d.levels(l)))
		}
		le.PutUint32(src[6+8*j:], someSigns(crossSigns(d.get(2)))|head>>(4*j)<<28)
	}
}

func packIQ2_XS(src, d0 []byte, d1 items) {
	copy(d0[:2], src)
	d1.put(0, le.Uint32(src[66:]))
	d1.put(1, le.Uint32(src[70:]))
	for j := range 8 {
		d := d1.from(IQ2LHead + IQ2LSub*j)
		signs := uint32(0)
		for l := range 4 {
			w := le.Uint16(src[2+8*j+2*l:])
			d.putLevels(l, BookIQ2XS.Points[w&511])
			signs |= uint32(evenSigns(uint32(w>>9))) << (8 * l)
		}
		d.put(2, crossSigns(signs))
	}
}

func unpackIQ2_XS(src, d0 []byte, d1 items) {
	copy(src, d0[:2])
	le.PutUint32(src[66:], d1.get(0))
	le.PutUint32(src[70:], d1.get(1))
	for j := range 8 {
		d := d1.from(IQ2LHead + IQ2LSub*j)
		signs := crossSigns(d.get(2))
		for l := range 4 {
			le.PutUint16(src[2+8*j+2*l:], BookIQ2XS.find(d.levels(l))|uint16(signs>>(8*l)&127)<<9)
		}
	}
}

// putFours and fours move the nibbles of group of four t: three bits of level and one of sign.
func (d items) putFours(t int, v uint32) {
	if t < 4 {
		d.put(t, v)
	} else {
		d.or(t-4, v<<4)
	}
}

func packIQ3_XXSL(src, d0 []byte, d1 items) {
	copy(d0[:2], src)
	head := uint32(0)
	for j := range 8 {
		d := d1.from(IQ3NHead + IQ3NSub*j)
		w := le.Uint32(src[66+4*j:])
		signs := allSigns(w)
		head |= w >> 28 << (4 * j)
		for t := range 8 {
			v := spreadFours(uint32(BookIQ3XXS.Points[src[2+8*j+t]])) | spreadBits(signs>>(4*t))<<3
			d.putFours(t, v)
		}
	}
	d1.put(0, head)
}

func unpackIQ3_XXSL(src, d0 []byte, d1 items) {
	copy(src, d0[:2])
	head := d1.get(0)
	for j := range 8 {
		d := d1.from(IQ3NHead + IQ3NSub*j)
		signs := uint32(0)
		for t := range 8 {
			v := d.get(t&3) >> (t >> 2 * 4)
			signs |= gatherBits(v>>3) << (4 * t)
			src[2+8*j+t] = byte(BookIQ3XXS.find(uint16(gatherFours(v))))
		}
		le.PutUint32(src[66+4*j:], someSigns(signs)|head>>(4*j)<<28)
	}
}

func packIQ3_S(src, d0 []byte, d1 items) {
	copy(d0[:2], src)
	d1.put(0, le.Uint32(src[106:]))
	for j := range 8 {
		d := d1.from(IQ3NHead + IQ3NSub*j)
		high, signs := src[66+j], le.Uint32(src[74+4*j:])
		for t := range 8 {
			p := BookIQ3S.Points[int(src[2+8*j+t])|int(high>>t&1)<<8]
			// 8 + level, or 7 − level, which is all four bits the other way
			v := spreadFours(uint32(p)) + 0x08080808 ^ spreadBits(signs>>(4*t))*15
			d.putFours(t, v)
		}
	}
}

func unpackIQ3_S(src, d0 []byte, d1 items) {
	copy(src, d0[:2])
	le.PutUint32(src[106:], d1.get(0))
	for j := range 8 {
		d := d1.from(IQ3NHead + IQ3NSub*j)
		high, signs := byte(0), uint32(0)
		for t := range 8 {
			v := d.get(t&3) >> (t >> 2 * 4)
			neg := ^v >> 3 & 0x01010101
			signs |= gatherBits(neg) << (4 * t)
			i := BookIQ3S.find(uint16(gatherFours(v ^ neg*15)))
			src[2+8*j+t] = byte(i)
			high |= byte(i>>8&1) << t
		}
		src[66+j] = high
		le.PutUint32(src[74+4*j:], signs)
	}
}
