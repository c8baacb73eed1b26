package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// form is how a family computes, said anew from the papers and the models' published code, in float64 and without any thought of speed.
type form struct {
	layerNorm bool
	halves    bool // rotation of halves
	act       func(float64) float64
	plain     bool // no gate
	parallel  bool // attention and feed-forward part both start from the layer's input
	secondPre string
	noPre     bool // no norms before the parts
	post      bool // norms after them
	lateNorm  bool // norms of heads after the rotation
	valNorm   bool
	bare      bool // norms without weights
	embed     func(m *model) float64
	residual  float64
	logits    float64
	scale     float64 // of attention; 0: 1/√width
	cap       float64
	window    func(m *model, layer int) int
	freqs     func(m *model, layer int) ([]float64, float64) // and what multiplies cosine and sine
	temper    func(layer, pos int) float64
	chunk     int // layers that rotate see positions from its last multiple on; 0: all
	finalCap  float64
	streams   bool                // four streams side by side, see reference_streams_test.go
	from      func(layer int) int // whose keys and values a layer uses
	mix       *mix
	alibi     float64                                   // scores fall with the distance, the steepest head's by 2^(−alibi/n) per position for n heads
	clamp     float64                                   // queries, keys and values are cut to ± this
	gate      func(float64) float64                     // of attn_gate's product, which multiplies attention's result, by heads if it has so many numbers
	rowLayer  bool                                      // layer norms of the whole query and key rows, with biases
	ownNorms  bool                                      // every head has its own norm weights
	centred   bool                                      // and these norms are layer norms with biases
	start     func(r *reference, x []float64) []float64 // what becomes of the embedding
	stored    func(float64) float64                     // what is kept of keys and values; nil: all
	whole     func(r *reference, token, pos int) []float64
}

func silu(x float64) float64 { return x / (1 + math.Exp(-x)) }
func gelu(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}
func reluSquared(x float64) float64 { return math.Max(x, 0) * math.Max(x, 0) }

// plainFreqs turn n elements with a base.
func plainFreqs(n int, base float64) []float64 {
	f := make([]float64, n/2)
	for i := range f {
		f[i] = math.Pow(base, -2*float64(i)/float64(n))
	}
	return f
}

func always(n int, base float64) func(*model, int) ([]float64, float64) {
	return func(*model, int) ([]float64, float64) { return plainFreqs(n, base), 1 }
}

func everywhere(n int) func(*model, int) int { return func(*model, int) int { return n } }

var forms = map[string]form{
	"arcee":          {act: reluSquared, plain: true},
	"baichuan":       {},
	"chatglm":        {freqs: always(16, 1e4)},
	"codeshell":      {layerNorm: true, halves: true, act: gelu, plain: true},
	"command-r":      {layerNorm: true, parallel: true, secondPre: "attn_norm", logits: 0.5},
	"deci":           {},
	"ernie4_5":       {},
	"exaone":         {halves: true},
	"gptneox":        {layerNorm: true, halves: true, act: gelu, plain: true, parallel: true, freqs: always(8, 1e4)},
	"gptneox+after":  {layerNorm: true, halves: true, act: gelu, plain: true, freqs: always(8, 1e4)},
	"internlm2":      {},
	"jais2":          {layerNorm: true, halves: true, act: reluSquared, plain: true},
	"maincoder":      {lateNorm: true},
	"minicpm":        {embed: func(*model) float64 { return 2 }, residual: 0.7, logits: 0.5},
	"nemotron":       {layerNorm: true, halves: true, act: reluSquared, plain: true, freqs: always(16, 1e4)},
	"olmo":           {layerNorm: true, bare: true},
	"orion":          {layerNorm: true, halves: true},
	"pangu-embedded": {halves: true},
	"qwen":           {halves: true},
	"qwen2vl":        {halves: true},
	"seed_oss":       {halves: true, secondPre: "post_attention_norm"},
	"starcoder":      {layerNorm: true, act: gelu, plain: true, freqs: always(0, 1)},
	"xverse":         {},
	"hunyuan_vl":     {halves: true, lateNorm: true},
	"openelm":        {halves: true},
	"paddleocr":      {halves: true},
	"plamo":          {halves: true, parallel: true, secondPre: "attn_norm"},
	"bitnet":         {halves: true},
	"smollm3": {freqs: func(_ *model, l int) ([]float64, float64) {
		if l%4 == 3 {
			return nil, 1
		}
		return plainFreqs(32, 1e4), 1
	}},
	"exaone4+predicted": {halves: true, noPre: true, post: true},
	"exaone4": {halves: true, noPre: true, post: true,
		window: func(_ *model, l int) int {
			if l%4 == 3 {
				return 0
			}
			return 16
		},
		freqs: func(_ *model, l int) ([]float64, float64) {
			if l%4 == 3 {
				return nil, 1
			}
			return plainFreqs(32, 1e4), 1
		}},
	"gemma2": {halves: true, act: gelu, post: true, embed: rootWidth, cap: 50, finalCap: 30,
		window: func(_ *model, l int) int { return []int{16, 0}[l%2] }},
	"gemma4": {halves: true, act: gelu, post: true, embed: rootWidth, scale: 1, finalCap: 30, valNorm: true,
		from: func(l int) int { return []int{0, 1, 2, 3, 4, 5, 4, 5}[l] }, // the last of their kind with keys of their own
		window: func(_ *model, l int) int {
			if gemma4Full(l) {
				return 0
			}
			return 16
		},
		freqs: func(m *model, l int) ([]float64, float64) {
			if !gemma4Full(l) {
				return plainFreqs(32, 1e4), 1
			}
			f := plainFreqs(64, 1e6)
			for i, d := range m.values("rope_freqs.weight") {
				f[i] /= d
			}
			return f, 1
		}},
	"glm4+sections": {halves: true, post: true, freqs: func(*model, int) ([]float64, float64) {
		f := plainFreqs(16, 1e4)
		clear(f[5:]) // the fourth section stands still
		return f, 1
	}},
	"qwen3vl": {halves: true, freqs: func(*model, int) ([]float64, float64) {
		f := plainFreqs(32, 1e4)
		f[14] = 0 // beyond the second section's share, whose turn it is
		return f, 1
	}},
	"hunyuan-dense": {halves: true, lateNorm: true, freqs: always(32, 1e4*math.Pow(8, 32.0/30))},
	"phi3": {halves: true, freqs: func(m *model, _ int) ([]float64, float64) {
		f := plainFreqs(32, 1e4)
		for i, d := range m.values("rope_factors_long.weight") {
			f[i] /= d
		}
		return f, 1.19
	}},
	"llama+linear": {freqs: func(*model, int) ([]float64, float64) {
		f := plainFreqs(32, 1e4)
		for i := range f {
			f[i] /= 4
		}
		return f, 1
	}},
	"llama+factors": {freqs: func(m *model, _ int) ([]float64, float64) {
		f := plainFreqs(32, 1e4)
		for i, d := range m.values("rope_freqs.weight") {
			f[i] /= d
		}
		return f, 1
	}},
	"llama+yarn": {freqs: func(*model, int) ([]float64, float64) {
		f := plainFreqs(32, 5e5)
		turns := func(beta float64) float64 { return 32 * math.Log(128/(beta*2*math.Pi)) / (2 * math.Log(5e5)) }
		low, high := math.Max(0, math.Floor(turns(32))), math.Ceil(turns(1))
		for i := range f {
			keep := 1 - math.Min(1, math.Max(0, (float64(i)-low)/math.Max(0.001, high-low)))
			f[i] = f[i]/8*(1-keep) + f[i]*keep
		}
		return f, 1 + 0.1*math.Log(8)
	}},
	"mistral3": {
		temper: func(_, pos int) float64 { return 1 + 0.1*math.Log(1+math.Floor(float64(pos)/16)) },
		freqs: func(*model, int) ([]float64, float64) {
			f := plainFreqs(32, 1e4)
			turns := func(beta float64) float64 { return 32 * math.Log(16/(beta*2*math.Pi)) / (2 * math.Log(1e4)) }
			low, high := math.Max(0, math.Floor(turns(32))), math.Min(31, math.Ceil(turns(1)))
			for i := range f {
				keep := 1 - math.Min(1, math.Max(0, (float64(i)-low)/math.Max(0.001, high-low)))
				f[i] = f[i]/4*(1-keep) + f[i]*keep
			}
			return f, 1 // the factor of longer contexts cancels against log multiplier 1
		}},
}

func init() { forms["gemma4+moe"] = forms["gemma4"] }

func rootWidth(m *model) float64 { return math.Sqrt(float64(m.embd)) }
func gemma4Full(l int) bool      { return l == 2 || l == 5 || l == 7 }

// values are a tensor's numbers as stored; nil if there is none.
func (m *model) values(name string) []float64 {
	for _, t := range m.tensors {
		if t.name != name {
			continue
		}
		var out []float64
		for i := 0; i < len(t.data); {
			if t.typ == typeF16 {
				out = append(out, fromHalf(binary.LittleEndian.Uint16(t.data[i:])))
				i += 2
			} else {
				out = append(out, float64(math.Float32frombits(binary.LittleEndian.Uint32(t.data[i:]))))
				i += 4
			}
		}
		return out
	}
	return nil
}

func fromHalf(h uint16) float64 {
	v := math.Ldexp(float64(h&0x3ff), -24)
	if e := int(h >> 10 & 31); e > 0 {
		v = math.Ldexp(float64(h&0x3ff|0x400), e-25)
	}
	if h&0x8000 != 0 {
		v = -v
	}
	return v
}

// reference is a model ready to compute.
type reference struct {
	m *model
	form
	cached     map[string][]float64
	keys, vals map[int][][]float64 // by layer, a row per position
	sinks      []float64           // of the attention at hand
	memory     remembered
}

func newReference(m *model, f form) *reference {
	if f.act == nil {
		f.act = silu
	}
	if f.residual == 0 {
		f.residual = 1
	}
	if f.logits == 0 {
		f.logits = 1
	}
	if f.secondPre == "" {
		f.secondPre = "ffn_norm"
	}
	if f.window == nil {
		f.window = everywhere(0)
	}
	if f.freqs == nil {
		f.freqs = always(int(m.dim), 1e4)
	}
	r := &reference{m, f, map[string][]float64{}, map[int][][]float64{}, map[int][][]float64{}, nil, remembered{}}
	r.memory = remembered{seen: map[string][][]float64{}, history: map[string][]moment{}, states: map[string][][]float64{}}
	return r
}

func (r *reference) get(name string) []float64 {
	v, ok := r.cached[name]
	if !ok {
		v = r.m.values(name)
		r.cached[name] = v
	}
	return v
}

// mul is prefix.weight·x + prefix.bias.
func (r *reference) mul(prefix string, x []float64) []float64 {
	return add(product(r.get(prefix+".weight"), x), r.get(prefix+".bias"))
}

func add(x, y []float64) []float64 {
	out := append([]float64(nil), x...)
	for i := range y {
		out[i] += y[i]
	}
	return out
}

func scaled(x []float64, s float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = x[i] * s
	}
	return out
}

// norm is of the whole of x; w may be nil.
func norm(x, w, bias []float64, layer bool) []float64 {
	mean, square := 0.0, 0.0
	if layer {
		for _, v := range x {
			mean += v / float64(len(x))
		}
	}
	for _, v := range x {
		square += (v - mean) * (v - mean) / float64(len(x))
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = (v - mean) / math.Sqrt(square+float64(float32(1e-5)))
		if w != nil {
			out[i] *= w[i]
		}
		if bias != nil {
			out[i] += bias[i]
		}
	}
	return out
}

func (r *reference) norm(prefix string, x []float64) []float64 {
	w := r.get(prefix + ".weight")
	if w == nil {
		w = r.get(prefix) // some files leave the ending out
	}
	if w == nil && !r.bare {
		panic("no norm " + prefix)
	}
	return norm(x, w, r.get(prefix+".bias"), r.layerNorm)
}

// heads does f for every head.
func heads(x []float64, n int, f func(h []float64) []float64) []float64 {
	var out []float64
	for i := 0; i < len(x); i += n {
		out = append(out, f(x[i:i+n])...)
	}
	return out
}

func (r *reference) rotate(x []float64, layer, pos int) []float64 {
	freqs, m := r.freqs(r.m, layer)
	out := append([]float64(nil), x...)
	for i, f := range freqs {
		a, b := 2*i, 2*i+1
		if r.halves {
			a, b = i, i+len(freqs)
		}
		s, c := math.Sincos(float64(pos) * f)
		out[a], out[b] = m*(x[a]*c-x[b]*s), m*(x[a]*s+x[b]*c)
	}
	return out
}

// attend is the attention of layer l at a position.
func (r *reference) attend(l, pos int, x []float64) []float64 {
	p := fmt.Sprintf("blk.%d.", l)
	dim := int(r.m.dim)
	if r.m.arch == "gemma4" && !gemma4Full(l) {
		dim = 32
	}
	nq, nk := int(r.m.heads)*dim, int(r.m.kvHeads)*dim
	var q, k, v []float64
	if r.get(p+"attn_qkv.weight") != nil {
		all := r.mul(p+"attn_qkv", x)
		q, k, v = all[:nq], all[nq:nq+nk], all[nq+nk:]
	} else if q = r.mul(p+"attn_q", x); r.get(p+"attn_k.weight") != nil && (r.from == nil || r.from(l) == l) {
		if k, v = r.mul(p+"attn_k", x), nil; r.get(p+"attn_v.weight") != nil {
			v = r.mul(p+"attn_v", x)
		} else {
			v = k
		}
	}
	out := r.attended(l, pos, q, k, v)
	if r.gate != nil {
		g := each(r.mul(p+"attn_gate", x), r.gate)
		n := len(out) / len(g)
		for i := range out {
			out[i] *= g[i/n]
		}
	}
	if r.get(p+"attn_sub_norm.weight") != nil {
		out = r.norm(p+"attn_sub_norm", out)
	}
	return r.mul(p+"attn_output", out)
}

// attended is attention proper; without k it is over those of an earlier layer.
func (r *reference) attended(l, pos int, q, k, v []float64) []float64 {
	p := fmt.Sprintf("blk.%d.", l)
	dim := int(r.m.dim)
	if r.m.arch == "gemma4" && !gemma4Full(l) {
		dim = 32
	}
	if r.clamp > 0 {
		cut := func(v float64) float64 { return math.Max(-r.clamp, math.Min(r.clamp, v)) }
		q, k, v = each(q, cut), each(k, cut), each(v, cut)
	}
	turn := func(x []float64, name string) []float64 {
		whole := r.mix != nil && r.mix.rowNorm || r.rowLayer
		if whole {
			x = norm(x, r.get(p+name), r.get(p+strings.TrimSuffix(name, ".weight")+".bias"), r.rowLayer)
		}
		at := 0
		return heads(x, dim, func(h []float64) []float64 {
			if r.lateNorm {
				h = r.rotate(h, l, pos)
			}
			if w := r.get(p + name); w != nil && !whole {
				var bias []float64
				if r.ownNorms {
					w = w[at : at+dim]
				}
				if r.centred {
					bias = r.get(p + strings.TrimSuffix(name, ".weight") + ".bias")[at : at+dim]
				}
				h = norm(h, w, bias, r.centred)
			}
			at += dim
			if !r.lateNorm {
				h = r.rotate(h, l, pos)
			}
			return h
		})
	}
	q = turn(q, "attn_q_norm.weight")
	if r.temper != nil {
		q = scaled(q, r.temper(l, pos))
	}
	from := l
	if k != nil {
		if r.valNorm {
			v = heads(v, dim, func(h []float64) []float64 { return norm(h, nil, nil, false) })
		}
		k = turn(k, "attn_k_norm.weight")
		if r.stored != nil {
			k, v = each(k, r.stored), each(v, r.stored)
		}
		r.keys[l], r.vals[l] = append(r.keys[l], k), append(r.vals[l], v)
	}
	if r.from != nil {
		from = r.from(l)
	}
	scale := r.scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(dim))
	}
	first := 0
	if w := r.window(r.m, l); w > 0 {
		first = max(0, pos-w+1)
	}
	if f, _ := r.freqs(r.m, l); r.chunk > 0 && f != nil {
		first = pos / r.chunk * r.chunk
	}
	var out []float64
	keys, vals := r.keys[from], r.vals[from]
	for h := range int(r.m.heads) {
		g := h / int(r.m.heads/r.m.kvHeads) * dim
		sum, o := 0.0, make([]float64, dim)
		if r.sinks != nil {
			sum = math.Exp(r.sinks[h])
		}
		query := q[h*dim : (h+1)*dim]
		for t := first; t <= pos; t++ {
			key, val := keys[t][g:g+dim], vals[t][g:g+dim]
			s := 0.0
			for i, v := range query {
				s += v * key[i]
			}
			if s *= scale; r.cap != 0 {
				s = r.cap * math.Tanh(s/r.cap)
			}
			if r.alibi > 0 {
				s -= slope(h, int(r.m.heads), r.alibi) * float64(pos-t)
			}
			e := math.Exp(s)
			sum += e
			for i, v := range val {
				o[i] += e * v
			}
		}
		out = append(out, scaled(o, 1/sum)...)
	}
	return out
}

// slope is that of a head as the paper gives it: a geometric sequence for the largest power of two of heads, for the others every second of twice as many.
func slope(h, heads int, most float64) float64 {
	n := 1
	for 2*n <= heads {
		n *= 2
	}
	if h < n {
		return math.Pow(2, -most*float64(h+1)/float64(n))
	}
	return math.Pow(2, -most/2*float64(2*(h-n)+1)/float64(n))
}

func (r *reference) feedForward(p string, x []float64) []float64 {
	up := r.mul(p+"ffn_up", x)
	gate := up
	switch {
	case r.get(p+"ffn_gate.weight") != nil:
		gate = r.mul(p+"ffn_gate", x)
	case !r.plain:
		gate, up = up[:len(up)/2], up[len(up)/2:]
	}
	h := make([]float64, len(gate))
	for i := range h {
		if h[i] = r.act(gate[i]); !r.plain {
			h[i] *= up[i]
		}
	}
	if r.get(p+"ffn_sub_norm.weight") != nil {
		h = r.norm(p+"ffn_sub_norm", h)
	}
	return r.mul(p+"ffn_down", h)
}

// experts are gemma4's: two of them, weighted by a softmax over all, renormalised.
func (r *reference) experts(p string, x []float64) []float64 {
	scale := r.get(p + "ffn_gate_inp.scale")
	n := norm(x, scale, nil, false)
	router := r.get(p + "ffn_gate_inp.weight")
	count := len(router) / len(x)
	probs, sum := make([]float64, count), 0.0
	for e := range probs {
		for j, v := range scaled(n, 1/rootWidth(r.m)) {
			probs[e] += router[e*len(x)+j] * v
		}
		probs[e] = math.Exp(probs[e])
		sum += probs[e]
	}
	first, second := -1, -1
	for e := range probs {
		switch {
		case first < 0 || probs[e] > probs[first]:
			first, second = e, first
		case second < 0 || probs[e] > probs[second]:
			second = e
		}
	}
	in := r.norm(p+"pre_ffw_norm_2", x)
	gateUp, down := r.get(p+"ffn_gate_up_exps.weight"), r.get(p+"ffn_down_exps.weight")
	ff := len(down) / count / len(x)
	out := make([]float64, len(x))
	for _, e := range []int{first, second} {
		row := func(w []float64, i int, x []float64) (s float64) {
			for j, v := range x {
				s += w[i*len(x)+j] * v
			}
			return s
		}
		h := make([]float64, ff)
		for i := range h {
			h[i] = gelu(row(gateUp, e*2*ff+i, in)) * row(gateUp, e*2*ff+ff+i, in)
		}
		weight := probs[e] / (probs[first] + probs[second]) * r.get(p + "ffn_down_exps.scale")[e]
		for i := range out {
			out[i] += weight * row(down, e*len(x)+i, h)
		}
	}
	return out
}

// step gives the logits after a token.
func (r *reference) step(token, pos int) []float64 {
	if r.whole != nil {
		return r.whole(r, token, pos)
	}
	if r.mix != nil {
		return r.stepOfMixture(token, pos)
	}
	if r.streams {
		return r.stepOfStreams(token, pos)
	}
	row := func(name string, i, n int) []float64 { return r.get(name)[i*n : (i+1)*n] }
	d := int(r.m.embd)
	x := row("token_embd.weight", token, d)
	if r.embed != nil {
		x = scaled(x, r.embed(r.m))
	}
	if r.start != nil {
		x = r.start(r, x)
	}
	if r.get("position_embd.weight") != nil {
		x = add(x, row("position_embd.weight", pos, d))
	}
	var perLayer []float64
	if r.get("per_layer_model_proj.weight") != nil {
		y := heads(scaled(r.mul("per_layer_model_proj", x), 1/rootWidth(r.m)), 32, func(h []float64) []float64 { return r.norm("per_layer_proj_norm", h) })
		perLayer = scaled(add(y, scaled(row("per_layer_token_embd.weight", token, len(y)), math.Sqrt(32))), 1/math.Sqrt2)
	}
	for l := range int(r.m.layers) {
		p := fmt.Sprintf("blk.%d.", l)
		pre := func(name string, x []float64) []float64 {
			if r.noPre {
				return x
			}
			return r.norm(p+name, x)
		}
		post := func(name string, x []float64) []float64 {
			if r.post {
				x = r.norm(p+name, x)
			}
			return scaled(x, r.residual)
		}
		in := x
		x = add(x, post("post_attention_norm", r.attend(l, pos, pre("attn_norm", in))))
		if !r.parallel {
			in = x
		}
		y := r.feedForward(p, pre(r.secondPre, in))
		if r.get(p+"ffn_gate_inp.weight") != nil {
			y = add(r.norm(p+"post_ffw_norm_1", y), r.norm(p+"post_ffw_norm_2", r.experts(p, in)))
		}
		x = add(x, post("post_ffw_norm", y))
		if perLayer != nil {
			g := r.mul(p+"inp_gate", x)
			for i := range g {
				g[i] = gelu(g[i]) * perLayer[l*32+i]
			}
			x = add(x, r.norm(p+"post_norm", r.mul(p+"proj", g)))
			x = scaled(x, r.get(p + "layer_output_scale.weight")[0])
		}
	}
	out := "output"
	if r.get("output.weight") == nil {
		out = "token_embd"
	}
	y := scaled(r.mul(out, r.norm("output_norm", x)), r.logits)
	for i := range y {
		if r.finalCap != 0 {
			y[i] = r.finalCap * math.Tanh(y[i]/r.finalCap)
		}
	}
	return y
}
