package lower

import (
	"fmt"
	"math"

	"jns/compiler/internal/arch"
	"jns/compiler/internal/gguf"
	"jns/format"
)

// pass is one step over the graph under transformation.
type pass struct {
	name string
	run  func(g *graph)
}

// passes in the order they run. Each leaves a graph that means the same.
var passes = []pass{
	{"fold scales into matrix products", foldScales},
	{"fuse residuals into matrix products and experts", fuseResiduals},
	{"select output rows after the last attention", selectEarly},
	{"drop what nothing uses", dropDead},
	{"mark matrices that take their input unrounded", markFine},
	{"group matrices that share an input", groupMatrices},
	{"quantise inputs of quantised matrices", markQuantised},
}

// Passes names the passes in order.
func Passes() []string {
	names := make([]string, 0, len(passes)+2)
	for _, p := range passes {
		names = append(names, p.name)
	}
	return append(names, "emit operations", "plan memory")
}

// maxNodes bounds a graph: twice the operations that a program may have (JNS-47), more than what fusing can save. Passes take time that grows with the square of it.
const maxNodes = 1 << 15

// Lower makes the program. index gives a tensor's place in the container's tensor table. An error means that the model is
// too large for a program and wraps gguf.ErrUnsupported.
func Lower(src *arch.Graph, index map[*gguf.Tensor]uint32) (*format.Program, error) {
	if n := len(src.Nodes); n > maxNodes {
		return nil, fmt.Errorf("%w: the model takes %d steps, at most %d can be lowered", gguf.ErrUnsupported, n, maxNodes)
	}
	g := newGraph(src)
	for _, p := range passes {
		p.run(g)
	}
	e := emit(g, index)
	prog := &format.Program{
		Vocab: src.Vocab, Context: src.Context, Embed: src.Embed, Output: src.Output,
		States: src.States, Ropes: src.Ropes, Ops: e.ops,
	}
	if err := planMemory(e, prog); err != nil {
		return nil, err
	}
	return prog, nil
}

// node is a node of the graph while it is transformed. Inputs are pointers, so that nodes can be put in and taken out.
type node struct {
	params   format.Params
	in       []*node
	w        []*gguf.Tensor
	name     string
	width    uint32
	residual *node   // added to the result of a MatMul or Experts
	parts    []*node // of a group: the MatMul nodes in it, which then have no place of their own
	wantF32  bool    // some user reads the result as float32
	wantQ    bool    // some user reads the result quantised
	wantFine bool    // and one of them in two rows
	fine     bool    // of a MatMul: takes its input in two rows
}

// inputs are all nodes whose results n reads.
func (n *node) inputs() []*node {
	var all []*node
	for _, x := range n.in {
		if x != nil {
			all = append(all, x)
		}
	}
	if n.residual != nil {
		all = append(all, n.residual)
	}
	for _, p := range n.parts {
		if p.residual != nil {
			all = append(all, p.residual)
		}
	}
	return all
}

type graph struct {
	nodes  []*node
	logits *node
}

func newGraph(src *arch.Graph) *graph {
	g := &graph{nodes: make([]*node, len(src.Nodes))}
	for i, n := range src.Nodes {
		c := &node{params: n.Params, w: n.W, name: n.Name, width: n.Width}
		for _, v := range n.In {
			if v == arch.NoValue {
				c.in = append(c.in, nil)
			} else {
				c.in = append(c.in, g.nodes[v])
			}
		}
		g.nodes[i] = c
	}
	g.logits = g.nodes[src.Logits]
	return g
}

// users counts how often each node's result is read; the logits are read at the end.
func (g *graph) users() map[*node]int {
	count := map[*node]int{g.logits: 1}
	for _, n := range g.nodes {
		for _, x := range n.inputs() {
			count[x]++
		}
	}
	return count
}

// replace makes every reader of old read with instead, from position from on.
func (g *graph) replace(old, with *node, from int) {
	swap := func(p **node) {
		if *p == old {
			*p = with
		}
	}
	for _, n := range g.nodes[from:] {
		for i := range n.in {
			swap(&n.in[i])
		}
		swap(&n.residual)
	}
	swap(&g.logits)
}

func (g *graph) remove(i int) { g.nodes = append(g.nodes[:i], g.nodes[i+1:]...) }

// position is a node's place in the list.
func (g *graph) position(n *node) int {
	for i, m := range g.nodes {
		if m == n {
			return i
		}
	}
	return -1
}

// quantised says whether a matrix of the type takes its input as Q8X.
func quantised(t *gguf.Tensor) bool {
	switch t.Type {
	case gguf.TypeF32, gguf.TypeF16, gguf.TypeBF16:
		return false
	}
	return true
}

// bytesOf is the size of one instance of a buffer, rounded up to whole vectors.
func bytesOf(t format.ElemType, n uint64) uint64 {
	size := 4 * n
	switch t {
	case format.ElemQ8X:
		size = (n + 31) / 32 * 48
	case format.ElemQ8X2:
		size = 2 * (((n+31)/32*48 + 63) &^ 63)
	case format.ElemRoute:
		size = 8 * n
	}
	return (size + 63) &^ 63
}

func tooLarge(what string, n uint64) error {
	return fmt.Errorf("%w: %s %d exceeds %d", gguf.ErrUnsupported, what, n, uint64(math.MaxUint32))
}
