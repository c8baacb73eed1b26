package arch

import (
	"math"
	"strings"

	"jns/compiler/internal/gguf"
	"jns/format"
)

// Norm is an RMS norm of the whole row with the layer's tensor name.
func (b *Builder) Norm(x Value, name string) Value {
	return b.HeadNorm(x, name, 1)
}

// HeadNorm is an RMS norm of each of groups equal parts of the row, all with the same weight.
func (b *Builder) HeadNorm(x Value, name string, groups uint32) Value {
	y := b.norm(x, format.NormRMS, b.Vector(name, b.width(x)/groups), nil, groups, false, b.Eps)
	b.g.Nodes[y].Name = shortName(name)
	return y
}

// LayerNorm is a layer norm of the whole row with the weight prefix.weight and, if there is one, the bias prefix.bias.
func (b *Builder) LayerNorm(x Value, prefix string) Value {
	n := b.width(x)
	y := b.norm(x, format.NormLayer, b.Vector(prefix+".weight", n), b.Optional(prefix+".bias", n), 1, false, b.LayerEps)
	b.g.Nodes[y].Name = shortName(prefix)
	return y
}

func (b *Builder) norm(x Value, kind uint8, w, bias *gguf.Tensor, groups uint32, perGroup bool, eps float32) Value {
	if !(eps > 0) {
		key := "attention.layer_norm_rms_epsilon"
		if kind == format.NormLayer {
			key = "attention.layer_norm_epsilon"
		}
		b.corrupt("key %q must be a positive number", b.key(key))
		eps = 1
	}
	p := &format.NormParams{Norm: kind, Groups: groups, WPerGroup: perGroup, Eps: eps}
	return b.add(Node{Params: p, In: []Value{x}, W: []*gguf.Tensor{w, bias}, Name: b.g.Nodes[x].Name, Width: b.width(x)})
}

// Linear multiplies with matrix prefix.weight, multiplies by prefix.scale if there is one, and adds prefix.bias if there is one.
func (b *Builder) Linear(x Value, prefix string, rows uint32) Value {
	return b.linear(x, prefix, rows, true)
}

// linear is Linear; without scaled a scale is set aside.
func (b *Builder) linear(x Value, prefix string, rows uint32, scaled bool) Value {
	y := b.biased(x, prefix, rows, scaled)
	b.part(y).BiasLast = b.g.Nodes[y].W[1] != nil && b.part(y).Scale != 1
	return y
}

// biased is linear, but the bias is added before scaling.
func (b *Builder) biased(x Value, prefix string, rows uint32, scaled bool) Value {
	w := b.Matrix(prefix+".weight", b.width(x), rows)
	return b.matmul(x, w, b.Optional(prefix+".bias", rows), shortName(prefix), b.scaleOf(prefix, scaled))
}

// scaleOf is the factor prefix.scale, 1 if there is none or it is not used.
func (b *Builder) scaleOf(prefix string, used bool) float32 {
	if b.layer >= 0 && b.pass >= 0 {
		defer func(layer int) { b.layer = layer }(b.layer)
		b.layer = b.pass
	}
	name := prefix + ".scale"
	switch {
	case !b.Has(name):
		return 1
	case !used:
		b.folded(name, 1, "scale that this architecture does not use")
		return 1
	}
	return b.folded(name, 1, "folded into the matrix product's scale")[0]
}

// Fused multiplies with ranges of the rows of prefix.weight, one behind the other, and gives a result for each. Biases are that of the whole matrix, or one for
// each range under its own name.
func (b *Builder) Fused(x Value, prefix string, rows []uint32, names []string, scaled bool) []Value {
	total, whole := uint32(0), false
	for i, n := range rows {
		if n > maxWidth || total > maxWidth {
			b.corrupt("tensor %q would have more than %d rows", b.Name(prefix+".weight"), maxWidth)
			n = 1
		}
		total += n
		// A range begins at a tile; tiles have up to 16 rows. Other ranges are taken from the product.
		whole = whole || i+1 < len(rows) && total%16 != 0
	}
	w, scale := b.Matrix(prefix+".weight", b.width(x), total), b.scaleOf(prefix, scaled)
	bias := b.Optional(prefix+".bias", total)
	var product Value
	if whole {
		product = b.matmul(x, w, bias, shortName(prefix), scale)
		b.part(product).BiasLast = bias != nil
	}
	out := make([]Value, len(rows))
	from := uint32(0)
	for i, n := range rows {
		own := bias
		if bias == nil {
			own = b.Optional(names[i]+".bias", n)
		}
		if whole {
			out[i] = b.Slice(product, from, n, n, n)
			if bias == nil && own != nil {
				b.unsupported("tensor %q has rows in ranges that are no multiples of 16, and biases of their own", w.Name)
			}
		} else {
			out[i] = b.matmul(x, w, own, names[i], scale)
			*b.part(out[i]) = format.MatMulPart{Scale: scale, From: from, Rows: n, BiasLast: own != nil && scale != 1}
			b.g.Nodes[out[i]].Width = n
		}
		from += n
	}
	return out
}

// Slice takes width elements of every stride elements of x, the first at from, n elements in all.
func (b *Builder) Slice(x Value, from, width, stride, n uint32) Value {
	p := &format.SliceParams{From: from, Width: width, Stride: stride}
	return b.add(Node{Params: p, In: []Value{x}, Name: b.g.Nodes[x].Name + "_part", Width: n})
}

// part is the only part of a matrix product.
func (b *Builder) part(v Value) *format.MatMulPart {
	return &b.g.Nodes[v].Params.(*format.MatMulParams).Parts[0]
}

func (b *Builder) matmul(x Value, w, bias *gguf.Tensor, name string, scale float32) Value {
	rows := uint32(1)
	if len(w.Dims) > 1 {
		rows = uint32(w.Dims[1])
	}
	p := &format.MatMulParams{Parts: []format.MatMulPart{{Scale: scale}}}
	return b.add(Node{Params: p, In: []Value{x}, W: []*gguf.Tensor{w, bias}, Name: name, Width: rows})
}

// Positions looks the rows' positions up in position_embd.
func (b *Builder) Positions() Value {
	const name = "position_embd.weight"
	rows := uint64(b.Context)
	if t := b.find(name); t != nil && len(t.Dims) == 2 {
		rows = t.Dims[1]
	}
	t := b.tensor(RoleRows, name, uint64(b.NEmbed), rows)
	b.checkWeight(t)
	return b.add(Node{Params: &format.RowsParams{Scale: 1, By: format.ByPosition}, W: []*gguf.Tensor{t}, Name: "positions", Width: b.NEmbed})
}

// Output ends the graph: norm, output matrix (token_embd if the file has no output.weight), scale and cap of the logits.
func (b *Builder) Output(x Value, scale, cap float32) {
	b.Logits(b.Norm(x, "output_norm.weight"), scale, cap)
}

// Embedding ends the graph with hidden states, if the file says how a text's embedding is made of them, or with a text's scores.
func (b *Builder) Embedding(x Value) bool {
	switch p := b.Uint("pooling_type", math.MaxUint32); p {
	case 1, 2, 3:
		b.g.Logits, b.g.Output = x, uint8(p)
		return true
	case 4:
		b.rank(x)
		return true
	}
	return false
}

// dense multiplies with the matrices that files of sentence transformers have behind the mean of a text's tokens. A mean of products is the product of the mean, so each token has its own.
func (b *Builder) dense(x Value) Value {
	for _, name := range []string{"dense_2", "dense_3"} {
		if t := b.find(name + ".weight"); t != nil {
			x = b.head(x, name, t)
			b.g.Embed = b.width(x)
			b.g.Nodes[x].Name = name
		}
	}
	return x
}

// hidden ends the graph of a model that has no logits. Classifiers that stand behind it are set aside.
func (b *Builder) hidden(x Value) {
	x = b.dense(x)
	if !b.Embedding(x) {
		b.g.Logits, b.g.Output = x, format.OutputEach
	}
	for _, t := range b.set.Tensors {
		if (strings.HasPrefix(t.Name, "cls.") || t.Name == "output.weight") && b.g.Uses[t] == nil {
			b.g.Uses[t] = b.use(RoleAside, "the model makes embeddings, no logits")
		}
	}
}

// Logits is Output without the norm.
func (b *Builder) Logits(x Value, scale, cap float32) {
	if b.Embedding(x) {
		if t := b.set.Tensor("output.weight"); t != nil {
			b.g.Uses[t] = b.use(RoleAside, "the model makes embeddings, no logits")
		}
		return
	}
	name := "output.weight"
	if !b.Has(name) {
		name = "token_embd.weight"
	}
	w := b.Matrix(name, b.NEmbed, b.NVocab)
	y := b.matmul(x, w, b.Optional("output.bias", b.NVocab), "logits", scale*b.scaleOf("output", true))
	b.part(y).BiasLast = b.g.Nodes[y].W[1] != nil
	b.g.Logits = b.SoftCap(y, cap)
}
