package arch

import (
	"math"

	"jns/format"
)

var _ = register("mistral3", mistral3)

// mistral3 is Ministral 3 and Mistral 3: as llama; queries far from the beginning may be scaled up.
func mistral3(b *Builder) {
	r := b.Rotation()
	r.LogMul = b.Float("rope.scaling.yarn_log_multiplier", 0)
	a := Attn{Rope: b.RopeTable(r), Scale: float32(b.Float("attention.scale", 0)), Temper: b.temper()}
	x := b.Embed(1)
	b.Layers(func(int) {
		x = b.Add(b.SelfAttention(b.Norm(x, "attn_norm.weight"), a), x)
		y := b.Norm(x, "ffn_norm.weight")
		if b.NExpert > 0 {
			y = b.Experts(y, Moe{Act: format.ActSiLU, Func: format.RouteSoftmax, Renormalise: true, Scaled: true,
				Scale: float32(b.Nonzero("expert_weights_scale", 1)), Width: b.ExpertFF()})
		} else {
			y = b.FeedForward(y, format.ActSiLU, "", b.FF())
		}
		x = b.Add(y, x)
	})
	b.Output(x, 1, 0)
}

// maxFactors bounds the steps of the queries' factor; positions beyond the last step keep its factor.
const maxFactors = 4096

// temper is the factor of queries by position, 1 + scale·ln(1 + ⌊position/context⌋), where context is the one before stretching.
func (b *Builder) temper() *format.TemperParams {
	scale := b.Float("attention.temperature_scale", 0)
	if scale == 0 {
		return nil
	}
	return b.temperBy(scale, b.bounded("rope.scaling.original_context_length", uint64(b.Context), 1, math.MaxUint32), 0)
}

// temperLength is temper with a length of its own, where the file gives one.
func (b *Builder) temperLength() *format.TemperParams {
	scale, length := b.Float("attention.temperature_scale", 0), b.bounded("attention.temperature_length", 0, 0, math.MaxUint32)
	if scale == 0 || length == 0 {
		return b.temper()
	}
	return b.temperBy(scale, length, 0)
}

// temperBy is 1 + scale·ln(1 + ⌊(position + offset)/step⌋).
func (b *Builder) temperBy(scale float64, step, offset uint32) *format.TemperParams {
	p := &format.TemperParams{Step: step, Offset: offset}
	// As far as four times the trained context.
	for k := uint64(0); k < maxFactors && k*uint64(step) < 4*uint64(max(b.Context, step)); k++ {
		ln := zero().Mul(bigLn(newBig(float64(k+1))), newBig(scale))
		p.Factors = append(p.Factors, float32(nearest(ln.Add(ln, newBig(1)))))
	}
	return p
}
