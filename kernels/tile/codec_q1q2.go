package tile

// Types with very few bits, elements in order from the lowest bits of each byte, under one half scale at the start.
//
//	Q1_0  d | 16 B, 128 elements of one bit    code −1 or 1
//	Q2_0  d | 16 B, 64 elements of two bits    code = q − 1: −1, 0, 1, 2
var q1q2Codecs = []Codec{
	{Type: Q1_0, Name: "Q1_0", Elems: 128, Bytes: 18, Group: 32, Decode: decodeQ1_0},
	{Type: Q2_0, Name: "Q2_0", Elems: 64, Bytes: 18, Group: 32, Decode: decodeQ2_0},
}

func decodeQ1_0(b *Block, src []byte) {
	src = src[:18]
	sameScale(b, half(src), 4)
	for i := range 128 {
		b.Code[i] = int8(src[2+i>>3]>>(i&7)&1)*2 - 1
	}
}

func decodeQ2_0(b *Block, src []byte) {
	src = src[:18]
	sameScale(b, half(src), 2)
	for i := range 64 {
		b.Code[i] = int8(src[2+i>>2]>>(i&3*2)&3) - 1
	}
}
