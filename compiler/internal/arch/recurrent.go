package arch

import (
	"jns/compiler/internal/gguf"
	"jns/format"
)

// SSM are the sizes of a state space layer.
type SSM struct {
	Inner, State, Rank, Groups, Taps uint32 // channels, numbers of state, rank or heads of the step, groups that share B and C, taps of the convolution
}

// SSM reads the sizes.
func (b *Builder) SSM() SSM {
	s := SSM{
		Inner: b.bounded("ssm.inner_size", 0, 1, maxWidth/8), State: b.bounded("ssm.state_size", 0, 1, 1<<12), Rank: b.bounded("ssm.time_step_rank", 0, 1, 1<<20),
		Groups: max(1, b.bounded("ssm.group_count", 1, 0, 1<<12)), Taps: b.bounded("ssm.conv_kernel", 0, 2, 64),
	}
	if uint64(s.Groups)*uint64(s.State) > maxWidth/8 {
		b.corrupt("%d groups of %d numbers of state make no sense", s.Groups, s.State)
		s.Groups = 1
	}
	return s
}

// state adds a recurrent state and gives its index.
func (b *Builder) state(heads, key, val uint32) uint32 {
	if uint64(heads)*uint64(key)*uint64(val) > 1<<26 {
		b.unsupported("layer %d has a recurrent state of %d × %d × %d numbers, at most %d are allowed", b.layer, heads, key, val, 1<<26)
	}
	b.g.States = append(b.g.States, format.State{Kind: format.StateRecurrent, KVHeads: heads, KeyDim: key, ValDim: val})
	return uint32(len(b.g.States) - 1)
}

// flat is a vector of n elements, whatever its shape in the file.
func (b *Builder) flat(name string, n uint32) *gguf.Tensor {
	if t := b.find(name); t != nil {
		all := uint64(1)
		for _, d := range t.Dims {
			if d == 0 || all > maxWidth*64 {
				break
			}
			all *= d
		}
		if all == uint64(n) {
			return b.VectorOf(name, t.Dims...)
		}
	}
	return b.Vector(name, n)
}

// plain multiplies with prefix.weight and nothing else: a bias or a scale that the file has besides is not used.
func (b *Builder) plain(x Value, prefix string, rows uint32) Value {
	for _, s := range []string{".bias", ".scale"} {
		if t := b.find(prefix + s); t != nil && b.g.Uses[t] == nil {
			b.g.Uses[t] = b.use(RoleAside, "not used by this architecture")
		}
	}
	return b.matmul(x, b.Matrix(prefix+".weight", b.width(x), rows), nil, shortName(prefix), 1)
}

// Conv is the short convolution prefix.weight over positions, with prefix.bias if there is one; act 0 is none.
func (b *Builder) Conv(x Value, prefix string, taps uint32, act uint8) Value {
	n := b.width(x)
	p := &format.ConvParams{State: b.state(1, taps-1, n), Taps: taps, Act: act}
	w := []*gguf.Tensor{b.flat(prefix+".weight", b.times(n, taps)), b.Optional(prefix+".bias", n)}
	return b.add(Node{Params: p, In: []Value{x}, W: w, Name: shortName(prefix), Width: n})
}

// parts cuts x into consecutive ranges.
func (b *Builder) parts(x Value, widths ...uint32) []Value {
	var out []Value
	from := uint32(0)
	for _, n := range widths {
		out = append(out, b.Slice(x, from, n, n, n))
		from += n
	}
	return out
}

// Mamba2 is a layer of the second form of Mamba: heads with a decay each.
func (b *Builder) Mamba2(x Value, s SSM) Value {
	wide := s.Inner + 2*s.Groups*s.State
	if s.Inner%s.Rank != 0 || s.Inner%s.Groups != 0 || s.Rank%s.Groups != 0 {
		b.corrupt("%d channels in %d heads and %d groups make no sense", s.Inner, s.Rank, s.Groups)
		s.Rank, s.Groups = 1, 1
	}
	in := b.Fused(x, "ssm_in", []uint32{s.Inner, wide, s.Rank}, []string{"ssm_z", "ssm_x", "ssm_step"}, true)
	y := b.parts(b.Conv(in[1], "ssm_conv1d", s.Taps, format.ActSiLU), s.Inner, s.Groups*s.State, s.Groups*s.State)
	v := b.scan(y[0], in[2], y[1], y[2], &format.ScanParams{Heads: s.Rank, HeadDim: s.Inner / s.Rank, N: s.State, Groups: s.Groups}, b.flat("ssm_a", s.Rank))
	v = b.Activate(in[0], v, format.ActSiLU)
	if b.Has("ssm_norm.weight") {
		v = b.norm(v, format.NormRMS, b.flat("ssm_norm.weight", s.Inner), nil, s.Groups, true, b.Eps)
	}
	return b.Linear(v, "ssm_out", b.NEmbed)
}

// Mamba1 is a layer of the first form of Mamba: channels with a decay for each number of state. In some models what makes B, C and the step is normed.
func (b *Builder) Mamba1(x Value, s SSM) Value {
	in := b.Fused(x, "ssm_in", []uint32{s.Inner, s.Inner}, []string{"ssm_x", "ssm_z"}, true)
	v := b.Conv(in[0], "ssm_conv1d", s.Taps, format.ActSiLU)
	y := b.Fused(v, "ssm_x", []uint32{s.Rank, s.State, s.State}, []string{"ssm_dt_low", "ssm_b", "ssm_c"}, false)
	for i, name := range []string{"ssm_dt_norm.weight", "ssm_b_norm.weight", "ssm_c_norm.weight"} {
		switch {
		case b.Has(name):
			y[i] = b.Norm(y[i], name)
		case b.Bool("ssm.dt_b_c_rms", false):
			y[i] = b.norm(y[i], format.NormRMS, nil, nil, 1, false, b.Eps)
		}
	}
	dt := b.matmul(y[0], b.Matrix("ssm_dt.weight", s.Rank, s.Inner), nil, "ssm_dt", 1)
	v = b.scan(v, dt, y[1], y[2], &format.ScanParams{Heads: s.Inner, HeadDim: 1, N: s.State, Groups: 1}, b.flat("ssm_a", b.times(s.Inner, s.State)))
	return b.Linear(b.Activate(in[1], v, format.ActSiLU), "ssm_out", b.NEmbed)
}

func (b *Builder) scan(x, dt, bb, c Value, p *format.ScanParams, a *gguf.Tensor) Value {
	if p.HeadDim == 1 {
		p.State = b.state(1, p.N, p.Heads)
	} else {
		p.State = b.state(p.Heads, p.N, p.HeadDim)
	}
	var d *gguf.Tensor
	if b.Has("ssm_d") {
		d = b.flat("ssm_d", p.Heads)
	}
	return b.add(Node{Params: p, In: []Value{x, dt, bb, c}, W: []*gguf.Tensor{a, b.Optional("ssm_dt.bias", p.Heads), d}, Name: "ssm_y", Width: b.width(x)})
}

// Delta is the gated delta rule over normed queries and keys.
func (b *Builder) Delta(q, k, v, alpha, beta Value, p *format.DeltaParams) Value {
	if p.Heads == 0 || p.KeyHeads == 0 || p.Heads%p.KeyHeads != 0 {
		b.corrupt("%d heads for %d heads of keys make no sense", p.Heads, p.KeyHeads)
		return v
	}
	p.State = b.state(p.Heads, p.KeyDim, p.ValDim)
	unit := func(x Value) Value { return b.norm(x, format.NormL2, nil, nil, p.KeyHeads, false, b.Eps) }
	w := []*gguf.Tensor{b.flat("ssm_a", p.Heads), b.Vector("ssm_dt.bias", b.width(alpha))}
	return b.add(Node{Params: p, In: []Value{unit(q), unit(k), v, alpha, beta}, W: w, Name: "delta", Width: b.width(v)})
}

// Join puts x and y one behind the other, in each of groups parts; a shared y goes into all of them.
func (b *Builder) Join(x, y Value, groups uint32, shared bool) Value {
	n := b.width(x) + b.width(y)
	if shared {
		n = b.width(x) + groups*b.width(y)
	}
	return b.add(Node{Params: &format.JoinParams{Groups: groups, Shared: shared}, In: []Value{x, y}, Name: b.g.Nodes[x].Name + "_joined", Width: n})
}
