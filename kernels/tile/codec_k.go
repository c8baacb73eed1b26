package tile

import (
	"encoding/binary"
	"unsafe"
)

// Super-blocks of 256 elements with a half scale d (and dmin) over small integer scales of groups. A group's scale is
// float32(d·sc), its offset −float32(dmin·m); both are exact, a half having 11 significant bits.
//
//	Q2_K  16 B sc|m nibbles per 16 | 64 B 2-bit | d | dmin       code 0…3
//	Q3_K  32 B high bits | 64 B 2-bit | 12 B 6-bit sc | d        code −4…3, sc − 32
//	Q4_K  d | dmin | 12 B 6-bit sc, m per 32 | 128 B nibbles      code 0…15
//	Q5_K  d | dmin | 12 B | 32 B fifth bits | 128 B nibbles       code 0…31
//	Q6_K  128 B nibbles | 64 B high 2 bits | 16 × int8 sc | d     code −32…31
var kCodecs = []Codec{
	{Type: Q2_K, Name: "Q2_K", Elems: 256, Bytes: 84, Group: 16, OffGroup: 16, Decode: decodeQ2_K},
	{Type: Q3_K, Name: "Q3_K", Elems: 256, Bytes: 110, Group: 16, Decode: decodeQ3_K},
	{Type: Q4_K, Name: "Q4_K", Elems: 256, Bytes: 144, Group: 32, OffGroup: 32, Decode: decodeQ4_K},
	{Type: Q5_K, Name: "Q5_K", Elems: 256, Bytes: 176, Group: 32, OffGroup: 32, Decode: decodeQ5_K},
	{Type: Q6_K, Name: "Q6_K", Elems: 256, Bytes: 210, Group: 16, Decode: decodeQ6_K},
}

func decodeQ2_K(b *Block, src []byte) {
	src = src[:84]
	d, dmin := half(src[80:]), half(src[82:])
	for g, s := range src[:16] {
		b.Scale[g] = d * float32(s&15)
		b.Off[g] = -(dmin * float32(s>>4))
	}
	crumbs(&b.Code, src[16:80], 0)
}

func decodeQ3_K(b *Block, src []byte) {
	src = src[:110]
	d := half(src[108:])
	sc := src[96:108]
	for g := range 16 {
		// Four low bits in bytes 0…7 (groups 8… in the high nibbles), two high bits in bytes 8…11.
		low := sc[g&7] >> (g >> 3 * 4) & 15
		high := sc[8+g&3] >> (g >> 2 * 2) & 3
		b.Scale[g] = d * float32(int8(high<<4|low)-32)
	}
	crumbs(&b.Code, src[32:96], 0)
	orBits(&b.Code, (*[32]byte)(src), 0xfc, true) // q | 0xfc is q − 4, where the bit is missing
}

func decodeQ4_K(b *Block, src []byte) {
	src = src[:144]
	scalesMins(b, src)
	for g := 0; g < 4; g++ {
		nibbles(b.Code[64*g:64*g+64], src[16+32*g:], 0)
	}
}

func decodeQ5_K(b *Block, src []byte) {
	src = src[:176]
	scalesMins(b, src)
	for g := 0; g < 4; g++ {
		nibbles(b.Code[64*g:64*g+64], src[48+32*g:], 0)
	}
	orBits(&b.Code, (*[32]byte)(src[16:]), 16, false)
}

// scalesMins reads the head that Q4_K and Q5_K share: d, dmin and eight 6-bit pairs in 12 bytes. Pairs 0…3 are the low six bits of bytes 0…3
// (scale) and 4…7 (min), pairs 4…7 the nibbles of bytes 8…11 topped by the two bits left over there.
func scalesMins(b *Block, src []byte) {
	d, dmin := half(src), half(src[2:])
	s := src[4:16]
	for g := range 4 {
		b.Scale[g] = d * float32(s[g]&63)
		b.Off[g] = -(dmin * float32(s[4+g]&63))
		b.Scale[4+g] = d * float32(s[8+g]&15|s[g]>>6<<4)
		b.Off[4+g] = -(dmin * float32(s[8+g]>>4|s[4+g]>>6<<4))
	}
}

func decodeQ6_K(b *Block, src []byte) {
	src = src[:210]
	d := half(src[208:])
	for g, s := range src[192:208] {
		b.Scale[g] = d * float32(int8(s))
	}
	for h := range 2 {
		code := (*[128]int8)(b.Code[128*h:])
		nibbles(code[:], src[64*h:], 32)
		for j, q := range src[128+32*h : 160+32*h] {
			j &= 31
			code[j] += int8(q & 3 << 4)
			code[j+32] += int8(q & 12 << 2)
			code[j+64] += int8(q & 48)
			code[j+96] += int8(q >> 6 << 4)
		}
	}
}

// crumbs spreads 64 bytes of 2-bit codes, each less bias: each 32 bytes hold 128 elements, element 32·s + j in bits 2s of byte j.
func crumbs(code *[256]int8, src []byte, bias int8) {
	for h := range 2 {
		c := (*[128]int8)(code[128*h:])
		for j, q := range src[32*h : 32*h+32] {
			j &= 31 // spares the bounds checks
			c[j] = int8(q&3) - bias
			c[j+32] = int8(q>>2&3) - bias
			c[j+64] = int8(q>>4&3) - bias
			c[j+96] = int8(q>>6) - bias
		}
	}
}

// orBits ors value into the code of every element whose bit is set: element 32·s + j has bit s of byte j. Eight bytes at a time.
func orBits(code *[256]int8, src *[32]byte, value byte, invert bool) {
	c := (*[256]byte)(unsafe.Pointer(code))
	flip := uint64(0)
	if invert {
		flip = ^flip
	}
	for j := 0; j < 32; j += 8 {
		bits := binary.LittleEndian.Uint64(src[j:]) ^ flip
		for s := j; s < 256; s += 32 {
			at := c[s : s+8]
			binary.LittleEndian.PutUint64(at, binary.LittleEndian.Uint64(at)|bits&0x0101010101010101*uint64(value))
			bits >>= 1
		}
	}
}
