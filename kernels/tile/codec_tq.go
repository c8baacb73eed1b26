package tile

// Ternary types: 256 elements under one half scale at the end.
//
//	TQ1_0  48 B of five trits | 4 B of four | d   code −1…1
//	TQ2_0  64 B of 2-bit codes | d                code = q − 1
//
// A byte of TQ1_0 is a fraction of 256 in base 3: its first trit is the integer part of 3·byte/256, the next that of the byte
// times 3 modulo 256, and so on. Trit n of the bytes 0…31 are the elements 32n…, of bytes 32…47 160+16n…, of the last four 240+4n….
var tqCodecs = []Codec{
	{Type: TQ1_0, Name: "TQ1_0", Elems: 256, Bytes: 54, Group: 32, Decode: decodeTQ1_0},
	{Type: TQ2_0, Name: "TQ2_0", Elems: 256, Bytes: 66, Group: 32, Decode: decodeTQ2_0},
}

func decodeTQ1_0(b *Block, src []byte) {
	src = src[:54]
	sameScale(b, half(src[52:]), 8)
	trits(b.Code[:160], src[:32])
	trits(b.Code[160:240], src[32:48])
	trits(b.Code[240:], src[48:52])
}

func trits(dst []int8, src []byte) {
	n := len(src)
	for i, q := range src {
		for j := i; j < len(dst); j += n {
			dst[j] = int8(uint(q)*3>>8) - 1
			q *= 3
		}
	}
}

func decodeTQ2_0(b *Block, src []byte) {
	src = src[:66]
	sameScale(b, half(src[64:]), 8)
	crumbs(&b.Code, src[:64], 1)
}

// sameScale sets the first n scales of a block that has but one.
func sameScale(b *Block, d float32, n int) {
	for i := range b.Scale[:n] {
		b.Scale[i] = d
	}
}
