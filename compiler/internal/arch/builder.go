package arch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"jns/compiler/internal/gguf"
	"jns/format"
)

// Builder collects the graph of one model. Problems are remembered and reported together at the end, so that the code of an
// architecture needs no error handling: a tensor or key that is missing reads as a harmless stand-in.
type Builder struct {
	Hyper

	set   *gguf.Set
	g     *Graph
	layer int
	most  uint32          // positions that can be computed, see indexed; 0: all
	asked map[string]bool // hyperparameters that were asked for, see unread.go
	stack string          // what stands before the names of layers' tensors, where a file has several stacks
	errs  []error
	order int
	ropes map[string]int // index of the table of a rotation already computed

	states map[int]uint32 // state of keys and values by layer
	pass   int            // where layers are run several times: the run, counted through, by which scales of matrices are named; else -1
}

// maxProblems bounds the list of problems; a header that promises a million layers must not produce a million lines.
const maxProblems = 24

func newBuilder(set *gguf.Set, name string) *Builder {
	b := &Builder{set: set, asked: map[string]bool{}, layer: -1, pass: -1, ropes: map[string]int{}, states: map[int]uint32{}, g: &Graph{Arch: name, Logits: NoValue, Uses: map[*gguf.Tensor]*Use{}}}
	b.readHyper()
	return b
}

// fail notes a problem, and gives up when there are too many.
func (b *Builder) fail(err error) {
	b.errs = append(b.errs, err)
	if len(b.errs) >= maxProblems {
		panic(errTooMany)
	}
}

func (b *Builder) corrupt(format string, args ...any) {
	b.fail(fmt.Errorf("%w: %s", gguf.ErrCorrupt, fmt.Sprintf(format, args...)))
}

func (b *Builder) unsupported(format string, args ...any) {
	b.fail(fmt.Errorf("%w: %s", gguf.ErrUnsupported, fmt.Sprintf(format, args...)))
}

func (b *Builder) recoverStop() {
	if r := recover(); r != nil && r != any(errTooMany) {
		panic(r)
	}
}

// finish checks that every tensor of the file was used exactly as the graph says, or set aside.
func (b *Builder) finish(opt Options) (*Graph, error) {
	if len(b.errs) == 0 {
		b.unread()
		b.limit()
	}
	if len(b.errs) == 0 {
		b.accountAll(opt)
	}
	if len(b.errs) > 0 {
		return nil, joined(causes(b.errs))
	}
	return b.g, nil
}

// causes leaves out what contradicts a graph that does not fit the file anyway: where something is unsupported, missing tensors and odd shapes follow from it.
func causes(errs []error) []error {
	var unsupported []error
	for _, err := range errs {
		if errors.Is(err, gguf.ErrUnsupported) {
			unsupported = append(unsupported, err)
		}
	}
	if len(unsupported) > 0 {
		return unsupported
	}
	return errs
}

func (b *Builder) accountAll(opt Options) {
	var unknown []string
	for _, t := range b.set.Tensors {
		if b.g.Uses[t] != nil {
			continue
		}
		if reason, ok := knownExtra(t.Name); ok {
			b.g.Uses[t] = b.use(RoleAside, reason)
			continue
		}
		if opt.KeepUnknown {
			b.g.Uses[t] = b.use(RoleAside, "unknown to this architecture, kept by request")
			b.g.Uses[t].Unknown = true
			continue
		}
		unknown = append(unknown, t.Name)
	}
	if len(unknown) > 0 {
		b.unsupported("architecture %s does not use %d of the tensors: %s (--keep-unknown keeps them aside, unused)",
			b.g.Arch, len(unknown), strings.Join(clipAll(unknown), ", "))
	}
}

func clipAll(names []string) []string {
	out := slices.Clone(names)
	for i := range out {
		out[i] = clip(out[i])
	}
	return out
}

func joined(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

func (b *Builder) use(r Role, reason string) *Use {
	b.order++
	return &Use{Roles: r, Layer: b.layer, Order: b.order, Reason: reason}
}

// Name is the name of a tensor of the current layer.
func (b *Builder) Name(s string) string { return fmt.Sprintf("%sblk.%d.%s", b.stack, b.layer, s) }

// Layers calls f for every layer in turn; tensor names given to the methods below then belong to that layer.
func (b *Builder) Layers(f func(i int)) {
	for i := range b.NLayer {
		b.layer = i
		f(i)
	}
	b.layer = -1
}

// asideLayer sets all tensors of a block aside.
func (b *Builder) asideLayer(i int, reason string) {
	prefix := fmt.Sprintf("blk.%d.", i)
	for _, t := range b.set.Tensors {
		if strings.HasPrefix(t.Name, prefix) && b.g.Uses[t] == nil {
			b.g.Uses[t] = b.use(RoleAside, reason)
		}
	}
}

// Has says whether the current layer (or, outside layers, the file) has a tensor.
func (b *Builder) Has(name string) bool { return b.find(name) != nil }

func (b *Builder) find(name string) *gguf.Tensor {
	if b.layer >= 0 {
		name = b.Name(name)
	}
	return b.set.Tensor(name)
}

// tensor finds a tensor, checks its dimensions (columns first; trailing ones may be left out) and records its use.
func (b *Builder) tensor(role Role, name string, dims ...uint64) *gguf.Tensor {
	t := b.find(name)
	if t == nil {
		if b.layer >= 0 {
			name = b.Name(name)
		}
		b.corrupt("architecture %s needs tensor %q, which the file does not have", b.g.Arch, name)
		return &gguf.Tensor{Name: name, Dims: slices.Clone(dims)}
	}
	if !sameDims(t.Dims, dims) {
		b.corrupt("tensor %q has dimensions %v where the metadata ask for %v", t.Name, t.Dims, dims)
	}
	u := b.g.Uses[t]
	if u == nil {
		u = b.use(0, "")
		b.g.Uses[t] = u
	}
	u.Roles |= role
	return t
}

func sameDims(have, want []uint64) bool {
	for i := range max(len(have), len(want)) {
		h, w := uint64(1), uint64(1)
		if i < len(have) {
			h = have[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if h != w {
			return false
		}
	}
	return true
}

// Vector is a small float tensor of n elements.
func (b *Builder) Vector(name string, n uint32) *gguf.Tensor { return b.VectorOf(name, uint64(n)) }

// VectorOf is Vector for tensors that files shape with more than one dimension.
func (b *Builder) VectorOf(name string, dims ...uint64) *gguf.Tensor {
	t := b.tensor(RoleVector, name, dims...)
	if !isFloat(t.Type) {
		b.unsupported("tensor %q of type %s is used as a vector, which must be F32, F16 or BF16", t.Name, t.Type)
	}
	return t
}

// Optional is Vector, or nil if the file has no such tensor or it was set aside.
func (b *Builder) Optional(name string, n uint32) *gguf.Tensor {
	t := b.find(name)
	if t == nil || b.g.Uses[t] != nil && b.g.Uses[t].Roles == RoleAside {
		return nil
	}
	return b.Vector(name, n)
}

// Matrix is a weight matrix of rows × cols.
func (b *Builder) Matrix(name string, cols, rows uint32) *gguf.Tensor {
	t := b.tensor(RoleMatrix, name, uint64(cols), uint64(rows))
	b.checkWeight(t)
	return t
}

func (b *Builder) checkWeight(t *gguf.Tensor) {
	switch t.Type {
	case gguf.TypeI8, gguf.TypeI16, gguf.TypeI32, gguf.TypeI64, gguf.TypeF64, gguf.TypeQ8_1, gguf.TypeQ8_K:
		b.unsupported("tensor %q is a weight matrix of type %s, which is no weight type", t.Name, t.Type)
	}
}

func isFloat(t gguf.Type) bool {
	return t == gguf.TypeF32 || t == gguf.TypeF16 || t == gguf.TypeBF16
}

// folded reads a small float tensor whose values become constants of the program.
func (b *Builder) folded(name string, n uint32, reason string) []float32 {
	return b.foldedAs(name, reason, uint64(n))
}

// foldedAs is folded for tensors that files shape with more than one dimension.
func (b *Builder) foldedAs(name, reason string, dims ...uint64) []float32 {
	t := b.tensor(RoleAside, name, dims...)
	if u := b.g.Uses[t]; u != nil {
		u.Reason = reason
	}
	n := uint64(1)
	for _, d := range dims {
		n *= d
	}
	out := make([]float32, n)
	if b.find(name) == nil || !sameDims(t.Dims, dims) {
		return out
	}
	if !isFloat(t.Type) {
		b.unsupported("tensor %q of type %s is used as constants, which must be F32, F16 or BF16", t.Name, t.Type)
		return out
	}
	size := uint64(2)
	if t.Type == gguf.TypeF32 {
		size = 4
	}
	if t.Size != size*n {
		b.corrupt("tensor %q has %d bytes for %d elements", t.Name, t.Size, n)
		return out
	}
	p := make([]byte, t.Size)
	if _, err := b.set.ReadAt(t.Shard, p, int64(t.Offset)); err != nil {
		b.fail(err)
		return out
	}
	for i := range out {
		switch t.Type {
		case gguf.TypeF32:
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:]))
		case gguf.TypeF16:
			out[i] = halfToFloat(binary.LittleEndian.Uint16(p[2*i:]))
		default: // BF16 is the upper half
			out[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(p[2*i:])) << 16)
		}
	}
	return out
}

func (b *Builder) add(n Node) Value {
	b.g.Nodes = append(b.g.Nodes, n)
	return Value(len(b.g.Nodes) - 1)
}

func (b *Builder) width(v Value) uint32 { return b.g.Nodes[v].Width }

// Embed looks the batch's tokens up in token_embd and multiplies by scale.
func (b *Builder) Embed(scale float32) Value {
	t := b.tensor(RoleRows, "token_embd.weight", uint64(b.NEmbed), uint64(b.NVocab))
	b.checkWeight(t)
	return b.add(Node{Params: &format.RowsParams{Scale: scale}, W: []*gguf.Tensor{t}, Name: "x", Width: b.NEmbed})
}

// Add is a + b.
func (b *Builder) Add(x, y Value) Value {
	p := &format.ElementParams{Element: format.ElementAdd, Scale: 1}
	return b.add(Node{Params: p, In: []Value{x, y}, Name: "x", Width: b.width(x)})
}

// Scale is x · s; a factor of 1 is no operation.
func (b *Builder) Scale(x Value, s float32) Value {
	if s == 1 {
		return x
	}
	p := &format.ElementParams{Element: format.ElementScale, Scale: s}
	return b.add(Node{Params: p, In: []Value{x, NoValue}, Name: "scaled", Width: b.width(x)})
}

// SoftCap is cap·tanh(x/cap); a cap of 0 is no operation.
func (b *Builder) SoftCap(x Value, cap float32) Value {
	if cap == 0 {
		return x
	}
	return b.add(Node{Params: &format.SoftCapParams{Cap: cap}, In: []Value{x}, Name: "capped", Width: b.width(x)})
}

// shortName makes a buffer's name of a tensor's: "attn_q.weight" → "attn_q".
func shortName(s string) string {
	s, _, _ = strings.Cut(s, ".")
	return s
}
