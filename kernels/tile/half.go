package tile

import "math"

// F16ToF32 widens an IEEE half; exact for every finite value and infinity. A NaN keeps sign and payload and becomes quiet, as the
// conversion instructions of amd64 and arm64 do.
func F16ToF32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	if h&0x7c00 == 0x7c00 {
		bits := sign | 0x7f800000 | uint32(h&0x03ff)<<13
		if h&0x03ff != 0 {
			bits |= 0x00400000
		}
		return math.Float32frombits(bits)
	}
	// Exponent and fraction moved into place read as value·2⁻¹¹²; the product below is exact, and turns half subnormals (float32
	// subnormals before it) into normal numbers without a case of their own.
	f := math.Float32frombits(uint32(h&0x7fff)<<13) * 0x1p112
	return math.Float32frombits(math.Float32bits(f) | sign)
}

// F32ToF16 rounds to the nearest half, ties to even; what is past 65504 by half a unit or more becomes infinity. A NaN keeps its sign and
// the upper ten bits of its payload and becomes quiet.
func F32ToF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00 | uint16(b>>13)&0x03ff
	case b >= 0x47800000: // 2¹⁶ and more, infinity
		return sign | 0x7c00
	case b < 0x38800000: // below 2⁻¹⁴: subnormal, a multiple of 2⁻²⁴
		// Adding 0.5 makes the unit of the sum 2⁻²⁴, so the addition rounds to nearest even where we need it.
		return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-0x3f000000)
	}
	// Rebias the exponent; a carry out of the fraction raises it, up to infinity.
	b -= 112 << 23
	return sign | uint16((b+0x0fff+(b>>13)&1)>>13)
}

// BF16ToF32 widens a bfloat16; every bit is kept.
func BF16ToF32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// F32ToBF16 rounds to the nearest bfloat16, ties to even. A NaN keeps sign and upper payload and becomes quiet.
func F32ToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x0040
	}
	return uint16((b + 0x7fff + (b>>16)&1) >> 16)
}

// half reads the half at the start of b.
func half(b []byte) float32 { return F16ToF32(uint16(b[0]) | uint16(b[1])<<8) }
