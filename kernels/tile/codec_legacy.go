package tile

import "encoding/binary"

// Types with one half scale per 32 elements. Where 16 bytes hold 32 nibbles, byte j has element j low and element j+16 high; the fifth
// bits of Q5_0 and Q5_1 are one little-endian word, bit i for element i.
//
//	Q8_0  d | 32 × int8                code = q
//	Q4_0  d | 16 B                     code = q − 8
//	Q4_1  d | m | 16 B                 code = q, offset m
//	Q5_0  d | 4 B high bits | 16 B     code = q − 16
//	Q5_1  d | m | 4 B high bits | 16 B code = q, offset m
var legacyCodecs = []Codec{
	{Type: Q8_0, Name: "Q8_0", Elems: 32, Bytes: 34, Group: 32, Decode: decodeQ8_0},
	{Type: Q4_0, Name: "Q4_0", Elems: 32, Bytes: 18, Group: 32, Decode: decodeQ4_0},
	{Type: Q4_1, Name: "Q4_1", Elems: 32, Bytes: 20, Group: 32, OffGroup: 32, Decode: decodeQ4_1},
	{Type: Q5_0, Name: "Q5_0", Elems: 32, Bytes: 22, Group: 32, Decode: decodeQ5_0},
	{Type: Q5_1, Name: "Q5_1", Elems: 32, Bytes: 24, Group: 32, OffGroup: 32, Decode: decodeQ5_1},
}

func decodeQ8_0(b *Block, src []byte) {
	src = src[:34]
	b.Scale[0] = half(src)
	for i, q := range src[2:] {
		b.Code[i] = int8(q)
	}
}

func decodeQ4_0(b *Block, src []byte) {
	src = src[:18]
	b.Scale[0] = half(src)
	nibbles(b.Code[:32], src[2:], 8)
}

func decodeQ4_1(b *Block, src []byte) {
	src = src[:20]
	b.Scale[0], b.Off[0] = half(src), half(src[2:])
	nibbles(b.Code[:32], src[4:], 0)
}

func decodeQ5_0(b *Block, src []byte) {
	src = src[:22]
	b.Scale[0] = half(src)
	nibbles(b.Code[:32], src[6:], 0)
	fifthBits(b.Code[:32], binary.LittleEndian.Uint32(src[2:]), 16)
}

func decodeQ5_1(b *Block, src []byte) {
	src = src[:24]
	b.Scale[0], b.Off[0] = half(src), half(src[2:])
	nibbles(b.Code[:32], src[8:], 0)
	fifthBits(b.Code[:32], binary.LittleEndian.Uint32(src[4:]), 0)
}

// nibbles spreads len(dst)/2 bytes: low nibbles to the first half of dst, high ones to the second, each less bias.
func nibbles(dst []int8, src []byte, bias int8) {
	n := len(dst) / 2
	lo, hi := dst[:n], dst[n:2*n]
	for i, q := range src[:n] {
		lo[i] = int8(q&15) - bias
		hi[i] = int8(q>>4) - bias
	}
}

// fifthBits adds 16 where the element's bit is set, less bias.
func fifthBits(code []int8, high uint32, bias int8) {
	for i := range code {
		code[i] += int8(high>>i&1)<<4 - bias
	}
}
