package tile

// The types with 32 elements in a block. Stream 0 holds the scales, stream 1 the codes.
//
// In the 4- and 5-bit types byte j of a block holds element j in its low and element j+16 in its high nibble, so code item g
// (four bytes) is elements 4g…4g+3 and 16+4g…16+4g+3.
const (
	Q8_0x16Scales = 32  // bytes a block in stream 0: d[16]
	Q8_0x16Codes  = 512 // bytes a block in stream 1: [8][16] dwords, every byte + 128 (unsigned, as VPDPBUSD wants it)

	Q4_0x16Scales = 32  // d[16]
	Q4_0x16Codes  = 256 // [4][16] dwords

	Q4_1x16Scales = 64 // d[16], m[16]
	Q4_1x16Min    = 32 // offset of m
	Q4_1x16Codes  = 256

	Q5_0x16Scales = 32 // d[16]
	Q5_0x16Codes  = 320
	Q5_0x16Quants = 64 // offset of [4][16] dwords of low bits; before it [16] dwords of fifth bits, byte i bit j: element 4j+i

	Q5_1x16Scales = 64 // d[16], m[16]
	Q5_1x16Min    = 32
	Q5_1x16Codes  = 320 // as Q5_0
	Q5_1x16Quants = 64
)

var (
	Q8_0x16 = x16{32, 34, [2]int{Q8_0x16Scales, Q8_0x16Codes}, []x16Field{
		{src: 0, size: 2, n: 1, stream: 0},
		{src: 2, size: 4, n: 8, stream: 1, xor: 0x80},
	}}.layout(1, "q8_0x16", 8)

	Q4_0x16 = x16{32, 18, [2]int{Q4_0x16Scales, Q4_0x16Codes}, []x16Field{
		{src: 0, size: 2, n: 1, stream: 0},
		{src: 2, size: 4, n: 4, stream: 1},
	}}.layout(2, "q4_0x16", 2)

	Q4_1x16 = x16{32, 20, [2]int{Q4_1x16Scales, Q4_1x16Codes}, []x16Field{
		{src: 0, size: 2, n: 2, stream: 0},
		{src: 4, size: 4, n: 4, stream: 1},
	}}.layout(3, "q4_1x16", 3)

	Q5_0x16 = x16{32, 22, [2]int{Q5_0x16Scales, Q5_0x16Codes}, []x16Field{
		{src: 0, size: 2, n: 1, stream: 0},
		{src: 2, size: 4, n: 1, stream: 1, bits: true},
		{src: 6, size: 4, n: 4, stream: 1, dst: Q5_0x16Quants},
	}}.layout(4, "q5_0x16", 6)

	Q5_1x16 = x16{32, 24, [2]int{Q5_1x16Scales, Q5_1x16Codes}, []x16Field{
		{src: 0, size: 2, n: 2, stream: 0},
		{src: 4, size: 4, n: 1, stream: 1, bits: true},
		{src: 8, size: 4, n: 4, stream: 1, dst: Q5_1x16Quants},
	}}.layout(5, "q5_1x16", 7)
)
