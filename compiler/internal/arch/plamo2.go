package arch

import (
	"math"

	"jns/format"
)

var _ = register("plamo2", plamo2)

// plamo2 is PLaMo 2: layers without heads of keys have a mixer of Mamba's second form whose step, B and C come from the convolved input and are normed; the others attention, whose query and
// key heads have norms of their own; norms before and after both parts.
func plamo2(b *Builder) {
	b.refuse("expert_count")
	r := b.Rotation()
	r.Factors = nil
	a := Attn{Rope: b.RopeTable(r), NeoX: true, OwnNorms: true, PlainQKV: true, NoBias: true, Scale: float32(1 / math.Sqrt(float64(b.ValDim)))}
	s := SSM{
		Inner: b.bounded("ssm.inner_size", 0, 1, maxWidth/8), State: b.bounded("ssm.state_size", 0, 1, 1<<12), Rank: b.bounded("ssm.time_step_rank", 0, 1, 1<<20),
		Groups: 1, Taps: b.bounded("ssm.conv_kernel", 0, 2, 64),
	}
	b.refuse("ssm.group_count")
	x := b.Embed(1)
	b.Layers(func(int) {
		y := b.Norm(x, "attn_norm.weight")
		if b.KVHeads() == 0 {
			y = b.plamo2Mixer(y, s)
		} else {
			y = b.SelfAttention(y, a)
		}
		x = b.Add(b.Norm(y, b.either("post_attention_norm.weight", "post_attention_norm")), x)
		y = b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActSiLU, Width: b.FF(), Fused: true, Unscale: true})
		x = b.Add(b.Norm(y, b.either("post_ffw_norm.weight", "post_ffw_norm")), x)
	})
	b.Output(x, 1, 0)
}

func (b *Builder) plamo2Mixer(x Value, s SSM) Value {
	if s.Inner%s.Rank != 0 {
		b.corrupt("%d channels in %d heads make no sense", s.Inner, s.Rank)
		s.Rank = 1
	}
	dim, step := s.Inner/s.Rank, max(64, b.NEmbed/16)
	both := b.plain(x, "ssm_in", 2*s.Inner)
	z, v := b.Slice(both, 0, dim, 2*dim, s.Inner), b.Slice(both, dim, dim, 2*dim, s.Inner)
	v = b.Conv(v, "ssm_conv1d", s.Taps, format.ActSiLU)
	y := b.parts(b.plain(v, "ssm_x", step+2*s.State), s.State, s.State, step)
	for i, name := range []string{"ssm_b_norm", "ssm_c_norm", "ssm_dt_norm"} {
		y[i] = b.Norm(y[i], b.either(name+".weight", name))
	}
	dt := b.matmul(y[2], b.Matrix("ssm_dt.weight", step, s.Rank), nil, "ssm_dt", 1)
	v = b.scan(v, dt, y[0], y[1], &format.ScanParams{Heads: s.Rank, HeadDim: dim, N: s.State, Groups: 1}, b.flat("ssm_a", s.Rank))
	return b.plain(b.Activate(z, v, format.ActSiLU), "ssm_out", b.NEmbed)
}
