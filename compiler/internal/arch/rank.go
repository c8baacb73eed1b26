package arch

import (
	"jns/compiler/internal/gguf"
	"jns/format"
)

// rank ends the graph of a model that scores texts, as a cross-encoder scores a query with a document: x of the first token (of the last, where tokens see none that come later; or the
// mean of all), then a dense layer cls with a function and a norm, if the file has it, and the matrix cls.output, if it has that. Qwen's give a softmax over the labels.
func (b *Builder) rank(x Value) {
	b.g.Output = format.OutputScoreLast
	if b.seesAll() {
		b.g.Output = format.OutputScoreFirst
	}
	act := uint8(format.ActTanh)
	pool := uint64(0)
	if b.g.Arch == "modern-bert" {
		act, pool = format.ActGELU, 1
	}
	if b.Uint("classifier.pooling_type", pool) == 1 {
		x = b.mean(x)
	}
	dense, out := b.set.Tensor("cls.weight"), b.set.Tensor("cls.output.weight")
	if dense == nil && out == nil {
		b.corrupt("key %q is 4, but the file has neither tensor %q nor %q", b.key("pooling_type"), "cls.weight", "cls.output.weight")
		return
	}
	if dense != nil {
		x = b.Activate(b.head(x, "cls", dense), NoValue, act)
		if b.Has("cls.norm.weight") {
			x = b.norm(x, format.NormLayer, b.Vector("cls.norm.weight", b.width(x)), nil, 1, false, b.LayerEps)
		}
	}
	if out != nil {
		x = b.head(x, "cls.output", out)
	}
	if b.g.Arch == "qwen3" || b.g.Arch == "qwen3vl" {
		x = b.Softmax(x)
	}
	b.g.Logits = x
}

// head is a matrix of the classifier, whose file alone says how many labels it has.
func (b *Builder) head(x Value, name string, t *gguf.Tensor) Value {
	rows := uint64(1)
	if len(t.Dims) > 1 {
		rows = t.Dims[1]
	}
	if rows == 0 || rows > maxWidth {
		b.corrupt("tensor %q has %d rows", t.Name, rows)
		rows = 1
	}
	return b.matmul(x, b.Matrix(t.Name, b.width(x), uint32(rows)), b.Optional(name+".bias", uint32(rows)), "cls", 1)
}

// seesAll says whether tokens see those that come later.
func (b *Builder) seesAll() bool {
	for _, n := range b.g.Nodes {
		if p, ok := n.Params.(*format.AttentionParams); ok && p.All {
			return true
		}
	}
	return false
}

// mean is the mean of x over all tokens of the text: attention that looks at all of them alike.
func (b *Builder) mean(x Value) Value {
	const most = 1 << 12 // elements of a head
	n, heads := b.width(x), uint32(1)
	for n/heads > most && n%(2*heads) == 0 {
		heads *= 2
	}
	if n/heads > most {
		b.unsupported("the mean of hidden states of %d elements", n)
		return x
	}
	one := b.Slice(x, 0, heads, heads, heads)
	state := uint32(len(b.g.States))
	b.g.States = append(b.g.States, format.State{Kind: format.StateKV, KVHeads: heads, KeyDim: 1, ValDim: n / heads})
	b.add(Node{Params: &format.KVAppendParams{State: state}, In: []Value{one, x}})
	return b.add(Node{Params: &format.AttentionParams{State: state, Heads: heads, All: true}, In: []Value{one}, W: []*gguf.Tensor{nil}, Name: "mean", Width: n})
}

// Softmax is e^x over the sum of all e^x of the row.
func (b *Builder) Softmax(x Value) Value {
	p := &format.ElementParams{Element: format.ElementSoftmax}
	return b.add(Node{Params: p, In: []Value{x, NoValue}, Name: b.g.Nodes[x].Name, Width: b.width(x)})
}
