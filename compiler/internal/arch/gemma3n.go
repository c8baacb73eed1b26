package arch

import (
	"math"

	"jns/compiler/internal/gguf"
	"jns/format"
)

var _ = register("gemma3n", gemma3n)

// Sizes that all models of the family share and files do not give.
const (
	gemma3nStreams  = 4
	gemma3nRank     = 64  // of the low-rank matrices beside attention
	gemma3nPerLayer = 256 // width of the embeddings per layer
	gemma3nOwn      = 20  // layers with keys and values of their own
	gemma3nSparse   = 10  // layers whose gates keep only the largest 5 %

	gemma3nDeviations = 1.6448533535003662 // of a normal distribution, beyond which 5 % lie
)

// gemma3n is Gemma 3n. Four streams run side by side: each layer predicts all of them from all, works on the first, and corrects all by what the work changed
// in it. Beside attention stands a low-rank product; embeddings of the token for each layer gate what is added to the other streams.
func gemma3n(b *Builder) {
	b.refuse("expert_count")
	if b.NEmbed > maxWidth/gemma3nStreams {
		b.corrupt("embeddings of width %d", b.NEmbed)
		return
	}
	window := b.bounded("attention.sliding_window", 0, 1, 1<<31)
	swa := b.windowPattern(window, 5)
	full := b.Rotation()
	near := full
	near.Base, near.Scaling = b.Nonzero("rope.freq_base_swa", 10000), ScaleNone
	n := b.NEmbed

	first := b.Embed(float32(math.Sqrt(float64(n))))
	perLayer := b.perLayerInputs(first, gemma3nPerLayer)
	proj := b.tensor(RoleMatrix, "altup_proj.weight", uint64(n), uint64(n), gemma3nStreams-1)
	b.checkWeight(proj)
	others := b.matmul(first, proj, nil, "streams", 1)
	b.g.Nodes[others].Width = (gemma3nStreams - 1) * n
	x := b.Join(first, b.rescale(others, first), 1, false)
	b.g.Nodes[x].Name = "x"
	b.Layers(func(i int) {
		predicted := b.mix(x, x, b.Linear(b.modalities(b.stream(x, 0)), "altup_predict_coef", gemma3nStreams*gemma3nStreams), gemma3nStreams, gemma3nStreams, nil)
		active := b.stream(predicted, 0)
		normed := b.Norm(active, "attn_norm.weight")
		low := b.Linear(b.Linear(normed, "laurel_l", gemma3nRank), "laurel_r", n)
		low = b.Add(b.Norm(low, "laurel_post_norm.weight"), normed)

		a := Attn{NeoX: true, QKNorm: true, ValNorm: true, Scale: 1}
		if swa[i] {
			a.Rope, a.Window = b.RopeTable(near), window
		} else {
			a.Rope = b.RopeTable(full)
		}
		if i >= gemma3nOwn {
			a.Shared, a.From = true, gemma3nOwn-1
			if swa[i] {
				a.From = gemma3nOwn - 2
			}
		}
		y := b.Add(b.Norm(b.SelfAttention(normed, a), "post_attention_norm.weight"), active)
		y = b.Scale(b.Add(y, low), float32(1/math.Sqrt2))
		y = b.Add(b.Norm(b.gemma3nFeedForward(b.Norm(y, "ffn_norm.weight"), i < gemma3nSparse), "post_ffw_norm.weight"), y)

		coef := b.Linear(b.modalities(y), "altup_correct_coef", gemma3nStreams)
		change := b.add(Node{Params: &format.ElementParams{Element: format.ElementAdd, Scale: -1}, In: []Value{y, active}, Name: "innovation", Width: n})
		x = b.mix(predicted, change, coef, gemma3nStreams, 1, []float32{1, 1, 1, 1})

		g := b.norm(b.stream(x, 0), format.NormNone, b.Vector("altup_correct_scale.weight", n), nil, 1, false, 1)
		in := b.Slice(perLayer, uint32(i)*gemma3nPerLayer, gemma3nPerLayer, gemma3nPerLayer, gemma3nPerLayer)
		h := b.Activate(b.Linear(g, "inp_gate", gemma3nPerLayer), in, format.ActGELU)
		x = b.mix(x, b.Norm(b.Linear(h, "proj", n), "post_norm.weight"), NoValue, gemma3nStreams, 1, []float32{0, 1, 1, 1})
		b.g.Nodes[x].Name = "x"
	})
	b.Output(b.gemma3nMerge(x), 1, float32(b.Nonzero("final_logit_softcapping", 30)))
}

// stream is one of the streams.
func (b *Builder) stream(x Value, i uint32) Value {
	return b.Slice(x, i*b.NEmbed, b.NEmbed, b.NEmbed, b.NEmbed)
}

// modalities are the numbers that a layer's coefficients are made of.
func (b *Builder) modalities(x Value) Value {
	y := b.Scale(b.Linear(b.Norm(x, "altup_router_norm.weight"), "altup_router", gemma3nStreams), float32(1/float64(b.NEmbed)))
	return b.Activate(y, NoValue, format.ActTanh)
}

func (b *Builder) gemma3nFeedForward(x Value, sparse bool) Value {
	width := b.FF()
	if width < 2 {
		b.corrupt("layer %d has a feed-forward part of width %d", b.layer, width)
		return x
	}
	gate, up := b.Linear(x, "ffn_gate", width), b.Linear(x, "ffn_up", width)
	if sparse {
		gate = b.add(Node{Params: &format.ElementParams{Element: format.ElementCutoff, Scale: gemma3nDeviations}, In: []Value{gate, NoValue}, Name: "ffn_gate", Width: width})
	}
	return b.Linear(b.Activate(gate, up, format.ActGELU), "ffn_down", b.NEmbed)
}

// gemma3nMerge makes one stream of all: each of the others is projected back and given the magnitude of the first; their mean is the result.
func (b *Builder) gemma3nMerge(x Value) Value {
	n, first := b.NEmbed, b.stream(x, 0)
	w := b.tensor(RoleMatrix, "altup_unembd_proj.weight", uint64(n), uint64(n), gemma3nStreams-1)
	b.checkWeight(w)
	y := first
	for i := range uint32(gemma3nStreams - 1) {
		u := b.matmul(b.stream(x, i+1), w, nil, "unembedded", 1)
		b.part(u).From, b.part(u).Rows = i*n, n
		if n%16 != 0 {
			b.unsupported("embeddings of width %d, which is no multiple of 16", n)
		}
		b.g.Nodes[u].Width = n
		y = b.Add(y, b.rescale(u, first))
	}
	return b.Scale(y, 1.0/gemma3nStreams)
}

// rescale gives every run of x, as long as like, the magnitude of like.
func (b *Builder) rescale(x, like Value) Value {
	return b.add(Node{Params: &format.ElementParams{Element: format.ElementRescale}, In: []Value{x, like}, Name: b.g.Nodes[x].Name, Width: b.width(x)})
}

// mix is a + weighted sums of the runs of x, with weights coef (or NoValue) plus offset.
func (b *Builder) mix(a, x, coef Value, rows, cols uint32, offset []float32) Value {
	p := &format.MixParams{Rows: rows, Cols: cols, Offset: offset}
	return b.add(Node{Params: p, In: []Value{a, x, coef}, W: []*gguf.Tensor{}, Name: "streams", Width: b.width(a)})
}
