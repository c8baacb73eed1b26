package tile

import "math"

// Four-bit floats: nibbles are E2M1 numbers, held doubled as codes (0, ±1, ±2, ±3, ±4, ±6, ±8, ±12), so a scale here is half the
// format's. Nibble 8, minus zero, has code 0.
//
//	MXFP4  e | 16 B nibbles       scale 2^(e−128); e = 255, a NaN in the standard, is 2^127 as in ggml
//	NVFP4  4 × e4m3 | 4 × 8 B nibbles, 16 elements under one scale; the factor of the tensor is not in the block
//
// NVFP4 scales are unsigned with three fraction bits and bias 7; bit 7 is ignored, and 127 (a NaN in the standard) is 0 as in ggml,
// except that 255 counts as the ordinary number it would be.
var fp4Codecs = []Codec{
	{Type: MXFP4, Name: "MXFP4", Elems: 32, Bytes: 17, Group: 32, Decode: decodeMXFP4},
	{Type: NVFP4, Name: "NVFP4", Elems: 64, Bytes: 36, Group: 16, Decode: decodeNVFP4},
}

func decodeMXFP4(b *Block, src []byte) {
	src = src[:17]
	bits := uint32(0x00200000) << src[0] // 2⁻¹²⁸ and 2⁻¹²⁷ are subnormal
	if src[0] >= 2 {
		bits = uint32(src[0]-1) << 23
	}
	b.Scale[0] = math.Float32frombits(bits)
	levels(b.Code[:32], src[1:], &levelsFP4)
}

func decodeNVFP4(b *Block, src []byte) {
	src = src[:36]
	for g, s := range src[:4] {
		b.Scale[g] = halfE4M3(s)
		levels(b.Code[16*g:16*g+16], src[4+8*g:], &levelsFP4)
	}
}

// halfE4M3 is half the number s stands for.
func halfE4M3(s byte) float32 {
	if s == 0x7f {
		return 0
	}
	if s&0x78 == 0 {
		return float32(s&7) * 0x1p-10
	}
	return math.Float32frombits(uint32(s&0x7f)<<20 + (127-7-1)<<23)
}
