package check

import (
	"fmt"
	"math"

	"jns/format"
)

// SizeFunc gives the sizes of a tile layout for a matrix of rows × cols: matrix rows in a tile row, bytes of a tile row, and whether the weights are
// multiplied with float32 activations rather than quantised ones. ok is false for layouts and column counts that the running program cannot do.
type SizeFunc func(layout uint16, rows, cols uint64) (tileRows, tileRowBytes uint64, float bool, ok bool)

// Limits on programs (JNS-47). They are far above what models need and keep every product of sizes below 2⁶³.
const (
	MaxOps     = 1 << 14
	MaxBuffers = 1 << 13
	MaxStates  = 1 << 12
	MaxRopes   = 1 << 5
	MaxPairs   = 1 << 11 // frequencies of a rope
	MaxParts   = 64      // matrices of one operation
	MaxUses    = 64      // operations that may use one tensor
	MaxLen     = 1 << 26 // elements of a buffer, per row
	MaxPerRow  = 1 << 25 // bytes of the arena, per row
	MaxVocab   = 1 << 26
	MaxHeads   = 1 << 12
	MaxHeadDim = 1 << 12
	MaxExperts = 1 << 16
	MaxTop     = 1 << 8
	MaxFreq    = 1 << 10 // radians per position
	MaxFactors = 1 << 12 // of a temper
	MaxWork    = 1 << 30 // elements that all operations touch for a row, beside the products of matrices, which the size of the file bounds
)

// Program proves a program against the tensors of its container. The error wraps format.ErrCorrupt, or format.ErrUnsupported for what a newer
// program may know, and names the operation's index.
func Program(p *format.Program, tensors format.Tensors, size SizeFunc) error {
	k := &checker{p: p, tensors: tensors, size: size, uses: map[uint32]int{}}
	if err := k.program(); err != nil {
		return &format.Error{Section: "program", Offset: -1, Err: err}
	}
	return nil
}

// checker is the state of a proof.
type checker struct {
	p       *format.Program
	tensors format.Tensors
	size    SizeFunc

	flow     flow
	uses     map[uint32]int    // by tensor: operations that use it
	touched  []bool            // buffers that some operation uses
	appended []bool            // states that were filled
	turned   []bool            // ropes that some operation uses
	selected bool              // rows have been selected
	work     uint64            // elements touched so far for a row
	experts  map[uint32]uint32 // by route buffer: number of experts to choose among
}

func corrupt(text string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(text, args...), format.ErrCorrupt)
}

func unsupported(text string, args ...any) error {
	return fmt.Errorf("%s; use a newer program: %w", fmt.Sprintf(text, args...), format.ErrUnsupported)
}

func (k *checker) program() error {
	p := k.p
	switch {
	case p.Vocab == 0 || p.Vocab > MaxVocab:
		return corrupt("vocabulary of %d", p.Vocab)
	case p.Embed == 0 || p.Embed > MaxLen:
		return corrupt("hidden state of %d", p.Embed)
	case len(p.Ops) == 0 || len(p.Ops) > MaxOps:
		return corrupt("%d operations, must be 1 to %d", len(p.Ops), MaxOps)
	}
	for _, prove := range []func() error{k.buffers, k.states, k.ropes} {
		if err := prove(); err != nil {
			return err
		}
	}
	k.experts = map[uint32]uint32{}
	for i, op := range p.Ops {
		if err := k.op(op); err != nil {
			return fmt.Errorf("operation %d (%s): %w", i, op.Kind, err)
		}
	}
	return k.end()
}

// buffers proves JNS-41: that every buffer lies in its region and that the regions are not larger than the buffers need.
func (k *checker) buffers() error {
	p := k.p
	if len(p.Buffers) == 0 || len(p.Buffers) > MaxBuffers {
		return corrupt("%d buffers, must be 1 to %d", len(p.Buffers), MaxBuffers)
	}
	var ends [format.RegionPerWorker + 1]uint64
	k.flow.init(len(p.Buffers))
	k.touched = make([]bool, len(p.Buffers))
	for i, b := range p.Buffers {
		size, err := bufferSize(b)
		if err != nil {
			return fmt.Errorf("buffer %d (%q): %w", i, b.Name, err)
		}
		if b.Region < format.RegionPerRow || b.Region > format.RegionPerWorker {
			return unsupported("buffer %d (%q): region %d is unknown", i, b.Name, b.Region)
		}
		if b.Offset%64 != 0 || b.Offset > MaxPerRow {
			return corrupt("buffer %d (%q): offset %d is not a multiple of 64 up to %d", i, b.Name, b.Offset, MaxPerRow)
		}
		k.flow.span[i] = span{b.Region, b.Offset, b.Offset + size}
		ends[b.Region] = max(ends[b.Region], b.Offset+size)
	}
	for _, r := range []struct {
		name string
		says uint64
		need uint64
	}{
		{"per row", p.PerRow, ends[format.RegionPerRow]}, {"fixed", p.Fixed, ends[format.RegionFixed]}, {"per worker", p.PerWorker, ends[format.RegionPerWorker]},
	} {
		if r.says != r.need || r.need > MaxPerRow {
			return corrupt("arena %s has %d bytes, its buffers need %d, at most %d", r.name, r.says, r.need, MaxPerRow)
		}
	}
	return nil
}

// bufferSize gives the bytes of one instance, in whole vectors.
func bufferSize(b format.Buffer) (uint64, error) {
	n := uint64(b.Len)
	if n == 0 || n > MaxLen {
		return 0, corrupt("%d elements, must be 1 to %d", n, MaxLen)
	}
	switch b.Type {
	case format.ElemF32:
		n *= 4
	case format.ElemQ8X:
		if n%32 != 0 {
			return 0, corrupt("%d quantised elements are not a multiple of 32", n)
		}
		n = n / 32 * 48
	case format.ElemQ8X2:
		if n%32 != 0 {
			return 0, corrupt("%d quantised elements are not a multiple of 32", n)
		}
		n = 2 * ((n/32*48 + 63) &^ 63)
	case format.ElemRoute:
		n *= 8
	default:
		return 0, unsupported("element type %d is unknown", b.Type)
	}
	return (n + 63) &^ 63, nil
}

func (k *checker) states() error {
	if len(k.p.States) > MaxStates {
		return corrupt("%d states, at most %d", len(k.p.States), MaxStates)
	}
	k.appended = make([]bool, len(k.p.States))
	for i, s := range k.p.States {
		switch {
		case s.Kind == format.StateRecurrent:
			n := uint64(s.KVHeads) * uint64(s.KeyDim)
			if n == 0 || n > maxState || s.ValDim == 0 || n*uint64(s.ValDim) > maxState || s.Window != 0 {
				return corrupt("state %d: %d × %d × %d numbers, window %d", i, s.KVHeads, s.KeyDim, s.ValDim, s.Window)
			}
		case s.Kind != format.StateKV:
			return unsupported("state %d is of kind %d, which is unknown", i, s.Kind)
		case s.KVHeads == 0 || s.KVHeads > MaxHeads || s.KeyDim == 0 || s.KeyDim > MaxHeadDim || s.ValDim == 0 || s.ValDim > MaxHeadDim:
			return corrupt("state %d: %d heads with keys of %d and values of %d", i, s.KVHeads, s.KeyDim, s.ValDim)
		}
	}
	return nil
}

func (k *checker) ropes() error {
	if len(k.p.Ropes) > MaxRopes {
		return corrupt("%d ropes, at most %d", len(k.p.Ropes), MaxRopes)
	}
	k.turned = make([]bool, len(k.p.Ropes))
	for i, r := range k.p.Ropes {
		if len(r.Freqs) == 0 || len(r.Freqs) > MaxPairs || !format.Finite(r.MScale) {
			return corrupt("rope %d: %d frequencies, scale %g", i, len(r.Freqs), r.MScale)
		}
		if len(r.Long) != 0 && len(r.Long) != len(r.Freqs) || len(r.Long) == 0 && r.LongFrom != 0 {
			return corrupt("rope %d: %d frequencies, %d beyond %d positions", i, len(r.Freqs), len(r.Long), r.LongFrom)
		}
		for j, f := range append(r.Freqs[:len(r.Freqs):len(r.Freqs)], r.Long...) {
			if !(math.Abs(f) <= MaxFreq) { // also refuses NaN
				return corrupt("rope %d: frequency %d is %g", i, j, f)
			}
		}
	}
	return nil
}

// end proves what must hold after the last operation: of JNS-44 that something was selected and where the results are, of JNS-47 that nothing is unused.
func (k *checker) end() error {
	for i, t := range k.touched {
		if !t {
			return corrupt("buffer %d (%q) is used by no operation", i, k.p.Buffers[i].Name)
		}
	}
	for i, a := range k.appended {
		if !a {
			return corrupt("state %d is never filled", i)
		}
	}
	for i, t := range k.turned {
		if !t {
			return corrupt("rope %d is used by no operation", i)
		}
	}
	if !k.selected {
		return corrupt("no operation selects rows")
	}
	width := uint64(k.p.Vocab)
	switch {
	case k.p.Output > format.OutputScoreLast:
		return unsupported("output %d is unknown", k.p.Output)
	case k.p.Output >= format.OutputScoreFirst:
		width = k.length(k.p.Logits)
	case k.p.Output != format.OutputLogits:
		width = uint64(k.p.Embed)
	}
	if err := k.buffer(k.p.Logits, format.ElemF32, width); err != nil {
		return fmt.Errorf("logits: %w", err)
	}
	if err := k.flow.read(k.p.Logits, true); err != nil {
		return fmt.Errorf("logits: %w", err)
	}
	return nil
}

// buffer proves that an operand is a per-row buffer of the type and length (JNS-42).
func (k *checker) buffer(b uint32, t format.ElemType, n uint64) error {
	if uint64(b) >= uint64(len(k.p.Buffers)) {
		return corrupt("buffer %d of %d", b, len(k.p.Buffers))
	}
	k.touched[b] = true
	switch x := k.p.Buffers[b]; {
	case x.Region != format.RegionPerRow:
		return corrupt("buffer %d (%q) is not per row", b, x.Name)
	case x.Type != t:
		return corrupt("buffer %d (%q) has elements of type %d, must have %d", b, x.Name, x.Type, t)
	case uint64(x.Len) != n:
		return corrupt("buffer %d (%q) has %d elements, must have %d", b, x.Name, x.Len, n)
	}
	return nil
}

// length gives the length of an operand's buffer, 0 if there is no such buffer.
func (k *checker) length(b uint32) uint64 {
	if uint64(b) >= uint64(len(k.p.Buffers)) {
		return 0
	}
	return uint64(k.p.Buffers[b].Len)
}

// labour counts the elements that an operation touches for a row (JNS-47).
func (k *checker) labour(p format.Params, o *operands) error {
	for _, b := range o.reads {
		k.work += k.length(b)
	}
	for _, w := range o.writes {
		k.work += k.length(w.buffer)
	}
	if r, ok := p.(*format.RouteParams); ok {
		// An exponential for each expert, then a pass for each choice and a comparison of each two groups.
		k.work += uint64(r.Experts)*(32+uint64(r.Top)) + uint64(r.Groups)*uint64(r.Groups)
	}
	if k.work > MaxWork {
		return corrupt("up to here the program touches %d elements for a row, at most %d are allowed", k.work, MaxWork)
	}
	return nil
}

// use gives a tensor and counts its use.
func (k *checker) use(w uint32) (format.Tensor, error) {
	if uint64(w) >= uint64(k.tensors.Len()) {
		return format.Tensor{}, corrupt("tensor %d of %d", w, k.tensors.Len())
	}
	if k.uses[w]++; k.uses[w] > MaxUses {
		return format.Tensor{}, corrupt("tensor %d is used by more than %d operations", w, MaxUses)
	}
	return k.tensors.At(int(w)), nil
}

// vector proves that a tensor is a float32 vector of n elements (JNS-35, JNS-45).
func (k *checker) vector(w uint32, n uint64) error {
	t, err := k.use(w)
	if err != nil {
		return err
	}
	if t.Class != format.ClassPinned && t.Class != format.ClassLayer {
		return corrupt("tensor %d (%q) of class %s serves as a vector", w, t.Name, t.Class)
	}
	if t.Layout != 0 || t.Type != 0 || t.Rows != 1 || t.Count != 1 || t.Slots != 1 || t.TileRows != 1 || t.TileRowBytes != 4*t.Cols || t.Cols != n {
		return corrupt("tensor %d (%q) is not a float32 vector of %d elements", w, t.Name, n)
	}
	return nil
}

// optionalVector is vector, or nothing for None.
func (k *checker) optionalVector(w uint32, n uint64) error {
	if w == format.None {
		return nil
	}
	return k.vector(w, n)
}

// matrix proves JNS-45: that a tensor is a matrix (or count of them) that the running program can multiply or look rows up in, and says whether it takes float32.
func (k *checker) matrix(w uint32, expert bool) (t format.Tensor, float bool, err error) {
	if t, err = k.use(w); err != nil {
		return t, false, err
	}
	switch {
	case expert != (t.Class == format.ClassExpert) || t.Class == format.ClassAside:
		return t, false, corrupt("tensor %d (%q) of class %s does not belong here", w, t.Name, t.Class)
	case t.Layout == 0:
		return t, false, corrupt("tensor %d (%q) has no layout", w, t.Name)
	case expert && t.Count == 1 && t.Slots != 1: // of any other class it might be
		return t, false, corrupt("tensor %d (%q): an expert's matrix is cut into %d parts", w, t.Name, t.Slots)
	case t.Rows == 0 || t.Cols == 0 || t.Rows > MaxLen || t.Cols > MaxLen || t.Count == 0 || t.Count > MaxExperts || !expert && t.Count != 1:
		return t, false, corrupt("tensor %d (%q): %d matrices of %d × %d", w, t.Name, t.Count, t.Rows, t.Cols)
	}
	rows, bytes, float, ok := k.size(t.Layout, t.Rows, t.Cols)
	if !ok {
		return t, false, unsupported("tensor %d (%q): layout %d with %d columns is unknown", w, t.Name, t.Layout, t.Cols)
	}
	if rows != uint64(t.TileRows) || bytes != t.TileRowBytes {
		return t, false, corrupt("tensor %d (%q): tiles of %d rows and %d bytes, layout %d has %d rows and %d bytes", w, t.Name, t.TileRows, t.TileRowBytes, t.Layout, rows, bytes)
	}
	return t, float, nil
}

// output proves that a buffer takes the output of so many rows of a matrix (JNS-42): an element each, and room for the rows that fill up the last tile.
func (k *checker) output(b uint32, t *format.Tensor, rows uint64) error {
	if err := k.buffer(b, format.ElemF32, rows); err != nil {
		return err
	}
	tiles := (rows + uint64(t.TileRows) - 1) / uint64(t.TileRows)
	if s := k.flow.span[b]; tiles*uint64(t.TileRows)*4 > s.to-s.from {
		return corrupt("buffer %d has %d bytes, tiles of %d rows write %d", b, s.to-s.from, t.TileRows, tiles*uint64(t.TileRows)*4)
	}
	return nil
}

func finiteAndPositive(xs ...float32) bool {
	for _, x := range xs {
		if !format.Finite(x) || x < 0 {
			return false
		}
	}
	return true
}

func finite(xs ...float32) error {
	for _, x := range xs {
		if !format.Finite(x) {
			return corrupt("a constant is %g", x)
		}
	}
	return nil
}
