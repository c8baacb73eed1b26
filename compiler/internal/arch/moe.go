package arch

import (
	"jns/compiler/internal/gguf"
	"jns/format"
)

// Moe says how a layer's experts are chosen and what they compute.
type Moe struct {
	Act         uint8
	Func        uint8 // format.Route…
	Renormalise bool
	Scale       float32 // of the weights; 0: 1
	Width       uint32  // hidden width of an expert

	Scaled   bool   // factors of each expert are applied; otherwise they are set aside
	Plain    bool   // down(act(up(x))), no gate
	WeightIn bool   // the weights multiply the experts' input
	Biased   bool   // experts have biases
	Choice   bool   // exp_probs_b is added for the choice, if the file has it
	Router   Value  // logits of the router, if they come from elsewhere; 0: of ffn_gate_inp
	Wide     uint32 // width of the experts' input and output; 0: the embedding's

	Limit, SharedLimit float32 // of the hidden values of experts and of the shared one, 0: none; see format.ExpertsParams
	LimitIn            bool    // the gate is limited before its function
	GateCap, UpCap     float32 // of the hidden values of experts; see format.ExpertsParams

	Suffix string // of the tensors' names; "": _exps
	Share  uint32 // so many of the router's numbers stand for one expert; 0: one
}

// minWeightSum is the least sum of chosen weights that is divided by: the smallest normal half, as llama.cpp has it.
const minWeightSum = 6.103515625e-05

// Experts is a mixture of feed-forward experts with the router ffn_gate_inp. Gate and up may be one tensor, ffn_gate_up_exps.
func (b *Builder) Experts(x Value, m Moe) Value {
	if m.Width == 0 || m.Width > maxWidth/2 {
		b.corrupt("layer %d has experts of width %d", b.layer, m.Width)
		m.Width = 1
	}
	if b.NExpert == 0 {
		b.corrupt("key %q must be given", b.key("expert_count"))
		return x
	}
	wide := m.Wide
	if wide == 0 {
		wide = b.NEmbed
	}
	logits := m.Router
	if logits == 0 {
		logits = b.Linear(x, "ffn_gate_inp", b.NExpert)
	}
	route := b.route(logits, m)
	n, suffix := b.NExpert/max(1, m.Share), m.Suffix
	if suffix == "" {
		suffix = "_exps"
	}
	w := make([]*gguf.Tensor, 9)
	e := &format.ExpertsParams{Act: m.Act, WeightIn: m.WeightIn, GateCap: m.GateCap, UpCap: m.UpCap}
	if m.Limit > 0 {
		e.Limit, e.LimitIn = m.Limit, m.LimitIn
	}
	parts := []string{"ffn_gate" + suffix, "ffn_up" + suffix, "ffn_down" + suffix}
	fused := "ffn_gate_up" + suffix
	rows := []uint32{m.Width, m.Width, wide}
	switch {
	case m.Plain:
		w[1] = b.expertTensor(n, parts[1]+".weight", 1, wide, m.Width)
	case b.Has(fused + ".weight"):
		e.Fused = true
		w[0] = b.expertTensor(n, fused+".weight", 0, wide, 2*m.Width)
		w[1] = w[0]
		if m.Width%16 != 0 {
			b.unsupported("layer %d has experts of width %d in one tensor with their gates, which must be a multiple of 16", b.layer, m.Width)
		}
		for _, s := range []string{".bias", ".scale"} {
			if b.Has(fused + s) {
				b.unsupported("tensor %q: architecture %s is known here without it", b.Name(fused+s), b.g.Arch)
			}
		}
		// A factor of both halves has the name of up's.
		parts[0] = parts[1]
	default:
		w[0] = b.expertTensor(n, parts[0]+".weight", 0, wide, m.Width)
		w[1] = b.expertTensor(n, parts[1]+".weight", 1, wide, m.Width)
		if isFloat(w[0].Type) != isFloat(w[1].Type) {
			b.unsupported("layer %d mixes float and quantised experts (%s gate, %s up)", b.layer, w[0].Type, w[1].Type)
		}
	}
	w[2] = b.expertTensor(n, parts[2]+".weight", 2, m.Width, wide)
	for i, part := range parts {
		if i == 0 && m.Plain {
			continue
		}
		if name := part + ".scale"; b.Has(name) {
			if m.Scaled {
				w[3+i] = b.Vector(name, n)
			} else if b.g.Uses[b.find(name)] == nil {
				b.g.Uses[b.find(name)] = b.use(RoleAside, "factors that this architecture does not use")
			}
		}
		if name := part + ".bias"; b.Has(name) {
			if !m.Biased {
				b.unsupported("tensor %q: architecture %s is known here without it", b.Name(name), b.g.Arch)
				continue
			}
			w[6+i] = b.VectorOf(name, uint64(rows[i]), uint64(n))
		}
	}
	return b.add(Node{Params: e, In: []Value{x, route}, W: w, Name: "experts", Width: wide})
}

// route chooses experts by the router's logits.
func (b *Builder) route(logits Value, m Moe) Value {
	p := &format.RouteParams{
		Func: m.Func, Experts: b.NExpert, Top: b.Used(), Renormalise: m.Renormalise, MinSum: minWeightSum, Scale: m.Scale, Groups: 1, TopGroups: 1,
	}
	if p.Scale == 0 {
		p.Scale = 1
	}
	if m.Share > 1 {
		p.Share, p.Top = m.Share, min(p.Top, b.NExpert/m.Share)
	}
	if p.Top == 0 {
		b.corrupt("layer %d has experts, but key %q says that it chooses none", b.layer, b.key("expert_used_count"))
		p.Top = 1
	}
	if g := b.bounded("expert_group_count", 0, 0, uint64(b.NExpert)); g > 1 {
		p.Groups, p.TopGroups = g, b.bounded("expert_group_used_count", 0, 1, uint64(g))
		if b.NExpert%g != 0 || b.NExpert/g < 2 || p.TopGroups*(b.NExpert/g) < p.Top {
			b.corrupt("%d of %d groups of %d experts make no sense", p.TopGroups, g, b.NExpert)
		}
	}
	var bias *gguf.Tensor
	if name := b.either("exp_probs_b.bias", "exp_probs_b"); b.Has(name) {
		if !m.Choice {
			b.unsupported("tensor %q: architecture %s is known here without it", b.Name(name), b.g.Arch)
		}
		bias = b.Vector(name, b.NExpert)
	}
	return b.add(Node{Params: p, In: []Value{logits}, W: []*gguf.Tensor{bias}, Name: "route", Width: p.Top})
}

func (b *Builder) expertTensor(n uint32, name string, part int, cols, rows uint32) *gguf.Tensor {
	t := b.tensor(RoleExperts, name, uint64(cols), uint64(rows), uint64(n))
	if u := b.g.Uses[t]; u != nil {
		u.Part = part
	}
	b.checkWeight(t)
	return t
}

// Gating is the file's way from logits to weights, def if it does not say.
func (b *Builder) Gating(def uint8) uint8 {
	switch v := b.Uint("expert_gating_func", 0); v {
	case 0:
		return def
	case 1:
		return format.RouteSoftmax
	case 2:
		return format.RouteSigmoid
	case 3:
		return format.RouteSoftmaxChosen
	default:
		b.unsupported("key %q is %d; known are 1 softmax, 2 sigmoid, 3 softmax of the chosen", b.key("expert_gating_func"), v)
		return format.RouteSoftmax
	}
}

// WeightScale is the factor of the experts' weights.
func (b *Builder) WeightScale() float32 { return float32(b.Nonzero("expert_weights_scale", 1)) }

// SharedExpert adds the feed-forward part that all tokens take to y. Where the file has ffn_gate_inp_shexp, a sigmoid of its product with x multiplies that part.
func (b *Builder) SharedExpert(x, y Value, f FFN) Value {
	f.Suffix = "_shexp"
	s := b.FFN(x, f)
	if b.Has("ffn_gate_inp_shexp.weight") {
		gate := b.Activate(b.Linear(x, "ffn_gate_inp_shexp", 1), NoValue, format.ActSigmoid)
		s = b.add(Node{Params: &format.ElementParams{Element: format.ElementSpread}, In: []Value{s, gate}, Name: "ffn_shared", Width: b.NEmbed})
	}
	return b.Add(s, y)
}

// Activate is act(x), or act(x)·up.
func (b *Builder) Activate(x, up Value, act uint8) Value {
	return b.add(Node{Params: &format.ActivationParams{Act: act}, In: []Value{x, up}, Name: b.g.Nodes[x].Name + "_act", Width: b.width(x)})
}

// Mul is x·y, element by element.
func (b *Builder) Mul(x, y Value) Value {
	return b.add(Node{Params: &format.ElementParams{Element: format.ElementMul}, In: []Value{x, y}, Name: b.g.Nodes[x].Name + "_gated", Width: b.width(x)})
}

// Predicted takes the blocks of multi-token prediction, which follow the layers and are counted with them, off the layers and sets their tensors aside.
func (b *Builder) Predicted() {
	n := int(b.bounded("nextn_predict_layers", 0, 0, uint64(b.NLayer)-1))
	for i := b.NLayer - n; i < b.NLayer; i++ {
		b.asideLayer(i, "multi-token prediction, not used in decoding")
	}
	b.NLayer -= n
}

// Clamp cuts x to ±bound.
func (b *Builder) Clamp(x Value, bound float32) Value {
	p := &format.ElementParams{Element: format.ElementClamp, Scale: bound}
	return b.add(Node{Params: p, In: []Value{x, NoValue}, Name: b.g.Nodes[x].Name, Width: b.width(x)})
}

// ClampQKV is the bound of queries, keys and values, 0 if the file gives none.
func (b *Builder) ClampQKV() float32 {
	v := b.Float("attention.clamp_kqv", 0)
	if v < 0 {
		b.corrupt("key %q is %v", b.key("attention.clamp_kqv"), v)
		return 0
	}
	return float32(v)
}
