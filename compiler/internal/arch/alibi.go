package arch

import (
	"math/bits"

	"jns/format"
)

// positionParts is the number of elements by which linear biases lengthen a head: the position in two parts.
const positionParts = 2

// positionStep divides positions into those parts, so that halves, as which keys are stored, hold both exactly up to position 2¹¹·64.
const positionStep = 64

// linearBias makes the scores of attention fall with the distance (ALiBi): head h adds slope_h·(key's position − query's). Since a softmax does not change when the same is added to
// all its scores, slope_h·(key's position) does the same, and that is a product: keys are lengthened by their position, queries by their slope over the scores' factor.
func (b *Builder) linearBias(q, k Value, heads, kv uint32, scale float32, most float64) (Value, Value) {
	none := make([]float32, positionParts)
	at := b.add(Node{Params: &format.PositionParams{Step: positionStep, Base: none, High: []float32{1, 0}, Low: []float32{0, 1}}, Name: "position", Width: positionParts})
	p := &format.PositionParams{Step: positionStep}
	for _, s := range slopes(heads, most) {
		s /= float64(scale)
		p.Base = append(p.Base, float32(s*positionStep), float32(s))
	}
	p.High, p.Low = make([]float32, len(p.Base)), make([]float32, len(p.Base))
	slope := b.add(Node{Params: p, Name: "slopes", Width: positionParts * heads})
	return b.Join(q, slope, heads, false), b.Join(k, at, kv, kv > 1)
}

// slopes are 2^(−most·i/n) for the first n heads, n the largest power of two of them, i from 1 on; for the others every second of those that twice as many heads had.
func slopes(heads uint32, most float64) []float64 {
	n := int64(1) << (bits.Len32(heads) - 1)
	out := make([]float64, heads)
	for h := range int64(heads) {
		// The exponent is a ratio of integers: most has at most three decimals.
		num, den := int64(most*1000)*(h+1), 1000*n
		if h >= n {
			num, den = int64(most*1000)*(2*(h-n)+1), 2000*n
		}
		out[h] = nearest(bigPow(2, -num, den))
	}
	return out
}

// maxBias is the exponent of the smallest slope, 0 if the file has no linear biases.
func (b *Builder) maxBias() float64 {
	v := b.Float("attention.max_alibi_bias", 0)
	if v < 0 || v > 64 {
		b.corrupt("key %q is %v", b.key("attention.max_alibi_bias"), v)
		return 0
	}
	return v
}
