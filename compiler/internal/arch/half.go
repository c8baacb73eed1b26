package arch

import "math"

// halfToFloat is the value of an IEEE half.
func halfToFloat(h uint16) float32 {
	exponent, fraction := int(h>>10&31), float64(h&0x3ff)
	v := math.Ldexp(fraction, -24)
	switch exponent {
	case 0:
	case 31:
		v = math.Inf(1)
		if fraction != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(fraction+1024, exponent-25)
	}
	return float32(math.Copysign(v, float64(int(h>>15)*-2+1)))
}
