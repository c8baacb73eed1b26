package pack

import (
	"encoding/binary"
	"fmt"
	"math"

	"jns/compiler/internal/gguf"
)

// Vectors lie in a container as float32. Widening is bit-exact and one to one, NaN payloads included, so that Narrow gives
// every source byte back.

// Widen converts little-endian F32, F16 or BF16 elements to float32 bytes. F32 is returned as it is.
func Widen(t gguf.Type, b []byte) ([]byte, error) {
	switch t {
	case gguf.TypeF32:
		return b, nil
	case gguf.TypeF16, gguf.TypeBF16:
		out := make([]byte, 2*len(b))
		for i := 0; i+1 < len(b); i += 2 {
			h := binary.LittleEndian.Uint16(b[i:])
			v := uint32(h) << 16
			if t == gguf.TypeF16 {
				v = widenHalf(h)
			}
			binary.LittleEndian.PutUint32(out[2*i:], v)
		}
		return out, nil
	}
	return nil, fmt.Errorf("%w: vector of type %s", gguf.ErrUnsupported, t)
}

// Narrow is the inverse of Widen. An error means that a value did not come from the type.
func Narrow(t gguf.Type, b []byte) ([]byte, error) {
	switch t {
	case gguf.TypeF32:
		return b, nil
	case gguf.TypeF16, gguf.TypeBF16:
		out := make([]byte, len(b)/2)
		for i := 0; i+3 < len(b); i += 4 {
			v := binary.LittleEndian.Uint32(b[i:])
			h := uint16(v >> 16)
			back := uint32(h) << 16
			if t == gguf.TypeF16 {
				h = narrowHalf(v)
				back = widenHalf(h)
			}
			if back != v {
				return nil, fmt.Errorf("value %08x is no widened %s", v, t)
			}
			binary.LittleEndian.PutUint16(out[i/2:], h)
		}
		return out, nil
	}
	return nil, fmt.Errorf("%w: vector of type %s", gguf.ErrUnsupported, t)
}

// widenHalf maps the bits of a half to those of the equal float32; the payload of a NaN keeps its place at the top.
func widenHalf(h uint16) uint32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch {
	case exp == 31:
		return sign | 255<<23 | frac<<13
	case exp != 0:
		return sign | (exp+112)<<23 | frac<<13
	}
	// frac · 2⁻²⁴ is exact in float32.
	return sign | math.Float32bits(float32(frac)*0x1p-24)
}

// narrowHalf is the inverse of widenHalf on its image.
func narrowHalf(v uint32) uint16 {
	sign, exp, frac := uint16(v>>31)<<15, v>>23&255, v&(1<<23-1)
	switch {
	case exp == 255:
		return sign | 31<<10 | uint16(frac>>13)
	case exp >= 113 && exp < 143:
		return sign | uint16(exp-112)<<10 | uint16(frac>>13)
	case exp < 113:
		return sign | uint16(math.Float32frombits(v&^(1<<31))*0x1p24)&1023
	}
	return sign
}
