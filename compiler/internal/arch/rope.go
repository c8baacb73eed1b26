package arch

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"jns/format"
)

// Scaling is how rotation frequencies are stretched for contexts longer than the trained one.
type Scaling uint8

// Kinds of scaling. Llama 3.1's is none of these: it comes as factors in a tensor.
const (
	ScaleNone   Scaling = iota
	ScaleLinear         // every frequency divided by Factor
	ScaleYaRN           // low frequencies divided, high ones kept, a ramp between
)

// Rotation describes a table of rotation frequencies before it is computed.
type Rotation struct {
	Dims        uint32  // rotated elements of a head, an even number
	Base        float64 // frequency of pair i is Base^(−2i/Dims)
	Scaling     Scaling
	Factor      float64
	Factors     []float32 // divides the frequency of each pair, nil: 1
	LongFactors []float32 // the same for sessions of more than OrigContext positions; nil: Factors

	OrigContext        float64 // YaRN: context before stretching
	BetaFast, BetaSlow float64 // YaRN: rotations over OrigContext at which the ramp begins and ends
	Ext                float64 // YaRN: share of the ramp, 1
	Magnitude          float64 // multiplies cos and sin besides YaRN's own factor

	LogMul float64 // YaRN: its own factor is divided by 1 + 0.1·LogMul·ln Factor
	Still  []bool  // pairs that are not rotated, repeated over all pairs; nil: none
}

// Rotation reads the file's rotation: dimension count, base, scaling, and the factors of rope_freqs.weight.
func (b *Builder) Rotation() Rotation {
	r := Rotation{
		Dims:        b.bounded("rope.dimension_count", 0, 0, uint64(b.HeadDim)),
		Base:        b.Nonzero("rope.freq_base", 10000),
		Factor:      b.Nonzero("rope.scaling.factor", b.Nonzero("rope.scale_linear", 1)),
		OrigContext: float64(b.Uint("rope.scaling.original_context_length", uint64(b.Context))),
		BetaFast:    b.Nonzero("rope.scaling.yarn_beta_fast", 32),
		BetaSlow:    b.Nonzero("rope.scaling.yarn_beta_slow", 1),
		Ext:         b.Float("rope.scaling.yarn_ext_factor", -1),
		Magnitude:   b.Nonzero("rope.scaling.attn_factor", 1),
	}
	if r.Dims == 0 {
		r.Dims = b.HeadDim
	}
	if r.OrigContext == 0 {
		r.OrigContext = float64(b.Context)
	}
	switch s := b.Str("rope.scaling.type", "linear"); s {
	case "none", "":
	case "linear":
		if r.Factor != 1 {
			r.Scaling = ScaleLinear
		}
	case "longrope":
		// The factors say it all.
		if r.Factor != 1 {
			r.Scaling = ScaleLinear
		}
	case "yarn":
		r.Scaling = ScaleYaRN
	default:
		b.unsupported("key %q: rope scaling %q is not known; known are none, linear, yarn, longrope and factors in rope_freqs.weight",
			b.key("rope.scaling.type"), clip(s))
	}
	if r.Ext < 0 {
		r.Ext = 1
	}
	if !(r.Base > 1 && r.Base < 1e30) || !(r.Factor > 1e-6 && r.Factor < 1e6) || r.Dims%2 != 0 ||
		!(r.BetaFast > 0 && r.BetaSlow > 0) || math.Abs(r.Magnitude) > 1e6 || r.Ext > 1 {
		b.corrupt("rotation of %d elements, base %v, factor %v, betas %v and %v, magnitude %v makes no sense",
			r.Dims, r.Base, r.Factor, r.BetaFast, r.BetaSlow, r.Magnitude)
		r = Rotation{Dims: 2, Base: 10000, Factor: 1, BetaFast: 32, BetaSlow: 1, Magnitude: 1}
	}
	r.Factors, r.LongFactors = b.ropeFactors(r.Dims / 2)
	return r
}

// ropeFactors reads rope_freqs.weight (Llama 3.1), or rope_factors_short and rope_factors_long (longrope), the latter for sessions of more positions than the
// original context.
func (b *Builder) ropeFactors(n uint32) (factors, long []float32) {
	if f := b.factors("rope_freqs.weight", n); f != nil {
		return f, nil
	}
	return b.factors("rope_factors_short.weight", n), b.factors("rope_factors_long.weight", n)
}

// factors reads factors that lie outside the layers; some files repeat them in layer 0.
func (b *Builder) factors(name string, n uint32) []float32 {
	const reason = "folded into the program's rotation table"
	layer := b.layer
	defer func() { b.layer = layer }()
	for _, l := range []int{-1, 0} {
		if b.layer = l; b.Has(name) {
			f := b.folded(name, n, reason)
			if slices.ContainsFunc(f, func(v float32) bool { return v == 0 || !(math.Abs(float64(v)) <= math.MaxFloat32) }) {
				b.corrupt("tensor %q holds factors that are 0 or not finite", name)
				return nil
			}
			return f
		}
	}
	return nil
}

// maxRotated bounds the rotated elements of a head: it is what programs may have, and every pair takes a power of more than 150 bits.
const maxRotated = 1 << 12

// RopeTable computes a rotation and gives the index of its table; equal tables are shared.
func (b *Builder) RopeTable(r Rotation) int {
	if r.Dims > maxRotated {
		b.unsupported("%d elements of a head are rotated, at most %d can be", r.Dims, maxRotated)
		r = Rotation{Dims: 2, Base: 10000, Factor: 1, Magnitude: 1}
	}
	key := fmt.Sprint(r)
	if i, ok := b.ropes[key]; ok {
		return i
	}
	t := r.Table()
	i := b.addRope(t)
	b.ropes[key] = i
	return i
}

func (b *Builder) addRope(t format.Rope) int {
	for i, o := range b.g.Ropes {
		if slices.Equal(o.Freqs, t.Freqs) && slices.Equal(o.Long, t.Long) && o.LongFrom == t.LongFrom && o.MScale == t.MScale {
			return i
		}
	}
	b.g.Ropes = append(b.g.Ropes, t)
	return len(b.g.Ropes) - 1
}

// Table computes the frequencies, each rounded once from more than 150 bits.
func (r Rotation) Table() format.Rope {
	t := format.Rope{Freqs: r.freqs(r.Factors), MScale: float32(r.Magnitude)}
	if r.Scaling == ScaleYaRN {
		t.MScale = float32(nearest(zero().Mul(r.yarnMagnitude(), newBig(r.Magnitude))))
	}
	if r.LongFactors != nil {
		t.Long, t.LongFrom = r.freqs(r.LongFactors), uint32(min(max(0, r.OrigContext), math.MaxUint32))
	}
	return t
}

func (r Rotation) freqs(factors []float32) []float64 {
	out := make([]float64, r.Dims/2)
	low, high := 0.0, 0.0
	if r.Scaling == ScaleYaRN {
		low, high = r.ramp()
	}
	for i := range out {
		f := bigPow(r.Base, int64(-2*i), int64(r.Dims))
		if factors != nil {
			f.Quo(f, newBig(float64(factors[i])))
		}
		switch r.Scaling {
		case ScaleLinear:
			f.Quo(f, newBig(r.Factor))
		case ScaleYaRN:
			keep := newBig(r.Ext * (1 - min(1, max(0, (float64(i)-low)/max(0.001, high-low)))))
			stretched := zero().Quo(f, newBig(r.Factor))
			f.Mul(f, keep)
			f.Add(f, stretched.Mul(stretched, zero().Sub(newBig(1), keep)))
		}
		if r.Still == nil || !r.Still[i%len(r.Still)] {
			out[i] = nearest(f)
		}
	}
	return out
}

// ramp is the pair index at which YaRN begins to mix and the one from which on frequencies are only stretched: where a pair
// turns BetaFast and BetaSlow times within the original context.
func (r Rotation) ramp() (low, high float64) {
	turns := func(beta float64) float64 {
		// Dims · ln(OrigContext / (beta·2π)) / (2 ln Base)
		x := zero().Quo(newBig(max(1, r.OrigContext)), zero().Mul(newBig(2*beta), bigPi()))
		n := zero().Mul(bigLn(x), newBig(float64(r.Dims)))
		return nearest(n.Quo(n, zero().Mul(newBig(2), bigLn(newBig(r.Base)))))
	}
	return max(0, math.Floor(turns(r.BetaFast))), min(float64(r.Dims)-1, math.Ceil(turns(r.BetaSlow)))
}

// yarnMagnitude is 1 + 0.1·ln(factor) for factors above 1: longer contexts flatten the softmax, which this undoes; some models undo it in part themselves.
func (r Rotation) yarnMagnitude() *big.Float {
	if r.Factor <= 1 || r.Ext == 0 {
		return newBig(1)
	}
	m := zero().Quo(bigLn(newBig(r.Factor)), newBig(10))
	all := zero().Mul(m, newBig(r.LogMul))
	return zero().Quo(m.Add(m, newBig(1)), all.Add(all, newBig(1)))
}
