package tile

import "encoding/binary"

// The types of one to four bits that the other files do not have. All but the scales of small blocks lie in stream 1.
const (
	// d[16], dmin[16] (halves), [4][16] dwords of a byte per 16 elements (scale and min nibbles), [16][16] dwords of 2-bit codes: bits 2s…
	// of dword 8h+g belong to elements 128h+32s+4g….
	Q2_Kx16Block  = 1344
	Q2_Kx16Min    = 32
	Q2_Kx16Scales = 64
	Q2_Kx16Quants = 320

	// Stream 0: d[16]. Stream 1: [3][16] dwords of 6-bit scales, [8][16] dwords of third bits (bit j of dword g: elements 32j+4g…), [16][16]
	// dwords of 2-bit codes as in Q2_K.
	Q3_Kx16D      = 32
	Q3_Kx16Block  = 1728
	Q3_Kx16High   = 192
	Q3_Kx16Quants = 704

	IQ4_NLx16Scales = 32 // d[16]
	IQ4_NLx16Codes  = 256

	// d[16], high bits of the scales [16] (halves), [16] dwords of their low nibbles, [8][4][16] dwords of nibbles: of dword g in a group of 32
	// the low nibbles are elements 4g…, the high ones 16+4g….
	IQ4_XSx16Block  = 2176
	IQ4_XSx16High   = 32
	IQ4_XSx16Scales = 64
	IQ4_XSx16Quants = 128

	// Stream 0: d[16]. Stream 1: [13][16] dwords of trits, in the source's order.
	TQ1_0x16Scales = 32
	TQ1_0x16Codes  = 832

	// Stream 0: d[16]. Stream 1: [16][16] dwords of 2-bit codes as in Q2_K.
	TQ2_0x16Scales = 32
	TQ2_0x16Codes  = 1024

	MXFP4x16Scales = 16 // exponents [16] bytes
	MXFP4x16Codes  = 256

	// Stream 0: [4][16] bytes of scales. Stream 1: [8][16] dwords of nibbles: of dword 2s+g the low ones are elements 16s+4g…, the high ones
	// 16s+8+4g….
	NVFP4x16Scales = 64
	NVFP4x16Codes  = 512

	// Stream 0: d[16]. Stream 1: [4][16] dwords. In group j of 32 elements, of the eight elements by four the first four are bit 2j+1 of
	// the four dwords, the others bit 2j: one mask takes half a group, of which no code needs a shift of its own.
	Q1_0x16Scales = 32
	Q1_0x16Codes  = 256

	// The same with two bits for one and two groups.
	Q2_0x16Scales = 32
	Q2_0x16Codes  = 256
)

var (
	Q2_Kx16 = x16{256, 84, [2]int{0, Q2_Kx16Block}, []x16Field{
		{src: 80, size: 2, n: 2, stream: 1},
		{src: 0, size: 4, n: 4, stream: 1, dst: Q2_Kx16Scales},
		{src: 16, size: 4, n: 16, stream: 1, dst: Q2_Kx16Quants},
	}}.layout(12, "q2_kx16", Q2_K)

	Q3_Kx16 = x16{256, 110, [2]int{Q3_Kx16D, Q3_Kx16Block}, []x16Field{
		{src: 108, size: 2, n: 1, stream: 0},
		{src: 96, size: 4, n: 3, stream: 1},
		{src: 0, size: 4, n: 8, stream: 1, dst: Q3_Kx16High},
		{src: 32, size: 4, n: 16, stream: 1, dst: Q3_Kx16Quants},
	}}.layout(13, "q3_kx16", Q3_K)

	IQ4_NLx16 = x16{32, 18, [2]int{IQ4_NLx16Scales, IQ4_NLx16Codes}, []x16Field{
		{src: 0, size: 2, n: 1, stream: 0},
		{src: 2, size: 4, n: 4, stream: 1},
	}}.layout(14, "iq4_nlx16", IQ4_NL)

	IQ4_XSx16 = x16{256, 136, [2]int{0, IQ4_XSx16Block}, []x16Field{
		{src: 0, size: 2, n: 2, stream: 1},
		{src: 4, size: 4, n: 1, stream: 1, dst: IQ4_XSx16Scales},
		{src: 8, size: 4, n: 32, stream: 1, dst: IQ4_XSx16Quants},
	}}.layout(15, "iq4_xsx16", IQ4_XS)

	TQ1_0x16 = x16{256, 54, [2]int{TQ1_0x16Scales, TQ1_0x16Codes}, []x16Field{
		{src: 52, size: 2, n: 1, stream: 0},
		{src: 0, size: 4, n: 13, stream: 1},
	}}.layout(16, "tq1_0x16", TQ1_0)

	TQ2_0x16 = x16{256, 66, [2]int{TQ2_0x16Scales, TQ2_0x16Codes}, []x16Field{
		{src: 64, size: 2, n: 1, stream: 0},
		{src: 0, size: 4, n: 16, stream: 1},
	}}.layout(17, "tq2_0x16", TQ2_0)

	MXFP4x16 = x16{32, 17, [2]int{MXFP4x16Scales, MXFP4x16Codes}, []x16Field{
		{src: 0, size: 1, n: 1, stream: 0},
		{src: 1, size: 4, n: 4, stream: 1},
	}}.layout(18, "mxfp4x16", MXFP4)

	NVFP4x16 = x16{64, 36, [2]int{NVFP4x16Scales, NVFP4x16Codes}, []x16Field{
		{src: 0, size: 1, n: 4, stream: 0},
		{src: 4, size: 4, n: 8, stream: 1},
	}}.layout(19, "nvfp4x16", NVFP4)

	Q1_0x16 = x16{128, 18, [2]int{Q1_0x16Scales, Q1_0x16Codes}, []x16Field{
		{src: 0, size: 2, n: 1, stream: 0},
		{src: 2, size: 4, n: 4, stream: 1, move: moveQ1_0},
	}}.layout(20, "q1_0x16", Q1_0)

	Q2_0x16 = x16{64, 18, [2]int{Q2_0x16Scales, Q2_0x16Codes}, []x16Field{
		{src: 0, size: 2, n: 1, stream: 0},
		{src: 2, size: 4, n: 4, stream: 1, move: moveQ2_0},
	}}.layout(21, "q2_0x16", Q2_0)
)

// moveQ1_0 moves element 32j+4t+i between bit 4t+i of source dword j and bit 2j + (1 − t/4) of byte i of tile dword t mod 4.
func moveQ1_0(src, tile []byte, pack bool) {
	var d [4]uint32
	if pack {
		for b, v := range src[:16] {
			for n := range 2 {
				t := b&3*2 + n
				d[t&3] |= uint32(v>>(4*n)&15) * 0x00204081 & 0x01010101 << (b>>2*2 + 1 - t>>2)
			}
		}
		storeDwords(tile, &d)
		return
	}
	loadDwords(tile, &d)
	for b := range 16 {
		src[b] = 0
		for n := range 2 {
			t := b&3*2 + n
			src[b] |= byte(d[t&3]>>(b>>2*2+1-t>>2)&0x01010101*0x01020408>>24&15) << (4 * n)
		}
	}
}

// moveQ2_0 moves element 32j+4t+i between bits 2i of source byte 8j+t and bits 4j + 2(1 − t/4) of byte i of tile dword t mod 4.
func moveQ2_0(src, tile []byte, pack bool) {
	var d [4]uint32
	if pack {
		for b, v := range src[:16] {
			w := uint32(v)
			w = w&3 | w&12<<6 | w&48<<12 | w&192<<18
			d[b&3] |= w << (b>>3*4 + 2 - b>>2&1*2)
		}
		storeDwords(tile, &d)
		return
	}
	loadDwords(tile, &d)
	for b := range 16 {
		w := d[b&3] >> (b>>3*4 + 2 - b>>2&1*2)
		src[b] = byte(w&3 | w>>6&12 | w>>12&48 | w>>18&192)
	}
}

func storeDwords(tile []byte, d *[4]uint32) {
	for i, v := range d {
		binary.LittleEndian.PutUint32(tile[i*64:], v)
	}
}

func loadDwords(tile []byte, d *[4]uint32) {
	for i := range d {
		d[i] = binary.LittleEndian.Uint32(tile[i*64:])
	}
}
