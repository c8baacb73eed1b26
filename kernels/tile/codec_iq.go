package tile

import (
	"encoding/binary"
	"math/bits"
)

// Types whose elements are points of a code book (codebook_iq.go) or levels of a table. IQ1, IQ2 and IQ3 take eight elements at a time: an
// index into the book, signs, and a small scale per group.
//
//	IQ1_S    d | 32 B index | 8 × u16: 4 × 3 high index bits, 3-bit s, shift sign             scale d·(2s+1)/8 per 32
//	IQ1_M    32 B index | 16 B (3 high index bits, shift sign) nibbles | 4 × u16: 4 × 3-bit s, d  scale d·(2s+1)/8 per 16
//	IQ2_XXS  d | 8 × (4 B index, u32: 4 × 7-bit signs, 4-bit s)                               scale d·(s+½)/4 per 32
//	IQ2_XS   d | 32 × u16: 9-bit index, 7-bit signs | 8 B s nibbles                            scale d·(s+½)/4 per 16
//	IQ2_S    d | 32 B index | 32 B signs | 8 B high index bits | 8 B s nibbles                 scale d·(s+½)/4 per 16
//	IQ3_XXS  d | 64 B index | 8 × u32: 4 × 7-bit signs, 4-bit s                                scale d·(s+½)/2 per 32
//	IQ3_S    d | 64 B index | 8 B high index bits | 32 B signs | 4 B s nibbles                 scale d·(2s+1) per 32
//	IQ4_NL   d | 16 B nibbles                                                                  scale d
//	IQ4_XS   d | u16 high, 4 B low bits of s | 128 B nibbles                                   scale d·(s−32) per 32
//
// Every scale is exact in float32. IQ1's element is d·(2s+1)·(level ± 1/8); we take (8·level ± 1) as the code and an eighth of the scale,
// which is the same number and needs no offset.
var iqCodecs = []Codec{
	{Type: IQ1_S, Name: "IQ1_S", Elems: 256, Bytes: 50, Group: 32, Decode: decodeIQ1_S},
	{Type: IQ1_M, Name: "IQ1_M", Elems: 256, Bytes: 56, Group: 16, Decode: decodeIQ1_M},
	{Type: IQ2_XXS, Name: "IQ2_XXS", Elems: 256, Bytes: 66, Group: 32, Decode: decodeIQ2_XXS},
	{Type: IQ2_XS, Name: "IQ2_XS", Elems: 256, Bytes: 74, Group: 16, Decode: decodeIQ2_XS},
	{Type: IQ2_S, Name: "IQ2_S", Elems: 256, Bytes: 82, Group: 16, Decode: decodeIQ2_S},
	{Type: IQ3_XXS, Name: "IQ3_XXS", Elems: 256, Bytes: 98, Group: 32, Decode: decodeIQ3_XXS},
	{Type: IQ3_S, Name: "IQ3_S", Elems: 256, Bytes: 110, Group: 32, Decode: decodeIQ3_S},
	{Type: IQ4_NL, Name: "IQ4_NL", Elems: 32, Bytes: 18, Group: 32, Decode: decodeIQ4_NL},
	{Type: IQ4_XS, Name: "IQ4_XS", Elems: 256, Bytes: 136, Group: 32, Decode: decodeIQ4_XS},
}

// shifted writes point i of IQ1's book, plus 1, or minus 1 when down is not 0.
func shifted(dst []int8, i int, down byte) {
	s := int8(1)
	if down != 0 {
		s = -1
	}
	p := pointsIQ1[8*i : 8*i+8]
	for j, v := range p {
		dst[j] = v + s
	}
}

// signed writes eight elements of a book of eights from at on, negated where the bit of signs is set.
func signed(dst, book []int8, at int, signs byte) {
	d, p := (*[8]int8)(dst), (*[8]int8)(book[at:])
	for j, v := range p {
		n := -int8(signs >> (j & 7) & 1)
		d[j] = v ^ n - n
	}
}

// signedPair does the same with two points of a book of fours, at i and at k.
func signedPair(dst, book []int8, i, k int, signs byte) {
	d, p, q := (*[8]int8)(dst), (*[4]int8)(book[i:]), (*[4]int8)(book[k:])
	for j := range 4 {
		n, m := -int8(signs>>j&1), -int8(signs>>(j+4)&1)
		d[j], d[j+4] = p[j]^n-n, q[j]^m-m
	}
}

// evenSigns completes seven sign bits to eight with an even number of ones.
func evenSigns(seven uint32) byte {
	s := byte(seven & 127)
	return s | byte(bits.OnesCount8(s)&1)<<7
}

func decodeIQ1_S(b *Block, src []byte) {
	src = src[:50]
	d := half(src)
	for g := range 8 {
		h := binary.LittleEndian.Uint16(src[34+2*g:])
		b.Scale[g] = d * float32(2*(h>>12&7)+1) * 0.125
		for l := range 4 {
			i := 4*g + l
			shifted(b.Code[8*i:], int(src[2+i])|int(h>>(3*l)&7)<<8, byte(h>>15))
		}
	}
}

func decodeIQ1_M(b *Block, src []byte) {
	src = src[:56]
	var s [4]uint16
	var dbits uint16
	for i := range s {
		s[i] = binary.LittleEndian.Uint16(src[48+2*i:])
		dbits |= s[i] >> 12 << (4 * i)
	}
	d := F16ToF32(dbits)
	for g := range 16 {
		b.Scale[g] = d * float32(2*(s[g>>2]>>(g&3*3)&7)+1) * 0.125
	}
	for i := range 32 {
		h := src[32+i>>1] >> (i & 1 * 4)
		shifted(b.Code[8*i:], int(src[i])|int(h&7)<<8, h&8)
	}
}

func decodeIQ2_XXS(b *Block, src []byte) {
	src = src[:66]
	d := half(src)
	for g := range 8 {
		p := src[2+8*g : 10+8*g]
		w := binary.LittleEndian.Uint32(p[4:])
		b.Scale[g] = d * (float32(w>>28) + 0.5) * 0.25
		for l := range 4 {
			signed(b.Code[32*g+8*l:], pointsIQ2XXS, 8*int(p[l]), evenSigns(w>>(7*l)))
		}
	}
}

func decodeIQ2_XS(b *Block, src []byte) {
	src = src[:74]
	halvedScales(b, half(src), src[66:74])
	for l := range 32 {
		w := binary.LittleEndian.Uint16(src[2+2*l:])
		signed(b.Code[8*l:], pointsIQ2XS, 8*int(w&511), evenSigns(uint32(w>>9)))
	}
}

func decodeIQ2_S(b *Block, src []byte) {
	src = src[:82]
	halvedScales(b, half(src), src[74:82])
	for l := range 32 {
		high := src[66+l>>2] >> (l & 3 * 2) & 3
		signed(b.Code[8*l:], pointsIQ2S, 8*(int(src[2+l])|int(high)<<8), src[34+l])
	}
}

// halvedScales reads 16 scales d·(s+½)/4 from nibbles, low first.
func halvedScales(b *Block, d float32, s []byte) {
	for g := range 16 {
		b.Scale[g] = d * (float32(s[g>>1]>>(g&1*4)&15) + 0.5) * 0.25
	}
}

func decodeIQ3_XXS(b *Block, src []byte) {
	src = src[:98]
	d := half(src)
	for g := range 8 {
		w := binary.LittleEndian.Uint32(src[66+4*g:])
		b.Scale[g] = d * (float32(w>>28) + 0.5) * 0.5
		for l := range 4 {
			at := src[2+8*g+2*l:]
			signedPair(b.Code[32*g+8*l:], pointsIQ3XXS, 4*int(at[0]), 4*int(at[1]), evenSigns(w>>(7*l)))
		}
	}
}

func decodeIQ3_S(b *Block, src []byte) {
	src = src[:110]
	d := half(src)
	for g := range 8 {
		b.Scale[g] = d * float32(2*(src[106+g>>1]>>(g&1*4)&15)+1)
		high := int(src[66+g]) << 8
		for l := range 4 {
			at := src[2+8*g+2*l:]
			i, k := int(at[0])|high>>(2*l)&256, int(at[1])|high>>(2*l+1)&256
			signedPair(b.Code[32*g+8*l:], pointsIQ3S, 4*i, 4*k, src[74+4*g+l])
		}
	}
}

func decodeIQ4_NL(b *Block, src []byte) {
	src = src[:18]
	b.Scale[0] = half(src)
	levels(b.Code[:32], src[2:], &levelsNL)
}

func decodeIQ4_XS(b *Block, src []byte) {
	src = src[:136]
	d, high := half(src), binary.LittleEndian.Uint16(src[2:])
	for g := range 8 {
		s := src[4+g>>1]>>(g&1*4)&15 | byte(high>>(2*g)&3)<<4
		b.Scale[g] = d * float32(int8(s)-32)
		levels(b.Code[32*g:32*g+32], src[8+16*g:], &levelsNL)
	}
}

// levels spreads nibbles like nibbles, each giving its level.
func levels(dst []int8, src []byte, level *[16]int8) {
	n := len(dst) / 2
	lo, hi := dst[:n], dst[n:2*n]
	for i, q := range src[:n] {
		lo[i], hi[i] = level[q&15], level[q>>4]
	}
}
